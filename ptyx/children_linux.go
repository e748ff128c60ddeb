package ptyx

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
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
	mark = unix.Rlimit{Cur: nextTag(), Max: own.Max}
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

// A tag has three parts: the base bit, a number that no two programs share, and the family, which all programs of this
// process share. So a process can be known as one of ours without a list of all tags.
const (
	familyBits = 28
	familyMask = 1<<familyBits - 1
	numberBits = 31 // with the family they fill the bits below tagBase/2
)

// ownFamily is the family of the programs of this process.
var ownFamily = rand.Uint64N(familyMask + 1)

// lastTag counts the tags.
var lastTag atomic.Uint64

// nextTag returns a value below tagBase that is the tag of no other program.
func nextTag() uint64 {
	return tagBase/2 | lastTag.Add(1)&(1<<numberBits-1)<<familyBits | ownFamily
}

// Started reports whether a process belongs to a program that this package has started: it carries its tag, or it
// descends from this process. A process that cannot be looked at counts as one, also because it has ended: it may have
// left a connection, for example, to a child.
func Started(pid int) bool {
	var l unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &l) != nil {
		return true
	}
	ours := func(v uint64) bool {
		return v != unix.RLIM_INFINITY && v&(tagBase/2) != 0 && v>>(familyBits+numberBits+2) == 0 &&
			v&familyMask == ownFamily
	}
	if ours(l.Cur) || ours(l.Max) {
		return true
	}
	for self := os.Getpid(); pid > 1; {
		s, ok := readStat(pid)
		if !ok {
			return false
		}
		if pid = s.parent; pid == self {
			return true
		}
	}
	return false
}
