package app

import (
	"runtime/debug"
	"sync"
	"time"

	"ptyctl/term"
)

// A burst lets the garbage collector run less often while the content of files passes through calls. Each MiB takes
// four or five MiB of memory on its way between a message and a host, in pieces that are garbage at once. The heap of a
// program with few sessions is so small that the collector ran for each such call, and took, with the memory that it gave
// back and that was fetched again, 40 % of the processor time of a read and 20 % of a write (BenchmarkContent). Up to
// 16 MiB more are taken meanwhile; the memory limit holds as ever.
type burst struct {
	mu    sync.Mutex // guards the following
	timer *time.Timer
	last  time.Time // of the last large read or write
	pace  int       // of the collector before the burst
}

const (
	burstLeast = 256 << 10 // bytes of one read or write
	burstPace  = 400       // see debug.SetGCPercent
	burstLasts = time.Second
)

// observe begins a burst with an event, or lets it go on.
func (b *burst) observe(e term.Event) {
	moves := e.Verb == term.VerbFileRead || e.Verb == term.VerbFileWrite
	if !moves || e.Size < burstLeast || e.PartOf.Copy != "" { // a copy keeps its blocks
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = time.Now()
	if b.timer != nil {
		return
	}
	b.pace = debug.SetGCPercent(burstPace)
	b.timer = time.AfterFunc(burstLasts, b.end)
}

// end ends the burst if its time is over, and gives its memory back.
func (b *burst) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if rest := burstLasts - time.Since(b.last); rest > 0 {
		b.timer.Reset(rest)
		return
	}
	b.timer = nil
	debug.SetGCPercent(b.pace)
	debug.FreeOSMemory()
}
