package session

import (
	"runtime/debug"
	"sync"
)

// goroutines are those of one session. A panic in one is reported to failed, and ends no other.
type goroutines struct {
	failed func(where string, fault any)

	mu     sync.Mutex     // guards the following
	sealed bool           // wait was called: no goroutine may be added
	wg     sync.WaitGroup // of those that run
}

// spawn runs f in a goroutine that wait waits for. It reports false, and runs nothing, once wait was called.
func (g *goroutines) spawn(where string, f func()) bool {
	g.mu.Lock()
	if g.sealed {
		g.mu.Unlock()
		return false
	}
	g.wg.Add(1)
	g.mu.Unlock()
	go func() {
		defer g.wg.Done()
		defer g.rescue(where)
		f()
	}()
	return true
}

// spawnLate is spawn for goroutines that the end of the session needs: they must run even after wait was called.
func (g *goroutines) spawnLate(where string, f func()) {
	g.wg.Go(func() {
		defer g.rescue(where)
		f()
	})
}

// wait returns a channel that is closed when no goroutine is left, and lets none be added.
func (g *goroutines) wait() <-chan struct{} {
	g.mu.Lock()
	g.sealed = true
	g.mu.Unlock()
	gone := make(chan struct{})
	go func() {
		g.wg.Wait()
		close(gone)
	}()
	return gone
}

// rescue contains a panic of the goroutine that defers it.
func (g *goroutines) rescue(where string) {
	if r := recover(); r != nil {
		g.failed(where, r)
	}
}

// stack returns the stack of the calling goroutine, for the log.
func stack() string { return string(debug.Stack()) }
