// Package gcburst makes the garbage collector run less often while the content of files passes through calls.
package gcburst

import (
	"runtime/debug"
	"sync"
	"time"

	"ptyctl/term"
)

// A Burst lets the garbage collector run less often while the content of files passes through calls. Each MiB takes
// four or five MiB of memory on its way between a message and a host, in pieces that are garbage at once. The heap of a
// program with few sessions is so small that the collector ran for each such call, and took, with the memory that it gave
// back and that was fetched again, 40 % of the processor time of a read and 20 % of a write (BenchmarkContent). Up to
// 16 MiB more are taken meanwhile; the memory limit holds as ever. The zero value is ready to use.
type Burst struct {
	mu     sync.Mutex // guards the following
	timer  *time.Timer
	last   time.Time // of the last large read or write
	before int       // the collector's pace before the burst
}

const (
	least = 256 << 10 // bytes of one read or write
	pace  = 400       // see debug.SetGCPercent
	lasts = time.Second
)

// Observe begins a burst with an event, or lets it go on.
func (b *Burst) Observe(e term.Event) {
	moves := e.Verb == term.VerbFileRead || e.Verb == term.VerbFileWrite
	if !moves || e.Size < least || e.PartOf.Copy != "" { // a copy keeps its blocks
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = time.Now()
	if b.timer != nil {
		return
	}
	b.before = debug.SetGCPercent(pace)
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
