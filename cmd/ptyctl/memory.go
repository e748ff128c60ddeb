package main

import (
	"os"
	"runtime/debug"
	"sync/atomic"

	"ptyctl/session"
	"ptyctl/term"
)

// What the program may take: so much by itself, and for each session besides the output that is kept. A session takes
// some 100 KiB; the rest of its share is for what it leaves to the garbage collector.
const (
	memoryFloor   = 44 << 20 // below it nothing is limited
	memoryBase    = 8 << 20
	memorySession = 124 << 10
	memoryStep    = 4 << 20 // changes below this are not worth stopping the program
)

// A memoryBudget makes the garbage collector work harder before the program takes more than it may. By default Go lets
// the heap grow to twice of what is in use, which for a thousand sessions is more than all of them take.
type memoryBudget struct {
	sessions *session.Manager // set before the first event
	buffered atomic.Int64     // when the limit was last set
	limit    atomic.Int64
}

// newMemoryBudget returns nil if the limit is the environment's to say.
func newMemoryBudget() *memoryBudget {
	if os.Getenv("GOMEMLIMIT") != "" || os.Getenv("GOGC") != "" {
		return nil
	}
	return &memoryBudget{}
}

// Observe implements term.Observer.
func (b *memoryBudget) Observe(e term.Event) {
	buffered := b.sessions.Buffered()
	if change := buffered - b.buffered.Load(); e.Verb == term.VerbOutput && -memoryStep < change && change < memoryStep {
		return
	}
	b.buffered.Store(buffered)
	limit := memoryLimit(b.sessions.Live(), buffered)
	if change := limit - b.limit.Load(); -memoryStep < change && change < memoryStep {
		return
	}
	b.limit.Store(limit)
	debug.SetMemoryLimit(limit)
}

// memoryLimit is what so many sessions may take that keep so many bytes of output.
func memoryLimit(live int, buffered int64) int64 {
	return max(memoryFloor, memoryBase+int64(live)*memorySession+buffered)
}
