//go:build unix

package ptyx

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"ptyctl/internal/exhausted"
	"ptyctl/term"
)

// start starts c on three files. With terminal they are the same terminal, which
// becomes the session's controlling terminal.
func start(c command, stdin, stdout, stderr *os.File, terminal bool) (*process, error) {
	cmd := &exec.Cmd{
		Path: c.path, Args: c.argv, Env: c.env, Dir: c.dir, Stdin: stdin, Stdout: stdout, Stderr: stderr,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Setctty: terminal},
	}
	takeHangup()
	p := &process{cmd: cmd, limits: c.limits, exited: make(chan struct{})}
	if err := p.spawn(c); err != nil {
		return nil, failure("open", "the system did not start "+c.path, err)
	}
	if c.endFirst {
		endFirst(p.pid)
	}
	go p.watch()
	return p, nil
}

// takeHangup lets the programs of this process end when their terminal hangs up. Under nohup(1) a process ignores
// SIGHUP, and a program that it starts inherits that (execve(2)). A signal that is caught is not inherited, and catching
// it here changes nothing else: it still does not end this process.
var takeHangup = sync.OnceFunc(func() {
	if signal.Ignored(unix.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), unix.SIGHUP)
	}
})

// spawn starts the process, through the shim if there are limits or a sandbox.
func (p *process) spawn(c command) error {
	if c.limits == (term.Limits{}) && !c.sandbox.Active() {
		return p.launch()
	}
	s, err := newShim(p.cmd, c)
	if err != nil {
		return err
	}
	defer s.close()
	if err := p.launch(); err != nil {
		return err
	}
	if p.guard, err = s.run(p); err != nil { // the shim has ended, or is about to
		_ = unix.Kill(p.pid, unix.SIGKILL)
		_ = p.cmd.Wait()
		children.remove(p.pid)
	}
	return err
}

// launch starts p.cmd from a thread that lives as long as this process.
func (p *process) launch() error {
	err := onLastingThread(func() (err error) {
		p.tag, err = children.start(p.cmd)
		return err
	})
	if err != nil {
		return err
	}
	p.pid, p.starter = p.cmd.Process.Pid, starterMemory()
	return nil
}

// failure is the error for something that the system refuses. A resource without
// room is a limit, and not a fault of the program that was to start.
func failure(op, what string, err error) error {
	var e *term.Error
	switch {
	case exhausted.Descriptors(err):
		e = exhausted.NoDescriptors(what, err)
	case errors.Is(err, syscall.EAGAIN): // fork(2): RLIMIT_NPROC, threads-max or pids.max
		e = &term.Error{
			Kind: term.LimitExceeded, Reason: term.ReasonTasks, Err: err,
			Msg:    what + ": there is no room for another process (" + syscall.EAGAIN.Error() + ")",
			Advice: "end programs, or raise the limit (pids.max of the container, ulimit -u)",
			Facts:  term.Facts{term.LimitReached{Limit: term.LimitTasks}},
		}
	default:
		e = &term.Error{Kind: term.IOError, Msg: what + ": " + reason(err).Error(), Err: err}
	}
	e.Op = op
	return e
}
