//go:build linux || darwin || freebsd

package sshserver

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"
)

// haveProcesses is true if local processes are supported.
const haveProcesses = true

// process is a child of the server, the leader of its own session (setsid(2)) and process
// group.
type process struct {
	pid    int
	exited chan struct{} // closed when the process has ended
	exit   Exit          // valid after exited is closed
}

// runProcess is the Handler that runs the local shell.
func (s *Server) runProcess(ctx context.Context, r *Request) Exit {
	args := []string{"-c", r.Command}
	if r.Shell {
		args = nil
	}
	cmd := exec.Command(s.config.Shell, args...)
	cmd.Env = slices.Concat(s.config.Env, r.Env)
	cmd.Dir = startDir(s.config.Dir, s.config.Env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// As in sshd, the presence of a terminal decides about the streams and about the end.
	run := s.runOnPipes
	if r.PTY != nil {
		run = s.runOnPTY
	}
	exit, err := run(ctx, r, cmd)
	if err != nil {
		fmt.Fprintf(r.Stderr, "sshserver: cannot start the shell: %v; check Config.Shell and Config.Dir\r\n", err)
		return Exit{Status: 127}
	}
	return exit
}

// runOnPipes runs cmd without a terminal. It reports the exit at once, and returns when
// the output has ended too, which a background process may delay.
func (s *Server) runOnPipes(ctx context.Context, r *Request, cmd *exec.Cmd) (Exit, error) {
	ours, theirs, err := openPipes()
	if err != nil {
		return Exit{}, err
	}
	defer closeFiles(ours)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	p, err := s.start(cmd)
	closeFiles(theirs)
	if err != nil {
		return Exit{}, err
	}
	defer killSession(p.pid)

	// This goroutine ends at the latest when the channel is closed, after this function.
	s.wg.Go(func() {
		_, _ = io.Copy(ours[0], r.Stdin) // an error is normal: the command may not read its input
		ours[0].Close()
	})
	var output sync.WaitGroup
	output.Go(func() { _, _ = io.Copy(r.Stdout, ours[1]) }) // fails only on a closed channel
	output.Go(func() { _, _ = io.Copy(r.Stderr, ours[2]) })
	hangUp := func() { closeFiles(ours) }

	s.supervise(ctx, p, r, func(Window) {}, hangUp)
	r.SendExit(p.exit)
	ours[0].Close()
	s.awaitOutput(ctx, &output, hangUp)
	return p.exit, nil
}

// runOnPTY runs cmd on a new terminal. It ends with cmd, even if another process has the
// terminal open. As under sshd, EOF from the client has no effect on a terminal.
func (s *Server) runOnPTY(ctx context.Context, r *Request, cmd *exec.Cmd) (Exit, error) {
	master, tty, err := openPTY(r.PTY)
	if err != nil {
		return Exit{}, err
	}
	defer master.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr.Setctty = true
	cmd.Env = append(cmd.Env, "TERM="+r.PTY.Term, "SSH_TTY="+tty.Name())
	p, err := s.start(cmd)
	tty.Close()
	if err != nil {
		return Exit{}, err
	}
	defer killSession(p.pid)

	// This goroutine ends at the latest when the channel is closed, after this function.
	s.wg.Go(func() { _, _ = io.Copy(master, r.Stdin) })
	var output sync.WaitGroup
	output.Go(func() { copyOutput(r.Stdout, master) })
	// Closing the master makes the kernel send SIGHUP to the session (tty_ioctl(4),
	// pty(7)).
	hangUp := func() { master.Close() }

	s.supervise(ctx, p, r, func(w Window) { _ = setWindow(master, w) }, hangUp) // fails only after hangUp
	r.SendExit(p.exit)
	_ = master.SetReadDeadline(time.Unix(1, 0)) // fails only after hangUp
	s.awaitOutput(ctx, &output, hangUp)
	return p.exit, nil
}

// supervise returns when p has ended. Until then it passes on signals and window sizes,
// hangs up when ctx ends, and kills the process when the server closes.
func (s *Server) supervise(ctx context.Context, p *process, r *Request, resize func(Window), hangUp func()) {
	hungUp, closing := ctx.Done(), s.ctx.Done()
	for {
		select {
		case w := <-r.Windows:
			resize(w)
		case name := <-r.Signals:
			_ = unix.Kill(-p.pid, unix.SignalNum("SIG"+string(name))) // fails only when p has ended
		case <-hungUp:
			hangUp()
			hungUp = nil
		case <-closing:
			killSession(p.pid)
			closing = nil
		case <-p.exited:
			return
		}
	}
}

// awaitOutput returns when the output has been copied; at the end of ctx it forces that
// by hangUp.
func (s *Server) awaitOutput(ctx context.Context, output *sync.WaitGroup, hangUp func()) {
	copied := make(chan struct{})
	s.wg.Go(func() {
		output.Wait()
		close(copied)
	})
	select {
	case <-copied:
	case <-ctx.Done():
		hangUp()
		<-copied
	}
}

// start starts cmd and a goroutine that waits for it. The streams of cmd must be files.
func (s *Server) start(cmd *exec.Cmd) (*process, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s.stats.add(func(n *Stats) { n.Processes++ })
	p := &process{pid: cmd.Process.Pid, exited: make(chan struct{})}
	s.wg.Go(func() {
		_ = cmd.Wait() // the result is in ProcessState
		p.exit = exitOf(cmd.ProcessState)
		s.stats.add(func(n *Stats) { n.Processes-- })
		close(p.exited)
	})
	return p, nil
}

// exitOf converts the state of an ended process.
func exitOf(state *os.ProcessState) Exit {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return Exit{Status: uint32(state.ExitCode())}
	}
	name := ssh.Signal(unix.SignalName(status.Signal()))
	if len(name) > len("SIG") {
		name = name[len("SIG"):]
	}
	if !slices.Contains(signalNames, name) {
		name = "SIG@openssh.com" // sshd's name for a signal that RFC 4254 lacks
	}
	return Exit{Signal: name, CoreDumped: status.CoreDump()}
}

// killSession kills the process group pid, and the processes found in the session pid.
// The numbers are not reused while either has a member.
func killSession(pid int) {
	_ = unix.Kill(-pid, unix.SIGKILL) // fails if the group is empty
	killed := make(map[int]bool)
	for more := true; more; { // a member may have forked another one meanwhile
		more = false
		for _, member := range sessionMembers(pid) {
			if !killed[member] {
				killed[member], more = true, true
				_ = unix.Kill(member, unix.SIGKILL)
			}
		}
	}
}

// openPipes returns both ends of three pipes, for standard input, output and error.
func openPipes() (ours, theirs []*os.File, err error) {
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeFiles(ours)
			closeFiles(theirs)
			return nil, nil, err
		}
		if i == 0 {
			r, w = w, r
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	return ours, theirs, nil
}

// closeFiles closes the files.
func closeFiles(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
