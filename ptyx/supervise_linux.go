package ptyx

import (
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
)

// Supervise makes this process adopt orphans (PR_SET_CHILD_SUBREAPER, prctl(2)),
// and reaps those that descend from programs of this package. It also prevents
// programs from inheriting descriptors that this process has inherited itself.
//
// It is for a main function that knows its whole program, for example that of
// ptyctl. It reaps every child in another session (setsid(2)) that this package has
// not started, so a program that starts such children by other means must not call
// it. stop ends the reaping.
func Supervise() (stop func(), err error) {
	// Go's own files have the flag already. A kernel before 5.11 leaves the others
	// unchanged.
	_ = unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, os.NewSyscallError("PR_SET_CHILD_SUBREAPER", err)
	}
	wake, ended, done := make(chan struct{}, 1), make(chan os.Signal, 1), make(chan struct{})
	children.mu.Lock()
	children.reap = wake
	children.mu.Unlock()
	signal.Notify(ended, unix.SIGCHLD)
	var reaper sync.WaitGroup
	reaper.Go(func() {
		for {
			children.reapOrphans()
			select {
			case <-ended:
			case <-wake:
			case <-done:
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		signal.Stop(ended)
		close(done)
		reaper.Wait()
		children.reapOrphans()
		children.mu.Lock()
		children.reap = nil
		children.mu.Unlock()
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}), nil
}

// reapOrphans reaps the adopted processes that have ended.
func (c *family) reapOrphans() {
	c.mu.Lock()
	defer c.mu.Unlock()
	own, err := unix.Getsid(0)
	if err != nil {
		return
	}
	orphan := func(pid int) bool {
		sid, err := unix.Getsid(pid)
		return err == nil && sid != own && !c.pids[pid]
	}
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil); err != nil ||
			info.Signo == 0 {
			return // no child has ended
		}
		reaped := false
		self := os.Getpid()
		for _, s := range table(pids()) { // waitid(2) returns the same child again and again
			if s.parent == self && s.dead && orphan(s.pid) {
				if pid, err := unix.Wait4(s.pid, nil, unix.WNOHANG, nil); err == nil && pid == s.pid {
					reaped = true
				}
			}
		}
		if !reaped {
			return
		}
	}
}
