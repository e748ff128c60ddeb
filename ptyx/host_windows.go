package ptyx

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/conpty"
	"golang.org/x/sys/windows"

	"ptyctl/ptyx/internal/job"
	"ptyctl/term"
)

// EnableLimits does nothing: limits are not supported on Windows.
func EnableLimits() {}

// Supervise does nothing: Windows has no orphans to adopt.
func Supervise() (stop func(), err error) { return func() {}, nil }

// limitsUnsupported returns the limit that cannot be enforced, and the reason.
func limitsUnsupported(term.Limits) (term.Field, string) {
	return term.FieldLimits, "limits are not supported on Windows; leave them out"
}

// closeWait is how long a program may take to end after its console was closed.
const closeWait = 500 * time.Millisecond

// A Terminal is a program on a pseudo-console of its own.
type Terminal struct {
	con     *conpty.ConPty
	process windows.Handle
	job     *job.Job
	about   term.Process
	exited  chan struct{} // closed when the program has ended
	exit    term.Exit     // valid then
	hangUp  sync.Once
	free    sync.Once
}

// startTerminal starts c on a new pseudo-console.
func startTerminal(c command, size term.PTY) (*Terminal, error) {
	failed := func(err error) error {
		return &term.Error{
			Op:   "open",
			Kind: term.IOError,
			Msg:  "the system did not start " + c.path + ": " + err.Error(),
			Err:  err,
		}
	}
	j, err := job.New()
	if err != nil {
		return nil, failed(err)
	}
	con, err := conpty.New(size.Cols, size.Rows, 0)
	if err != nil {
		j.End()
		return nil, failed(err)
	}
	pid, handle, err := con.Spawn(c.path, c.argv, &syscall.ProcAttr{
		Dir: c.dir, Env: c.env, Sys: &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED},
	})
	process := windows.Handle(handle)
	if err == nil {
		if err = j.Begin(process, pid); err != nil {
			_ = windows.CloseHandle(process)
		}
	}
	if err != nil {
		j.End()
		_ = con.Close()
		return nil, failed(err)
	}
	t := &Terminal{con: con, process: process, job: j, about: c.about(pid), exited: make(chan struct{})}
	go t.watch()
	return t, nil
}

// watch waits for the program, ends the processes that it left behind, and then closes the console, so that the
// reader gets the last output and then the end.
func (t *Terminal) watch() {
	_, _ = windows.WaitForSingleObject(t.process, windows.INFINITE)
	var code uint32
	if windows.GetExitCodeProcess(t.process, &code) == nil {
		t.exit = term.Exit{Started: true, Known: true, Code: int(code)}
	}
	t.job.End()
	close(t.exited)
	t.closeConsole()
	_ = windows.CloseHandle(t.process)
}

// closeConsole closes the console and our copy of its end of the pipe; otherwise a
// read would never end. The library's own Close would also close the pipe that must
// still be read.
func (t *Terminal) closeConsole() {
	t.hangUp.Do(func() {
		windows.ClosePseudoConsole(windows.Handle(t.con.Fd()))
		_ = windows.CloseHandle(windows.Handle(t.con.OutPipeWriteFd()))
		_ = windows.CloseHandle(windows.Handle(t.con.InPipeReadFd()))
	})
}

// Read reads the console's output.
func (t *Terminal) Read(p []byte) (int, error) {
	n, err := t.con.Read(p)
	if err != nil || n == 0 {
		return n, io.EOF
	}
	return n, nil
}

// Write types p.
func (t *Terminal) Write(p []byte) (int, error) { return t.con.Write(p) }

// Resize sets the size of the window.
func (t *Terminal) Resize(cols, rows int) error { return t.con.Resize(cols, rows) }

// Signal implements term.Signaler: INT types the key, and KILL ends the program.
// Windows has no other signals.
func (t *Terminal) Signal(_ context.Context, name string) error {
	switch name {
	case "INT":
		_, err := t.con.Write([]byte{3})
		return err
	case "KILL":
		t.job.End() // its handle is closed once; that of the process may be closed by now, and its number be another's
		return nil
	case "TERM", "HUP", "QUIT":
		return &term.Error{
			Op:   "signal",
			Kind: term.Unsupported,
			Msg:  "Windows has no signal " + name + "; use INT or KILL",
		}
	}
	return unknownSignal(name)
}

