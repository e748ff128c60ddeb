package app

import (
	"math"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"ptyctl/internal/gcburst"
	"ptyctl/session"
	"ptyctl/term"
)

// The memory that the program may take: a base, and a share for each session besides the output that is kept. A session
// takes some 100 KiB; the rest of its share is for its garbage.
const (
	memoryFloor   = 44 << 20 // the limit is never lower, unless a control group's is
	memoryBesides = 28 << 20 // and it is never lower than this besides the output kept
	memoryBase    = 8 << 20
	memorySession = 108 << 10
	memoryEnded   = 12 << 10 // of a session that has ended and is still kept
	memoryStep    = 4 << 20  // a smaller change is not worth stopping the program for

	groupStep  = 1 << 20 // the same where a control group has a limit
	groupEvery = time.Second
)

// A memoryBudget makes the garbage collector work harder before the program takes more than it may. By default Go lets
// the heap grow to twice the memory in use, which with a thousand sessions is more than all of them take, and knows
// nothing of control groups.
type memoryBudget struct {
	group    *group
	ours     bool             // the environment leaves the collector's pace to this program, too
	sessions *session.Manager // set before the first event
	hosts    atomic.Int64     // that are connected to for commands on many
	buffered atomic.Int64     // when the limit was last set
	limit    atomic.Int64
	ceiling  atomic.Int64 // of the control group
	looked   atomic.Int64 // when ceiling was read, in Unix nanoseconds
	burst    gcburst.Burst
}

// newMemoryBudget returns nil if the environment sets the limit. limited is whether the group has one.
func newMemoryBudget(g *group, limited bool) *memoryBudget {
	if os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	b := &memoryBudget{group: g, ours: os.Getenv("GOGC") == ""}
	b.ceiling.Store(math.MaxInt64)
	b.limit.Store(math.MaxInt64)
	if !limited {
		if !b.ours {
			return nil
		}
		b.group = nil
		return b
	}
	b.look()
	b.set(memoryFloor)
	return b
}

// Observe implements term.Observer.
func (b *memoryBudget) Observe(e term.Event) {
	if b.ours {
		b.burst.Observe(e)
	}
	if e.Fleet != "" {
		switch { // a host of a run takes as much as a session, from its opening to its end
		case e.Verb == term.VerbOpen && e.Outcome() == nil:
			b.hosts.Add(1)
		case e.Verb == term.VerbState && session.State(e.State).Ended():
			b.hosts.Add(-1)
		default:
			return
		}
	}
	looked := b.group != nil && time.Now().UnixNano()-b.looked.Load() > int64(groupEvery)
	if looked {
		b.look()
	}
	buffered := b.sessions.Buffered()
	if change := buffered - b.buffered.Load(); !looked && e.Verb == term.VerbOutput && -memoryStep < change &&
		change < memoryStep {
		return
	}
	b.buffered.Store(buffered)
	b.set(memoryLimit(b.sessions.Live()+int(b.hosts.Load()), b.sessions.Ended(), buffered))
}

// look reads the limit of the control group.
func (b *memoryBudget) look() {
	b.looked.Store(time.Now().UnixNano())
	if most, ok := b.group.ceiling(); ok {
		b.ceiling.Store(most)
	}
}

// set sets the limit that the sessions need, as far as the control group allows it.
func (b *memoryBudget) set(limit int64) {
	step := int64(memoryStep)
	if b.group != nil {
		step = groupStep
	}
	if !b.ours {
		limit = math.MaxInt64
	}
	limit = min(limit, b.ceiling.Load())
	if change := limit - b.limit.Load(); -step < change && change < step {
		return
	}
	b.limit.Store(limit)
	debug.SetMemoryLimit(limit)
}

// memoryLimit is the limit for this many sessions that live and that have ended, which keep this many bytes of output.
// A program with one session takes some 13 MiB besides its output. A limit of memoryBase besides it is below that: the
// collector then never stops, and takes half of the time.
func memoryLimit(live, ended int, buffered int64) int64 {
	besides := memoryBase + int64(live)*memorySession + int64(ended)*memoryEnded
	return max(memoryFloor, max(memoryBesides, besides)+buffered)
}
