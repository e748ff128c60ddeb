//go:build unix

package ptyx

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ptyctl/term"
)

// A process is a program that was started, the leader of a session (setsid(2)) and a process group.
type process struct {
	pid    int
	cmd    *exec.Cmd
	limits term.Limits
	tag    uint64        // on it and all that it starts; 0: none
	guard  *guard        // counts its processes; nil: nobody does
	exited chan struct{} // closed when it has ended, and what it had started too

	exit term.Exit // valid then

	hurry atomic.Bool // what is left is killed without being told first

	mu     sync.Mutex // guards the following, and keeps the pid from being reused while it is held
	reaped bool
}

// start starts c on three files. With a terminal, they are that one, which becomes the session's.
func start(c command, stdin, stdout, stderr *os.File, terminal bool) (*process, error) {
	cmd := &exec.Cmd{
		Path: c.path, Args: c.argv, Env: c.env, Dir: c.dir, Stdin: stdin, Stdout: stdout, Stderr: stderr,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Setctty: terminal},
	}
	p := &process{cmd: cmd, limits: c.limits, exited: make(chan struct{})}
	if err := p.spawn(c); err != nil {
		return nil, &term.Error{
			Op:   "open",
			Kind: term.IOError,
			Msg:  "the system did not start " + c.path + ": " + reason(err).Error(),
			Err:  err,
		}
	}
	go p.watch()
	return p, nil
}

// spawn starts the process, through the shim if that has to do something.
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
	if p.guard, err = s.run(p); err != nil { // the shim has ended, or will
		_ = unix.Kill(p.pid, unix.SIGKILL)
		_ = p.cmd.Wait()
		children.remove(p.pid)
	}
	return err
}

// launch starts p.cmd, from a thread that ends with this process.
func (p *process) launch() error {
	err := onLastingThread(func() (err error) {
		p.tag, err = children.start(p.cmd)
		return err
	})
	if err != nil {
		return err
	}
	p.pid = p.cmd.Process.Pid
	return nil
}

// watch waits for the end of the process, and ends what it leaves behind.
func (p *process) watch() {
	p.reap()
	children.remove(p.pid)
	p.exit = exitOf(p.cmd.ProcessState)
	p.exit.Started = true
	judge(&p.exit, p.limits)
	if p.guard.end() && p.exit.Limit == "" {
		p.exit.Limit, p.exit.Suspected = limitProcesses, ""
	}
	close(p.exited)
}

// signal sends sig to the process group, and to the group other if that is not 0.
func (p *process) signal(sig unix.Signal, other int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return
	}
	_ = unix.Kill(-p.pid, sig) // fails when the group is gone
	if other > 1 && other != p.pid {
		_ = unix.Kill(-other, sig)
	}
}

// signalGroup sends sig to a process group of the terminal.
func (p *process) signalGroup(sig unix.Signal, group int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = unix.Kill(-group, sig) // fails when the group is gone
	}
}

// await reports whether the process ends, with all that it has started, within d.
func (p *process) await(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// end ends the process after a grace, which it has to obey what it was told already. It reports whether it is gone.
func (p *process) end(grace time.Duration) bool {
	if p.await(grace) {
		return true
	}
	p.hurry.Store(true)
	p.signal(unix.SIGKILL, 0)
	return p.await(killWait)
}

const (
	// hangupGrace is what a program on a terminal has to end after the terminal is gone. With killWait it makes less than
	// the second within which Close returns.
	hangupGrace = 250 * time.Millisecond

	// sweepGrace is what those have that the program leaves behind.
	sweepGrace = 150 * time.Millisecond

	// killWait is how long what is killed may take to be gone, before nobody waits for it any more.
	killWait = 600 * time.Millisecond
)

// exitOf translates the end of a process.
func exitOf(state *os.ProcessState) term.Exit {
	if state == nil {
		return term.Exit{}
	}
	e := term.Exit{Known: true, Code: state.ExitCode()}
	e.Usage.CPU = state.UserTime() + state.SystemTime()
	if ru, ok := state.SysUsage().(*syscall.Rusage); ok {
		e.Usage.MaxRSS = maxRSS(ru)
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Code = 128 + int(status.Signal())
		e.Signal = strings.TrimPrefix(unix.SignalName(status.Signal()), "SIG")
	}
	return e
}

// signals are those that a caller may send.
var signals = map[string]unix.Signal{
	"INT":  unix.SIGINT,
	"TERM": unix.SIGTERM,
	"HUP":  unix.SIGHUP,
	"KILL": unix.SIGKILL,
	"QUIT": unix.SIGQUIT,
}
