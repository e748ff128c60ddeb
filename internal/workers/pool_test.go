package workers

import (
	"bytes"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// goroutines returns how many goroutines pools have. The count of runtime has those, too, that are about to be gone.
func goroutines() int {
	stacks := make([]byte, 1<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte(".(*Pool).serve("))
}

// TestGo checks that each function runs at once, whatever the others do, and that End and Wait end all goroutines.
func TestGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		const functions = 4 * spares
		release := make(chan struct{})
		var started, ended sync.WaitGroup
		started.Add(functions)
		for range functions {
			ended.Add(1)
			p.Go(func() {
				defer ended.Done()
				started.Done()
				<-release
			})
		}
		started.Wait() // none waits for another
		close(release)
		ended.Wait()
		synctest.Wait()
		if n := goroutines(); n != spares {
			t.Errorf("%d goroutines wait for work, want %d", n, spares)
		}
		p.End()
		p.End()
		p.Wait()
	})
}

// TestReuse checks that functions one after the other share a goroutine.
func TestReuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		for range 100 {
			p.Go(func() {})
			synctest.Wait() // until the goroutine waits for work
		}
		if n := goroutines(); n != 1 {
			t.Errorf("100 functions one after the other left %d goroutines, want 1", n)
		}
		p.End()
		p.Wait()
	})
}

// TestRest checks that a goroutine without work ends.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		done := make(chan struct{})
		p.Go(func() { close(done) })
		<-done
		began := time.Now()
		p.Wait()
		if d := time.Since(began); d != rest {
			t.Errorf("it ended after %v, want %v", d, rest)
		}
	})
}

// deep uses about 8 KiB of stack.
//
//go:noinline
func deep(n int) byte {
	var page [1 << 10]byte
	if n > 0 {
		page[n] = deep(n - 1)
	}
	return page[n]
}

// BenchmarkPool compares a pool with a new goroutine for each function, which must grow its stack.
func BenchmarkPool(b *testing.B) {
	p := New()
	defer p.Wait()
	defer p.End()
	for _, way := range []struct {
		name string
		run  func(f func())
	}{{"pool", p.Go}, {"go", func(f func()) { go f() }}} {
		b.Run(way.name, func(b *testing.B) {
			done := make(chan struct{})
			for b.Loop() {
				way.run(func() {
					deep(8)
					done <- struct{}{}
				})
				<-done
			}
		})
	}
}
