//go:build unix && !linux

package ptyx

import (
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"ptyctl/term"
)

// What only Linux has stands here as far as other Unix systems need it.

// EnableLimits does nothing here: limits are not supported on this system.
func EnableLimits() {}

// Supervise does nothing here: orphans are the system's.
func Supervise() (stop func(), err error) { return func() {}, nil }

func limitsUnsupported(term.Limits) string {
	return "limits are not supported on " + runtime.GOOS + "; leave them out"
}

// A shim is never made here.
type shim struct{}

func newShim(*exec.Cmd, command) (*shim, error) { return nil, unix.ENOSYS }
func (*shim) close()                            {}
func (*shim) run(*process) (*guard, error)      { return nil, unix.ENOSYS }

// A guard is never made here.
type guard struct{}

func (*guard) end() bool { return false }

// family does no more than to start children.
type family struct{}

var children family

// start sets no tag.
func (family) start(cmd *exec.Cmd) (tag uint64, err error) { return 0, withCore(cmd.Start) }
func (family) remove(int)                                  {}

func onLastingThread(f func() error) error { return f() }

// reap waits for the process, at the cost of a thread, and then kills what is left of its group. The group's number is
// not used again as long as somebody is left in it.
func (p *process) reap() {
	_ = p.cmd.Wait() // what it says is in ProcessState
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped = true
	p.kill()
}

// kill kills the process group: what has left it is not found here.
func (p *process) kill() { _ = unix.Kill(-p.pid, unix.SIGKILL) }

// maxRSS is in KiB; Darwin counts bytes.
func maxRSS(ru *syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(ru.Maxrss) >> 10
	}
	return int64(ru.Maxrss)
}

// sandboxUnsupported says why a sandbox would not hold.
func sandboxUnsupported() string {
	return "a sandbox for local programs is not supported on this system; leave local.read_paths and local.write_paths empty"
}
