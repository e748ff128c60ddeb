package ptyx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ptyctl/ptyx/internal/processes"
	"ptyctl/term"
)

// A program with limits or a sandbox is started in two steps. First this program
// starts itself again as the shim, which applies them to itself; then the shim
// becomes the program (execve(2)). If they were set from outside, the program would
// run for a moment without them.

// shimArg is the only argument of a shim process.
const shimArg = "ptyctl-internal-limits"

// shimSocket is the descriptor on which the shim receives its order.
const shimSocket = 3

// shimReady is the message of the shim just before it becomes the program.
const shimReady = "\x00"

// shimWait is how long the shim may take to become the program.
const shimWait = 10 * time.Second

// limitsEnabled is set by EnableLimits.
var limitsEnabled atomic.Bool

// EnableLimits lets this program start itself as the shim that limits need, and as the watcher of Supervise. It must
// be the first call in main: in a shim or watcher process it does not return.
func EnableLimits() {
	limitsEnabled.Store(true)
	if len(os.Args) != 2 {
		return
	}
	switch os.Args[1] {
	case shimArg:
		os.Exit(shimMain())
	case processes.WatcherArg:
		processes.WatcherMain()
		os.Exit(0)
	}
}

// limitsUnsupported returns the limit that cannot be enforced and the reason, or "".
func limitsUnsupported(l term.Limits) (term.Field, string) {
	switch {
	case !limitsEnabled.Load():
		return term.FieldLimits, "limits are not built into this program: " +
			"its main function must call ptyx.EnableLimits; leave limits out"
	case l.Processes != 0 && forkCalls == nil:
		return term.FieldProcesses, "a limit on processes is not supported on this processor; leave it out"
	}
	return "", ""
}

// An order describes the program that the shim must become.
type order struct {
	Path    string
	Argv    []string
	Env     []string
	Limits  term.Limits
	Sandbox Sandbox
}

// A shim is the parent's end of the socket to the shim process.
type shim struct {
	order order
	conn  *net.UnixConn
	child *os.File
}

// newShim makes cmd start the shim instead of c.
func newShim(cmd *exec.Cmd, c command) (*shim, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	ours := os.NewFile(uintptr(pair[0]), "shim")
	defer func() { _ = ours.Close() }()
	s := &shim{order: order{c.path, c.argv, c.env, c.limits, c.sandbox}, child: os.NewFile(uintptr(pair[1]), "shim")}
	conn, err := net.FileConn(ours)
	if err != nil {
		_ = s.child.Close()
		return nil, err
	}
	s.conn = conn.(*net.UnixConn) // the socket was created as one
	cmd.Path, cmd.Args, cmd.Env = "/proc/self/exe", []string{c.argv[0], shimArg}, []string{}
	cmd.ExtraFiles = []*os.File{s.child}
	return s, nil
}

// close closes both ends of the socket in this process.
func (s *shim) close() {
	_ = s.child.Close()
	_ = s.conn.Close()
}

// run sends the order to the shim, and waits until it has become the program. The
// guard limits the program's processes.
func (s *shim) run(p *process) (*guard, error) {
	_ = s.child.Close()
	_ = s.conn.SetDeadline(time.Now().Add(shimWait))
	text, err := json.Marshal(s.order)
	if err == nil {
		_, err = s.conn.Write(text)
	}
	if err == nil {
		err = s.conn.CloseWrite()
	}
	if shimEnded(err) {
		return nil, shimFailure(nil)
	}
	if err != nil {
		return nil, err
	}
	var g *guard
	var failed []byte
	buf, oob := make([]byte, 1024), make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, _, _, err := s.conn.ReadMsgUnix(buf, oob)
		if fd, ok := passed(oob[:max(oobn, 0)]); ok {
			g = newGuard(fd, p, s.order.Limits.Processes)
		} else {
			failed = append(failed, buf[:max(n, 0)]...)
		}
		switch {
		case shimEnded(err) || err == nil && n == 0 && oobn == 0: // closed by execve, or the shim has ended
			if why, ready := bytes.CutPrefix(failed, []byte(shimReady)); !ready || len(why) > 0 {
				g.end()
				return nil, shimFailure(why)
			}
			return g, nil
		case err != nil:
			g.end()
			return nil, err
		}
	}
}

// shimEnded reports whether err says that the shim no longer has its end of the socket:
// EPIPE where it ended before it was sent its order, ECONNRESET where it had not read
// all of it.
func shimEnded(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// shimFailure is the error of a shim that did not become the program. Without a
// word of its own it has ended before it could say one. Only a lack of threads,
// which the Go runtime needs from its first moment, is known to do that.
func shimFailure(why []byte) error {
	if len(why) == 0 {
		return fmt.Errorf("what sets its limits has ended too early: %w", syscall.EAGAIN)
	}
	return errors.New(string(why))
}

// passed returns the descriptor sent with a message.
func passed(oob []byte) (fd int, ok bool) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) == 0 {
		return -1, false
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return -1, false
	}
	unix.CloseOnExec(fds[0])
	return fds[0], true
}

// shimMain is the main function of a shim. It returns only if the shim failed to
// become the program.
func shimMain() int {
	debug.SetGCPercent(-1)                           // a collection may start threads, for which a limit leaves no memory
	runtime.LockOSThread()                           // the filter of guard applies to a thread
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // before the program's environment is read; execve(2) resets it
	unix.CloseOnExec(shimSocket)
	socket := os.NewFile(shimSocket, "shim")
	var o order
	err := json.NewDecoder(socket).Decode(&o)
	if err == nil {
		err = become(o, func() { _, _ = socket.WriteString(shimReady) })
	}
	_, _ = socket.WriteString(err.Error())
	return 127
}

// become sets the limits, enters the sandbox, calls ready and starts the program in
// this process.
func become(o order, ready func()) error {
	if err := o.Sandbox.enter(); err != nil { // first, because it opens files
		return err
	}
	if o.Limits.Processes > 0 {
		if err := askBeforeFork(); err != nil {
			return err
		}
	}
	for _, l := range []struct {
		resource int
		name     term.Limit
		cur, max uint64
	}{
		{unix.RLIMIT_NOFILE, term.LimitFiles, uint64(o.Limits.OpenFiles), uint64(o.Limits.OpenFiles)},
		// At the limit the program gets XCPU, and a second later KILL.
		{unix.RLIMIT_CPU, term.LimitCPU, uint64(o.Limits.CPUSeconds), uint64(o.Limits.CPUSeconds) + 1},
		// The last one, because the Go runtime may need memory at any time.
		{unix.RLIMIT_AS, term.LimitMemory, uint64(o.Limits.MemoryBytes), uint64(o.Limits.MemoryBytes)},
	} {
		if l.resource == unix.RLIMIT_AS {
			ready()
		}
		if l.cur == 0 {
			continue
		}
		var had syscall.Rlimit
		err := syscall.Getrlimit(l.resource, &had)
		if err == nil {
			want := syscall.Rlimit{Cur: min(l.cur, had.Max), Max: min(l.max, had.Max)}
			// By package syscall: its Exec would restore the original number of files
			// after a change by other means.
			err = syscall.Setrlimit(l.resource, &want)
		}
		if err != nil {
			return errors.New("the limit " + string(l.name) + " was not accepted: " + err.Error())
		}
	}
	return o.Sandbox.explain(syscall.Exec(o.Path, o.Argv, o.Env))
}
