//go:build unix && !linux

package ptyx

import (
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"ptyctl/ptyx/protect"
	"ptyctl/term"
)

// This file has the counterparts of features that only Linux has.

// EnableLimits does nothing: limits are not supported on this system.
func EnableLimits() {}

// Supervise does nothing: the system's init adopts orphans.
func Supervise() (stop func(), err error) { return func() {}, nil }

// limitsUnsupported returns the limit that cannot be enforced, and the reason.
func limitsUnsupported(term.Limits) (term.Field, string) {
	return term.FieldLimits, "limits are not supported on " + runtime.GOOS + "; leave them out"
}

// Echoes implements term.Echoer. Where the terminal does not echo, a program that takes key by key may.
func (t *Terminal) Echoes() term.Support {
	modes, err := unix.IoctlGetTermios(int(t.pty.f.Fd()), unix.TIOCGETA)
	switch {
	case err != nil:
		return term.Maybe
	case modes.Lflag&unix.ECHO != 0:
		return term.Yes
	case modes.Lflag&unix.ICANON == 0:
		return term.Maybe
	}
	return term.No
}

// A shim is never created on this system.
type shim struct{}

func newShim(*exec.Cmd, command) (*shim, error) { return nil, unix.ENOSYS }
func (*shim) close()                            {}
func (*shim) run(*process) (*guard, error)      { return nil, unix.ENOSYS }

// A guard is never created on this system.
type guard struct{}

func (*guard) end() bool { return false }

// family only starts children.
type family struct{}

var children family

// start sets no tag.
func (family) start(cmd *exec.Cmd) (tag uint64, err error) { return 0, protect.WithCore(cmd.Start) }
func (family) remove(int)                                  {}

// onLastingThread runs f directly: only Linux has a death signal.
func onLastingThread(f func() error) error { return f() }

// reap waits for the process, which costs a thread, and then kills the rest of its
// group. The group's number is not reused while the group has a member.
func (p *process) reap() {
	_ = p.cmd.Wait() // the result is in ProcessState
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped = true
	p.kill()
}

// kill kills the process group. Processes that have left it are not found on this
// system.
func (p *process) kill() { _ = unix.Kill(-p.pid, unix.SIGKILL) }

// maxRSS returns KiB; Darwin counts bytes.
func maxRSS(ru *syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(ru.Maxrss) >> 10
	}
	return int64(ru.Maxrss)
}

// starterMemory returns 0: these systems count the memory of a program from its start.
func starterMemory() int64 { return 0 }

// sandboxUnsupported returns why a sandbox is not available.
func sandboxUnsupported() string {
	return "a sandbox for local programs is not supported on this system; configure none"
}

// endFirst does nothing: these systems have no such mark.
func endFirst(int) {}

// Started reports whether a process belongs to a program that this package has started. This system does not tell.
func Started(int) bool { return false }
