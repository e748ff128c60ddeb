// Package gcburst makes the garbage collector run less often while the content of files passes through calls.
package gcburst

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"ptyctl/term"
)

// A Burst lets the garbage collector run less often while the content of files passes through calls. Each MiB takes
// four or five MiB of memory on its way between a message and a host, in pieces that are garbage at once. The heap of a
// program with few sessions is so small that the collector ran for each such call, and took, with the memory that it gave
// back and that was fetched again, 40 % of the processor time of a read and 20 % of a write (BenchmarkContent). Up to
// 16 MiB are garbage meanwhile: with a larger heap the pace is lower, and from 16 MiB on as it was. The memory limit holds
// as ever. The zero value is ready to use.
type Burst struct {
	mu     sync.Mutex // guards the following
	timer  *time.Timer
	last   time.Time // of the last large read or write
	before int       // the collector's pace before the burst
	now    int       // and in it
}

const (
	least   = 256 << 10 // bytes of one read or write
	garbage = 16 << 20  // bytes
	pace    = 400       // see debug.SetGCPercent
	lasts   = time.Second
)

// paceFor returns the pace at which a heap with live bytes in use has at most garbage bytes of garbage.
func paceFor(live uint64) int { return int(min(pace, 100*garbage/max(live, 1))) }

// live returns how much of the heap the last collection has left, in bytes.
func live() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// Observe begins a burst with an event, or lets it go on.
func (b *Burst) Observe(e term.Event) {
	moves := e.Verb == term.VerbFileRead || e.Verb == term.VerbFileWrite
	if !moves || e.Size < least || e.PartOf.Copy != "" { // a copy keeps its blocks
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = time.Now()
	next := paceFor(live())
	if b.timer != nil {
		if next = max(next, b.before); next < b.now { // the heap has grown
			debug.SetGCPercent(next)
			b.now = next
		}
		return
	}
	before := debug.SetGCPercent(next)
	if before < 0 || next <= before { // it does not run by itself, or as seldom already
		debug.SetGCPercent(before)
		return
	}
	b.before, b.now = before, next
	b.timer = time.AfterFunc(lasts, b.end)
}

// end ends the burst if its time is over, and gives its memory back.
func (b *Burst) end() {
	if b.over() {
		debug.FreeOSMemory() // no event waits for this
	}
}

func (b *Burst) over() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if rest := lasts - time.Since(b.last); rest > 0 {
		b.timer.Reset(rest)
		return false
	}
	b.timer = nil
	debug.SetGCPercent(b.before)
	return true
}
