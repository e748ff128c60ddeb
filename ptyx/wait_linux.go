package ptyx

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// reap waits for the process, and ends the processes that it leaves behind while
// the session's number is still its own.
func (p *process) reap() {
	awaitExit(p.pid)
	p.sweep(sweepGrace)
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.cmd.Wait() // the result is in ProcessState
	p.reaped = true
}

// awaitExit returns when the child has ended, and leaves it to be waited for. The
// runtime polls a descriptor of the child like a connection; waiting in the system
// would cost a thread for each idle terminal.
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

// hasEnded reports whether the child has ended; without WNOHANG it waits for that.
func hasEnded(pid, options int) bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|options, nil)
		if err != unix.EINTR {
			return err != nil || info.Signo != 0
		}
	}
}

// maxRSS returns KiB.
func maxRSS(ru *syscall.Rusage) int64 { return int64(ru.Maxrss) } //nolint:unconvert // 32 bits on some processors

// starterMemory returns the largest memory of this process so far in KiB. A new program begins in the memory of its
// starter, and Linux counts that as its own (getrusage(2) on execve). A larger value is the program's own; a smaller
// one says nothing about it. The shim, which has less memory, makes no difference.
func starterMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("\nVmHWM:"))
	value, _, _ := bytes.Cut(rest, []byte(" kB"))
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
	return n + counterSlack
}

// counterSlack is how far two readings of the same memory may lie apart, in KiB: each processor keeps pages that it has not
// counted yet (percpu_counter).
const counterSlack = 2 << 10
