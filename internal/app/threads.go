package app

import (
	"runtime"
	"sync"

	"ptyctl/internal/cgroup"
)

// spareThreads is how many threads a server makes at its start. The runtime ends the whole program when it needs a
// thread and the system gives none, which a runaway program beside it is enough for (pids.max, RLIMIT_NPROC). A thread
// is needed for each goroutine that computes, and for each that waits in the system, for example for a disk; the
// network and terminals need none. With 40 calls at a time on two processors 4 were too few, and 8 were enough.
const spareThreads = 24

// keepThreads makes threads, and leaves them to the runtime, which never ends idle ones and takes them before it
// asks the system for another. Where few are allowed, half of them stay for the programs beside.
func keepThreads() {
	n := spareThreads
	if l, ok := cgroup.Processes(); ok {
		n = min(n, int(l.Left()/2))
	}
	if left, ok := threadsLeft(); ok {
		n = min(n, left/2)
	}
	makeThreads(n)
}

// makeThreads makes the runtime have n threads besides those that are busy: as many goroutines hold one each at the
// same time, and none of them ends before it has let go, because its thread would end with it.
func makeThreads(n int) {
	var held, ended sync.WaitGroup
	release := make(chan struct{})
	for range n {
		held.Add(1)
		ended.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			held.Done()
			<-release
		})
	}
	held.Wait()
	close(release)
	ended.Wait()
}
