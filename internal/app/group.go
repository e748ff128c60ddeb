package app

import (
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/config"
	"ptyctl/internal/cgroup"
	"ptyctl/term"
)

// The parts of a control group's memory. The system ends a process of the group when all of it is used, so the parts
// that have limits are sized to leave room for the rest: sessions, calls in progress and local programs.
const (
	outputPart  = 4   // of all sessions and commands together
	messagePart = 32  // of one message, and of all large ones in flight
	keptPart    = 128 // of one session
	answerPart  = 512 // of one result, one stream of a command, one file; while it is made it takes eight times as much
	leastPart   = 64 << 10

	callBytes  = 4 << 20 // for each call in progress
	leastCalls = 16

	roomPart  = 16 // must be free before a session opens
	sparePart = 8  // is left to others by the garbage collector
)

// FitMemory lowers the limits of a configuration that a control group's memory limit does not allow for, and returns
// that limit, in bytes; 0 without one.
func FitMemory(cfg *config.Config) int64 {
	l, ok := cgroup.Memory()
	if !ok {
		return 0
	}
	fit(cfg, l.Max)
	return l.Max
}

// fit is FitMemory for a limit of most bytes.
func fit(cfg *config.Config, most int64) {
	for _, limit := range []struct {
		bytes *int
		part  int64
	}{
		{&cfg.Limits.MaxTotalBufferBytes, outputPart},
		{&cfg.Limits.MaxMessageBytes, messagePart},
		{&cfg.Session.OutputBufferMaxBytes, keptPart},
		{&cfg.Limits.MaxReadBytes, answerPart},
		{&cfg.Limits.MaxExecOutputBytes, answerPart},
		{&cfg.FS.MaxReadBytes, answerPart},
	} {
		*limit.bytes = int(min(int64(*limit.bytes), max(most/limit.part, leastPart)))
	}
	cfg.Limits.MaxInFlight = int(min(int64(cfg.Limits.MaxInFlight), max(most/callBytes, leastCalls)))
}

// A group is the control group with the least memory left below its limit. The zero value has no limit.
type group struct {
	left func() (cgroup.Limit, bool) // nil: none

	free atomic.Int64 // when room last found that the group has no limit, in nanoseconds of start; 0: never

	mu sync.Mutex // held while memory is given back, so that many refused calls do it once at a time
}

// freeFor is how long a group without a limit counts as one. To find its files takes a tenth of the time in which a
// program starts.
const freeFor = time.Second

// start is when this process began.
var start = time.Now()

// room refuses another session while there is too little memory for it. Without memory, the system may end this
// process, with all sessions.
func (g *group) room() error {
	if g.left == nil {
		return nil
	}
	now := int64(time.Since(start))
	if free := g.free.Load(); free != 0 && now-free < int64(freeFor) {
		return nil
	}
	l, ok := g.left()
	if !ok {
		g.free.Store(now)
	}
	if !ok || !FullGroup(l) {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	debug.FreeOSMemory()
	if l, ok = g.left(); !ok || !FullGroup(l) {
		return nil
	}
	return &term.Error{
		Op: "open", Kind: term.LimitExceeded, Reason: term.ReasonMemory,
		Msg: fmt.Sprintf("there is no memory for another session: %d of %d MiB of the control group are used",
			l.Used>>20, l.Max>>20),
		Advice: "end sessions and programs, or raise the limit (memory.max of the container)",
		Facts:  term.Facts{term.LimitReached{Limit: term.LimitGroupMemory, Value: l.Max}},
	}
}

// FullGroup reports whether there is too little memory for another session.
func FullGroup(l cgroup.Limit) bool { return l.Left() < l.Max/roomPart }

// ceiling returns the most memory that the Go runtime may take, in bytes, and leaves enough of the group's for other
// processes. It reports false without a limit.
func (g *group) ceiling() (most int64, ok bool) {
	if g.left == nil {
		return 0, false
	}
	l, ok := g.left()
	if !ok {
		return 0, false
	}
	taken := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(taken)
	own := int64(taken[0].Value.Uint64() - taken[1].Value.Uint64()) //nolint:gosec // it is no more than there is memory
	return max(own+l.Left()-l.Max/sparePart, l.Max/outputPart), true
}