// Wait implements term.Waiter. It waits for the program at most closeWait.
func (t *Terminal) Wait() (term.Exit, error) {
	select {
	case <-t.exited:
		return t.exit, nil
	case <-time.After(closeWait):
		return term.Exit{}, nil
	}
}

// Describe implements term.Describer.
func (t *Terminal) Describe() term.Description { return ofTerminal(t.about, term.BestEffort) }

// Close closes the console, and so ends the programs attached to it.
func (t *Terminal) Close() error {
	t.free.Do(func() {
		closed := make(chan struct{})
		go func() { // may block on the reader before Windows 11 24H2
			defer close(closed)
			t.closeConsole()
		}()
		select {
		case <-t.exited:
		case <-time.After(closeWait):
			t.job.End()
			<-t.exited
		}
		select {
		case <-closed:
		case <-time.After(closeWait / 2):
		}
	})
	return nil
}

// notStarted is the error of a program that the system has not started.
func notStarted(path string, err error) error {
	return &term.Error{Op: "exec", Kind: term.IOError, Msg: "the system did not start " + path + ": " + err.Error(), Err: err}
}

// running ends a program that has started; nil before.
type running = context.CancelFunc

// programSignals is whether Program implements term.Signaler.
const programSignals = term.No

// Exec implements term.Execer for one call, which starts the program. It uses only
// Stdin, Input and Grace of r.
func (g *Program) Exec(ctx context.Context, r term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error) {
	defer r.CloseInput()
	g.mu.Lock()
	refused := g.used
	ctx, abandon := context.WithCancelCause(ctx) // if a writer of the caller panics
	stop := func() { abandon(nil) }
	if !refused {
		g.used, g.running = true, stop
	}
	g.mu.Unlock()
	defer stop()
	if refused {
		return term.Exit{}, &term.Error{
			Op:     "exec",
			Kind:   term.Unsupported,
			Reason: term.ReasonOneProgram,
			Msg:    "this session is one program without a terminal",
			Advice: "start another one",
		}
	}
	defer g.over()
	c := g.command
	j, err := job.New()
	if err != nil {
		return term.Exit{}, notStarted(c.path, err)
	}
	defer j.End()
	cmd := exec.CommandContext(ctx, c.path, c.argv[1:]...)
	cmd.Cancel = func() error { // with all that it has started
		j.End()
		return nil
	}
	cmd.Env, cmd.Dir, cmd.WaitDelay = c.env, c.dir, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: windows.CREATE_SUSPENDED}
	// HideWindow: a daemon has no console, and each program would show its own
	cmd.Stdout, cmd.Stderr = term.SafeWriter(stdout, abandon), term.SafeWriter(stderr, abandon)
	switch {
	case r.Input != nil:
		cmd.Stdin = r.Input
	case len(r.Stdin) > 0:
		cmd.Stdin = bytes.NewReader(r.Stdin)
	}
	if err := cmd.Start(); err != nil {
		return term.Exit{}, notStarted(c.path, err)
	}
	ended, err := j.Follow(cmd.Process.Pid)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return term.Exit{}, notStarted(c.path, err)
	}
	g.mu.Lock()
	g.about = c.about(cmd.Process.Pid)
	g.mu.Unlock()
	_ = cmd.Wait() // the result is in ProcessState
	<-ended
	exit := term.Exit{Started: true, Known: true, Code: cmd.ProcessState.ExitCode()}
	exit.Usage.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if ctx.Err() != nil {
		exit.Killed = "yes"
	}
	g.mu.Lock()
	g.exit = exit
	g.mu.Unlock()
	return exit, term.WriterFailure(ctx)
}

// Close kills the program.
func (g *Program) Close() error {
	g.mu.Lock()
	first, stop := !g.used, g.running
	g.used = true
	g.mu.Unlock()
	if first {
		g.over()
	}
	if stop != nil {
		stop()
	}
	return nil
}

// sandboxUnsupported returns why a sandbox is not available.
func sandboxUnsupported() string {
	return "a sandbox for local programs is not supported on this system; configure none"
}

// Started reports whether a process belongs to a program that this package has started. This system does not tell.
func Started(int) bool { return false }
