package app

import (
	"context"
	"runtime"
	"sync"
	"time"

	"ptyctl/internal/cgroup"
	"ptyctl/term"
)

// spareThreads is how many threads a server makes soon after its start. The runtime ends the whole program when it needs a
// thread and the system gives none, which a runaway program beside it is enough for (pids.max, RLIMIT_NPROC). A thread
// is needed for each goroutine that computes, and for each that waits in the system, for example for a disk; the
// network and terminals need none. With 40 calls at a time on two processors 4 were too few, and 8 were enough.
const spareThreads = 24

// threadsAfter is when they are made if there was no action before. Making them takes a tenth of the start, which
// the client waits for.
const threadsAfter = 250 * time.Millisecond

// spare makes the spare threads, once.
type spare struct {
	once  sync.Once
	timer *time.Timer
}

// keepThreads returns a gate that has the threads made before the first action, because that may start a program that
// takes all threads that the system gives. end ends the wait for that.
func keepThreads(gate term.Gate) (kept term.Gate, end func()) {
	s := new(spare)
	s.timer = time.AfterFunc(threadsAfter, s.make)
	kept = func(ctx context.Context, a term.Action) (term.Ruling, error) {
		s.make()
		return gate(ctx, a)
	}
	return kept, func() {
		s.timer.Stop()
		s.once.Do(func() {}) // waits if they are being made
	}
}

// make makes the threads, and leaves them to the runtime, which never ends idle ones and takes them before it asks the
// system for another. Where few are allowed, half of them stay for the programs beside.
func (s *spare) make() {
	s.once.Do(func() {
		n := spareThreads
		if l, ok := cgroup.Processes(); ok {
			n = min(n, int(l.Left()/2))
		}
		if left, ok := threadsLeft(); ok {
			n = min(n, left/2)
		}
		makeThreads(n)
	})
}

// makeThreads makes the runtime have n threads besides those that are busy: as many goroutines hold one each at the
// same time, and no goroutine ends before it has released its thread, because the thread would end with it.
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
