package app

import (
	"os"
	"runtime/debug"
	"sync/atomic"

	"ptyctl/session"
	"ptyctl/term"
)

// The memory that the program may take: a base, and a share for each session besides the output that is kept. A session
// takes some 100 KiB; the rest of its share is for its garbage.
const (
	memoryFloor   = 44 << 20 // the limit is never lower
	memoryBase    = 8 << 20
	memorySession = 108 << 10
	memoryEnded   = 12 << 10 // of a session that has ended and is still kept
	memoryStep    = 4 << 20  // a smaller change is not worth stopping the program for
)

// A memoryBudget makes the garbage collector work harder before the program takes more than it may. By default Go lets
// the heap grow to twice the memory in use, which with a thousand sessions is more than all of them take.
type memoryBudget struct {
	sessions *session.Manager // set before the first event
	buffered atomic.Int64     // when the limit was last set
	limit    atomic.Int64
}

// newMemoryBudget returns nil if the environment sets the limit.
func newMemoryBudget() *memoryBudget {
	if os.Getenv("GOMEMLIMIT") != "" || os.Getenv("GOGC") != "" {
		return nil
	}
	return &memoryBudget{}
}

// Observe implements term.Observer.
func (b *memoryBudget) Observe(e term.Event) {
	buffered := b.sessions.Buffered()
	if change := buffered - b.buffered.Load(); e.Verb == term.VerbOutput && -memoryStep < change &&
		change < memoryStep {
		return
	}
	b.buffered.Store(buffered)
	limit := memoryLimit(b.sessions.Live(), b.sessions.Ended(), buffered)
	if change := limit - b.limit.Load(); -memoryStep < change && change < memoryStep {
		return
	}
	b.limit.Store(limit)
	debug.SetMemoryLimit(limit)
}

// memoryLimit is the limit for this many sessions that live and that have ended, which keep this many bytes of output.
func memoryLimit(live, ended int, buffered int64) int64 {
	return max(memoryFloor, memoryBase+int64(live)*memorySession+int64(ended)*memoryEnded+buffered)
}
