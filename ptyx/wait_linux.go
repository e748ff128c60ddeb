package ptyx

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// reap waits for the process, and ends what it leaves behind while the number of the session is still its own.
func (p *process) reap() {
	awaitExit(p.pid)
	p.sweep(sweepGrace)
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.cmd.Wait() // what it says is in ProcessState
	p.reaped = true
}

// awaitExit returns when the child has ended, and leaves it to be waited for. The runtime polls a descriptor of it, as it
// does a connection's: a thread that waits in the system for each child would be one for each idle terminal.
func awaitExit(pid int) {
	if fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK); err == nil {
		f := os.NewFile(uintptr(fd), "pidfd")
		defer func() { _ = f.Close() }()
		if conn, err := f.SyscallConn(); err == nil &&
			conn.Read(func(uintptr) bool { return hasEnded(pid, unix.WNOHANG) }) == nil {
			return
		}
	}
	hasEnded(pid, 0)
}

// hasEnded reports whether the child has, or waits until it has.
func hasEnded(pid, options int) bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|options, nil)
		if err != unix.EINTR {
			return err != nil || info.Signo != 0
		}
	}
}

// maxRSS is in KiB.
func maxRSS(ru *syscall.Rusage) int64 { return int64(ru.Maxrss) } //nolint:unconvert // 32 bits on some processors
