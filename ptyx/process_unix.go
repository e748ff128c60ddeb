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

// A process is a started program, the leader of a session (setsid(2)) and a process
// group.
type process struct {
	pid    int
	cmd    *exec.Cmd
	limits term.Limits
	tag    uint64        // inherited by all its processes; 0 for none
	guard  *guard        // limits its processes; nil without a limit
	exited chan struct{} // closed when it and its processes have ended

	starter int64 // KiB: the memory of this process that the system may count as the program's own; 0: nothing

	exit term.Exit // valid after exited is closed

	hurry atomic.Bool // kill the remaining processes without a signal first

	mu     sync.Mutex // guards the following, and keeps the pid from being reused while it is held
	reaped bool
}

// watch waits for the end of the process, ends the processes that it leaves behind,
// and records the exit.
func (p *process) watch() {
	p.reap()
	children.remove(p.pid)
	p.exit = exitOf(p.cmd.ProcessState)
	if p.exit.Usage.MaxRSS <= p.starter {
		p.exit.Usage.MaxRSS = 0
	}
	p.exit.Started = true
	judge(&p.exit, p.limits)
	if p.guard.end() && p.exit.Limit == "" {
		p.exit.Limit, p.exit.Suspected = term.LimitProcesses, ""
	}
	close(p.exited)
}

// signal sends sig to the process group, and to the group other unless it is 0.
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

// await reports whether the process and all its descendants end within d.
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

// end ends the process after a grace, in which it may react to an earlier signal.
// It reports whether the process is gone.
func (p *process) end(grace time.Duration) bool {
	if p.await(grace) {
		return true
	}
	p.hurry.Store(true)
	p.signal(unix.SIGKILL, 0)
	return p.await(killWait)
}

const (
	// hangupGrace is the time for a program to end after its terminal was closed.
	// Together with killWait it is less than the second within which Close returns.
	hangupGrace = 250 * time.Millisecond

	// sweepGrace is the same time for the processes that a program leaves behind.
	sweepGrace = 150 * time.Millisecond

	// killWait is how long to wait for a killed process to be gone.
	killWait = 600 * time.Millisecond
)

// exitOf converts the state of an ended process. A signal gives the exit code 128 +
// n of shells.
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

// signals has the signals that a caller may send.
var signals = map[string]unix.Signal{
	"INT":  unix.SIGINT,
	"TERM": unix.SIGTERM,
	"HUP":  unix.SIGHUP,
	"KILL": unix.SIGKILL,
	"QUIT": unix.SIGQUIT,
}
