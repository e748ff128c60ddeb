package processes

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ptyctl/internal/resident"
)

// The processes of a program may outlive this process when it is killed: the kernel ends the program alone
// (PR_SET_PDEATHSIG). A watcher, which is this program started again, waits for the end of this process on a pipe, ends
// all processes of the family then, and ends.

// WatcherArg is the only argument of a watcher. Neither it nor the name is like the program's, so that a search for its
// processes by name finds no second one, and who kills all of those does not kill the watcher.
const (
	WatcherArg  = "pty-internal-watcher"
	watcherName = "pty-watcher"
)

// watcherPipe is the descriptor of the pipe in the watcher.
const watcherPipe = 3

// watcherEnv keeps the runtime of a watcher small.
var watcherEnv = []string{"GOMAXPROCS=1", "GOGC=10"}

// lastGrace is the time that the processes of a killed process have between a signal and their death.
const lastGrace = 150 * time.Millisecond

// An order names the processes that a watcher ends.
type order struct {
	Family  Family
	Session int32 // the session of the watched process; its members stay
}

// A Watcher is a running watcher of this process.
type Watcher struct {
	Ended <-chan struct{} // closed when the watcher has ended
	pipe  *os.File
}

// StartWatcher starts a watcher of this process. The main function must lead to WatcherMain for WatcherArg.
func StartWatcher() (*Watcher, error) {
	session, err := unix.Getsid(0)
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = read.Close() }()
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{watcherName, WatcherArg}, Env: watcherEnv, Dir: "/",
		ExtraFiles: []*os.File{read},
		// A signal to the process group of this process must not reach the watcher. The watcher stays in the session,
		// so that the session's number is not reused.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if err := cmd.Start(); err != nil {
		_ = write.Close()
		return nil, err
	}
	// It fits into the pipe; without it the watcher ends, which is noticed.
	_ = binary.Write(write, binary.NativeEndian, order{OwnFamily, int32(session)})
	ended := make(chan struct{})
	go func() { // ends with the watcher
		defer close(ended)
		_ = cmd.Wait()
	}()
	return &Watcher{ended, write}, nil
}

// Stop has the watcher do its work now, and waits for its end, at most for patience.
func (w *Watcher) Stop(patience time.Duration) {
	_ = w.pipe.Close()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-w.Ended:
	case <-timer.C:
	}
}

// WatcherMain is the main function of a watcher.
func WatcherMain() {
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	name := append([]byte(watcherName), 0)
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0)
	unix.CloseOnExec(watcherPipe)
	var o order
	if binary.Read(pipe(watcherPipe), binary.NativeEndian, &o) != nil {
		return
	}
	debug.FreeOSMemory()
	resident.Release()
	_, _ = pipe(watcherPipe).Read(make([]byte, 1)) // until the end of the other side
	o.end()
}

// A pipe is a descriptor that is read by system calls alone: a watcher that waits runs no code of the runtime.
type pipe int

// Read implements io.Reader.
func (p pipe) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(int(p), b)
		switch {
		case err == nil && n <= 0:
			return 0, io.EOF
		case !errors.Is(err, unix.EINTR):
			return n, err
		}
	}
}

// end ends the processes of the family: signals first, and KILL after the grace.
func (o order) end() {
	left := o.whole()
	if len(left) == 0 {
		return
	}
	Signal(left, lastGrace, unix.SIGHUP, unix.SIGTERM, unix.SIGCONT)
	Kill(func() []Process { return Living(o.marked()) }, o.whole)
}

// marked returns the processes of the family.
func (o order) marked() (found []int) {
	for _, pid := range All() {
		if has, _ := o.Family.Has(pid); has {
			if sid, err := unix.Getsid(pid); err == nil && sid != int(o.Session) {
				found = append(found, pid)
			}
		}
	}
	return found
}

// whole returns the living processes of the family and their descendants. Nothing descends from the watched process any
// more, so that the mark is all there is.
func (o order) whole() []Process { return WithDescendants(o.marked()) }
