package processes

import (
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// A Process is one process, also when its number is reused.
type Process struct {
	PID     int
	Started string // the time of its start in kernel ticks
}

// open returns a descriptor of the process, which stays valid if the number is
// reused.
func (p Process) open() (pidfd int, err error) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return -1, err
	}
	if s, ok := ReadStat(p.PID); !ok || s.Started != p.Started {
		_ = unix.Close(fd)
		return -1, unix.ESRCH
	}
	return fd, nil
}

// killLimit is how long Kill keeps trying. A process left after that is stuck in
// the kernel.
const killLimit = 10 * time.Second

// Kill kills all processes that whole returns. It stops all of them before it kills any, so that none can start another.
// quick returns most of them, in less time: then one that goes on in a new process again and again is stopped before it
// has gone on. It is nil where whole is as quick. Processes of other users stay.
func Kill(quick, whole func() []Process) {
	stopped := make(map[Process]bool)
	stop := func(all []Process) (any bool) {
		var fresh []Process
		for _, p := range all {
			if !stopped[p] {
				stopped[p] = true
				fresh = append(fresh, p)
			}
		}
		Signal(fresh, 0, unix.SIGSTOP)
		return len(fresh) > 0
	}
	killed := false // none was fresh then: the next look confirms that none was missed while others were moving
	for deadline := time.Now().Add(killLimit); time.Now().Before(deadline); {
		if quick != nil && stop(quick()) {
			killed = false
			continue
		}
		all := whole()
		if stop(all) {
			killed = false
			continue
		}
		if len(all) == 0 || killed {
			return
		}
		killed = Signal(all, time.Until(deadline), unix.SIGKILL)
	}
	Signal(whole(), 0, unix.SIGKILL)
}

// Signal sends the signals to each process, and waits at most wait for all to
// end. It reports whether they have.
func Signal(ps []Process, wait time.Duration, signals ...unix.Signal) (ended bool) {
	const most = 256 // most descriptors open at a time
	ended = true
	for some := range slices.Chunk(ps, most) {
		ended = signalSome(some, wait, signals...) && ended
	}
	return ended
}

// signalSome is Signal for a number of processes that fits into the limit of
// descriptors.
func signalSome(ps []Process, wait time.Duration, signals ...unix.Signal) bool {
	var fds []unix.PollFd
	unsure := false
	for _, p := range ps {
		fd, err := p.open()
		if err != nil {
			unsure = unsure || !errors.Is(err, unix.ESRCH)
			continue
		}
		for _, sig := range signals {
			err = unix.PidfdSendSignal(fd, sig, nil, 0)
		}
		if err != nil { // the process has ended, or belongs to another user
			_ = unix.Close(fd)
			continue
		}
		fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	defer func() {
		for _, f := range fds {
			_ = unix.Close(int(f.Fd))
		}
	}()
	living := slices.Clone(fds)
	for deadline := time.Now().Add(wait); len(living) > 0; {
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		_, _ = unix.Poll(living, int(left.Milliseconds())+1) // after an interruption, poll again
		living = slices.DeleteFunc(living, func(f unix.PollFd) bool { return f.Revents != 0 })
	}
	return !unsure
}
