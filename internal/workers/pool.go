// Package workers runs many short functions, each in a goroutine, without starting one for each.
//
// A goroutine begins with a small stack, which grows by copies of itself: that was a fifth of the time of a goroutine
// that answers one call of a tool. A Pool reuses goroutines, with the stacks that have grown; see BenchmarkPool.
package workers

import (
	"sync"
	"time"
)

const (
	// spares is how many goroutines of a pool wait for work at a time.
	spares = 8

	// rest is how long each of them waits.
	rest = time.Second
)

// A Pool runs functions. It never makes one wait for another: each has a goroutine of its own while it runs. Make it with
// New.
type Pool struct {
	work  chan func()
	spare chan struct{} // has a token for each goroutine that waits for work
	end   chan struct{} // closed by End

	running sync.WaitGroup
	ending  sync.Once
}

// New returns a pool without goroutines.
func New() *Pool {
	return &Pool{work: make(chan func()), spare: make(chan struct{}, spares), end: make(chan struct{})}
}

// Go runs f in a goroutine. It must not be called after End.
func (p *Pool) Go(f func()) {
	select {
	case p.work <- f:
	default:
		p.running.Go(func() { p.serve(f) })
	}
}

// End ends each goroutine of the pool, once its function has returned.
func (p *Pool) End() { p.ending.Do(func() { close(p.end) }) }

// Wait waits after End until all goroutines of the pool have ended.
func (p *Pool) Wait() { p.running.Wait() }

// serve runs f, and then the functions that come next.
func (p *Pool) serve(f func()) {
	wait := time.NewTimer(rest)
	defer wait.Stop()
	for {
		f()
		select {
		case p.spare <- struct{}{}:
		default:
			return
		}
		wait.Reset(rest)
		select {
		case f = <-p.work:
			<-p.spare
		case <-wait.C:
			<-p.spare
			return
		case <-p.end:
			<-p.spare
			return
		}
	}
}
