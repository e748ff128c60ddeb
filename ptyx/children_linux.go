package ptyx

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ptyctl/ptyx/internal/processes"
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
	starting sync.Mutex // guards the following; held while a child is started and while orphans are reaped
	watcher  *processes.Watcher
	watched  time.Time // when the watcher was started

	mu     sync.Mutex   // guards the following
	adopts bool         // Supervise is in effect
	pids   map[int]bool // the value says whether it was when the child was started
}

// start starts cmd, which ends with this process. It returns the tag of the child,
// or 0.
func (c *family) start(cmd *exec.Cmd) (tag uint64, err error) {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	c.starting.Lock()
	defer c.starting.Unlock()
	c.watch() // before the mark is lent, which the watcher must not have
	// The parent sets the mark a moment after the program's start, so processes that
	// leave the session in that moment are not found. Under Supervise the program
	// inherits it from this process, which has it only while it starts the program.
	mark, own := processes.NewTag()
	if c.adopting() && mark.Cur != 0 { // under Supervise no other code starts such children
		lent := unix.Rlimit{Cur: mark.Cur, Max: own.Max}
		if unix.Prlimit(0, unix.RLIMIT_LOCKS, &lent, nil) == nil {
			defer func() { _ = unix.Prlimit(0, unix.RLIMIT_LOCKS, &own, nil) }()
		}
	}
	if err := protect.WithCore(cmd.Start); err != nil {
		return 0, err
	}
	c.add(cmd.Process.Pid)
	if mark.Cur != 0 {
		_ = unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_LOCKS, &mark, nil)
	}
	return mark.Cur, nil
}

// watchAgain is the least time between two watchers.
const watchAgain = time.Minute

// watch starts a watcher if one is required and none runs. The first program starts the first watcher. If no watcher
// can be started, the program still starts.
func (c *family) watch() {
	if !c.adopting() || !limitsEnabled.Load() {
		return
	}
	if c.watcher != nil {
		select {
		case <-c.watcher.Ended:
		default:
			return
		}
	}
	if now := time.Now(); c.watched.IsZero() || now.Sub(c.watched) >= watchAgain {
		c.watched = now
		c.watcher, _ = processes.StartWatcher()
	}
}

// unwatch has the watcher end all programs that are left, and waits for its end.
func (c *family) unwatch() {
	c.starting.Lock()
	w := c.watcher
	c.watcher, c.watched = nil, time.Time{}
	c.starting.Unlock()
	if w != nil {
		w.Stop(killWait)
	}
}

// adopt says whether orphans are adopted from now on.
func (c *family) adopt(adopts bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.adopts = adopts
}

// adopting reports whether orphans are adopted.
func (c *family) adopting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.adopts
}

// adoptsOf reports whether all orphans of a child that was started here are adopted.
func (c *family) adoptsOf(pid int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.adopts && c.pids[pid]
}

// has reports whether a child was started here and not yet removed.
func (c *family) has(pid int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, has := c.pids[pid]
	return has
}

// add adds a child that was started.
func (c *family) add(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pids[pid] = c.adopts
}

// remove removes a child that was waited for.
func (c *family) remove(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pids, pid)
}

// adopted returns the children of this process that it has not started here, and for which keep reports true.
func (c *family) adopted(keep func(pid int) bool) (found []int, err error) {
	all, err := processes.Adopted()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(pid int) bool { return c.has(pid) || !keep(pid) }), nil
}

// endFirst has the system end a process, and those that it starts, before any other when memory runs out
// (proc_pid_oom_score_adj(5)). A process that cannot be marked so is one that has ended, or that the system protects.
func endFirst(pid int) {
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("1000"), 0)
}

// Started reports whether a process belongs to a program that this package has started: it carries its tag, or it
// descends from this process. A process that cannot be looked at counts as one, also because it has ended: it may have
// left a connection, for example, to a child.
func Started(pid int) bool {
	if ours, err := processes.OwnFamily.Has(pid); ours || err != nil {
		return true
	}
	for self := os.Getpid(); pid > 1; {
		s, ok := processes.ReadStat(pid)
		if !ok {
			return false
		}
		if pid = s.Parent; pid == self {
			return true
		}
	}
	return false
}
