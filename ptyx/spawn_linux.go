package ptyx

import (
	"math/rand/v2"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// lasting hands work to a thread that ends with this process and not before: the kernel sends a child its death signal when
// the thread that started it ends (PR_SET_PDEATHSIG, prctl(2)), and a Go thread may end with a goroutine that has locked it.
var lasting = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// onLastingThread runs f there.
func onLastingThread(f func() error) (err error) {
	done := make(chan struct{})
	lasting() <- func() {
		defer close(done)
		err = f()
	}
	<-done
	return err
}

// children are the processes that this package has started and not yet waited for. All others that have left our session
// are orphans that we were given; see Supervise.
var children = family{pids: make(map[int]bool)}

type family struct {
	mu   sync.Mutex // guards the following; held while a child is started, and while orphans are reaped
	pids map[int]bool
	reap chan<- struct{} // wakes the reaper of Supervise; nil: there is none
}

// start starts cmd, which dies with this process. It returns the tag that it has, or 0.
func (c *family) start(cmd *exec.Cmd) (tag uint64, err error) {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	c.mu.Lock()
	defer c.mu.Unlock()
	mark, own := newTag()
	if c.reap != nil && mark.Cur != 0 { // nobody else starts a child whose session is its own
		lent := unix.Rlimit{Cur: mark.Cur, Max: own.Max}
		if unix.Prlimit(0, unix.RLIMIT_LOCKS, &lent, nil) == nil {
			defer func() { _ = unix.Prlimit(0, unix.RLIMIT_LOCKS, &own, nil) }()
		}
	}
	if err := withCore(cmd.Start); err != nil {
		return 0, err
	}
	c.pids[cmd.Process.Pid] = true
	if mark.Cur != 0 {
		_ = unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_LOCKS, &mark, nil)
	}
	return mark.Cur, nil
}

// remove forgets a child that was waited for.
func (c *family) remove(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pids, pid)
	if c.reap != nil { // what it left behind may have waited for it to be out of the way
		select {
		case c.reap <- struct{}{}:
		default:
		}
	}
}

// tagBase is above every number that somebody may have meant who set the limit RLIMIT_LOCKS, which no kernel since 2.4.25
// enforces. A tag that is the upper limit too has one bit more than one that lies below another.
const tagBase = 1 << 60

// newTag returns a mark for a process and all that it will start: a limit that means nothing. It survives fork, exec and
// setsid, and unlike a variable it is not gone with the environment. An upper limit is an outer ptyctl's mark, in whose
// sight our processes must stay: then only the lower one is ours. The mark is zero where the system has none.
//
// From outside it comes a moment after the program's start, so that what leaves the program's session in that moment is not
// found again. Under Supervise the program inherits it from this process, which lends it to nobody else.
func newTag() (mark, own unix.Rlimit) {
	if unix.Prlimit(0, unix.RLIMIT_LOCKS, nil, &own) != nil {
		return unix.Rlimit{}, own
	}
	mark = unix.Rlimit{Cur: tagBase/2 | rand.Uint64N(tagBase/2), Max: own.Max}
	if own.Max == unix.RLIM_INFINITY {
		mark.Cur |= tagBase
		mark.Max = mark.Cur
	}
	return mark, own
}

// tagged reports whether a process has the tag.
func tagged(pid int, tag uint64) bool {
	var l unix.Rlimit
	return tag != 0 && unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &l) == nil && (l.Cur == tag || l.Max == tag)
}
