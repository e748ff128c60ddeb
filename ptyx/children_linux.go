package ptyx

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"ptyctl/ptyx/protect"
)

// lasting passes work to a thread that lives as long as this process. The kernel
// sends a child its death signal when the thread that started it ends
// (PR_SET_PDEATHSIG, prctl(2)), and a Go thread may end with a goroutine that has
// locked it.
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

// onLastingThread runs f on that thread.
func onLastingThread(f func() error) (err error) {
	done := make(chan struct{})
	lasting() <- func() {
		defer close(done)
		err = f()
	}
	<-done
	return err
}

// children has the processes that this package has started and not yet waited for.
// Any other child in another session is an adopted orphan; see Supervise.
var children = family{pids: make(map[int]bool)}

// A family is a set of children, with the lock that starting and reaping need.
type family struct {
	mu   sync.Mutex // guards the following; held while a child is started and while orphans are reaped
	pids map[int]bool
	reap chan<- struct{} // wakes the reaper of Supervise; nil without one
}

// start starts cmd, which ends with this process. It returns the tag of the child,
// or 0.
func (c *family) start(cmd *exec.Cmd) (tag uint64, err error) {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	c.mu.Lock()
	defer c.mu.Unlock()
	mark, own := newTag()
	if c.reap != nil && mark.Cur != 0 { // under Supervise no other code starts such children
		lent := unix.Rlimit{Cur: mark.Cur, Max: own.Max}
		if unix.Prlimit(0, unix.RLIMIT_LOCKS, &lent, nil) == nil {
			defer func() { _ = unix.Prlimit(0, unix.RLIMIT_LOCKS, &own, nil) }()
		}
	}
	if err := protect.WithCore(cmd.Start); err != nil {
		return 0, err
	}
	c.pids[cmd.Process.Pid] = true
	if mark.Cur != 0 {
		_ = unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_LOCKS, &mark, nil)
	}
	return mark.Cur, nil
}

// remove removes a child that was waited for.
func (c *family) remove(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pids, pid)
	if c.reap != nil { // its orphans can be told apart now
		select {
		case c.reap <- struct{}{}:
		default:
		}
	}
}

// tagBase is above every value that a user would choose for RLIMIT_LOCKS, a limit
// that no kernel since 2.4.25 enforces. A tag that is also the upper limit has one
// more bit than a tag below an upper limit.
const tagBase = 1 << 60

// newTag returns a mark for a process and all its descendants: a value of a limit
// without effect. It survives fork, exec and setsid, and unlike a variable it stays
// when the environment is cleared. If an upper limit is set, it is the mark of an
// outer ptyctl, which must still see our processes; then only the lower limit is
// ours. The mark is zero if the system has no such limit.
//
// The parent sets the mark a moment after the program's start, so processes that
// leave the session in that moment are not found. Under Supervise the program
// inherits it from this process, which has it only while it starts the program.
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

// endFirst has the system end a process, and those that it starts, before any other when memory runs out
// (proc_pid_oom_score_adj(5)). A process that cannot be marked so is one that has ended, or that the system protects.
func endFirst(pid int) {
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("1000"), 0)
}
