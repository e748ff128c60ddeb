package ptyx

import (
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ptyctl/ptyx/internal/processes"
)

// Supervise makes this process adopt orphans (PR_SET_CHILD_SUBREAPER, prctl(2)),
// and reaps those that descend from programs of this package. It also prevents
// programs from inheriting descriptors that this process has inherited itself.
//
// It is for a main function that knows its whole program, for example that of
// ptyctl. It reaps every child in another session (setsid(2)) that this package has
// not started, except that a session leader without a mark of this package is left
// for ten seconds to the code that may have started it.
//
// If main has called EnableLimits, the first program also starts a watcher: this program once more, as a small process
// that ends all processes of programs when this process has ended, also by SIGKILL. Without it, a child of a program
// may stay then. stop ends the programs that still run, and the supervision.
func Supervise() (stop func(), err error) {
	// Go's own files have the flag already. A kernel before 5.11 leaves the others
	// unchanged.
	_ = unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, os.NewSyscallError("PR_SET_CHILD_SUBREAPER", err)
	}
	children.adopt(true)
	ended, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(ended, unix.SIGCHLD)
	r := reaper{left: make(map[processes.Process]time.Time)}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			again := time.NewTimer(r.reap(time.Now()))
			select {
			case <-ended:
			case <-again.C:
			case <-done:
				again.Stop()
				return
			}
			again.Stop()
		}
	})
	return sync.OnceFunc(func() {
		children.unwatch()
		signal.Stop(ended)
		close(done)
		running.Wait()
		r.reap(time.Now())
		children.adopt(false)
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}), nil
}

// othersTurn is how long a dead child without a mark is left to other code of this process, which may have started it.
const othersTurn = 10 * time.Second

// A reaper reaps the adopted processes that have ended.
type reaper struct {
	left map[processes.Process]time.Time // dead children without a mark, and when they were first seen
}

// reap reaps, and returns when to do so again if no child ends before.
func (r reaper) reap(now time.Time) (again time.Duration) {
	const never = 1<<63 - 1
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil); err != nil ||
		info.Signo == 0 {
		clear(r.left)
		return never // no child has ended
	}
	children.starting.Lock() // a child just started is not known yet
	defer children.starting.Unlock()
	again = never
	seen := make(map[processes.Process]bool)
	for _, pid := range r.orphans() {
		s, ok := processes.ReadStat(pid)
		if !ok || !s.Dead {
			continue
		}
		if marked, _ := processes.OwnFamily.Has(pid); !marked && leads(pid) {
			p := processes.Process{PID: pid, Started: s.Started}
			seen[p] = true
			if r.left[p].IsZero() {
				r.left[p] = now
			}
			if left := r.left[p].Add(othersTurn).Sub(now); left > 0 {
				again = min(again, left)
				continue
			}
		}
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
	}
	for p := range r.left {
		if !seen[p] {
			delete(r.left, p)
		}
	}
	return again
}

// orphans returns the adopted children of this process.
func (reaper) orphans() []int {
	own := ownSession()
	adopted := func(pid int) bool {
		sid, err := unix.Getsid(pid)
		return err == nil && sid != own
	}
	if found, err := children.adopted(adopted); err == nil {
		return found
	}
	var found []int
	self := os.Getpid()
	for _, pid := range processes.All() {
		if s, ok := processes.ReadStat(pid); ok && s.Parent == self && !children.has(pid) && adopted(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// leads reports whether the process is the leader of a session.
func leads(pid int) bool {
	sid, err := unix.Getsid(pid)
	return err == nil && sid == pid
}
