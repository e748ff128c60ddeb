package app

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"sync/atomic"
	"testing"

	"ptyctl/config"
	"ptyctl/internal/bufpipe"
	"ptyctl/internal/cgroup"
	"ptyctl/session"
	"ptyctl/term"
)

// The limits of a configuration fit into the group's memory, and a small configuration stays as it is.
func TestFit(t *testing.T) {
	defaults := config.Default()
	for _, c := range []struct{ most, output, session, message, answer, calls int }{
		{1 << 40, 256 << 20, 2 << 20, 8 << 20, 1 << 20, 256},
		{256 << 20, 64 << 20, 2 << 20, 8 << 20, 512 << 10, 64},
		{64 << 20, 16 << 20, 512 << 10, 2 << 20, 128 << 10, 16},
		{1 << 20, 256 << 10, 64 << 10, 64 << 10, 64 << 10, 16},
	} {
		cfg := defaults
		fit(&cfg, int64(c.most))
		l := cfg.Limits
		if l.MaxTotalBufferBytes != c.output || l.MaxMessageBytes != c.message || l.MaxReadBytes != c.answer ||
			l.MaxExecOutputBytes != c.answer || l.MaxInFlight != c.calls || cfg.Session.OutputBufferMaxBytes != c.session ||
			cfg.FS.MaxReadBytes > c.answer {
			t.Errorf("limits in %d bytes = %+v, want %+v", c.most, l, c)
		}
	}
	small := defaults
	small.Limits.MaxTotalBufferBytes, small.Limits.MaxReadBytes = 65536, 1024
	fit(&small, 64<<20)
	if l := small.Limits; l.MaxTotalBufferBytes != 65536 || l.MaxReadBytes != 1024 {
		t.Errorf("limits of a small configuration = %+v, want them unchanged", l)
	}
}

// Without room a session is refused, and with room again it opens. The collector's limit follows the memory use of
// others.
func TestFullGroup(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "")
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	debug.SetMemoryLimit(math.MaxInt64)
	var limit atomic.Pointer[cgroup.Limit] // sessions look at it, too
	limit.Store(&cgroup.Limit{Max: 1 << 30, Used: 1 << 20})
	g := &group{left: func() (cgroup.Limit, bool) { return *limit.Load(), true }}
	b := newMemoryBudget(g, true)
	m := session.NewManager(session.Config{
		Room: g.room, Observers: []term.Observer{b},
		Dialers: map[string]term.Dialer{
			"fake": func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
				near, _ := bufpipe.New(0)
				return terminal{near}, nil
			},
		},
	})
	defer m.Close(t.Context())
	b.sessions = m
	open := func() error {
		_, err := m.Open(t.Context(), session.OpenRequest{Target: term.Target{Protocol: "fake", Host: "h"}})
		return err
	}
	if err := open(); err != nil {
		t.Fatal(err)
	}
	if got := debug.SetMemoryLimit(-1); got != memoryFloor {
		t.Errorf("limit with all memory left = %d, want %d", got, memoryFloor)
	}
	// The tests before have left memory that counts as this process's: an eighth of the limit is more than that.
	limit.Store(&cgroup.Limit{Max: 168 << 20, Used: 167 << 20})
	e, ok := errors.AsType[*term.Error](open())
	if !ok || e.Kind != term.LimitExceeded || e.Reason != term.ReasonMemory || e.Advice == "" ||
		term.FactOf[term.LimitReached](e) != (term.LimitReached{Limit: term.LimitGroupMemory, Value: 168 << 20}) {
		t.Errorf("open in a full group: %v, want LimitExceeded with the limit", e)
	}
	debug.FreeOSMemory()
	b.look()
	b.Observe(term.Event{Verb: term.VerbClose})
	if got := debug.SetMemoryLimit(-1); got > memoryFloor-groupStep {
		t.Errorf("limit in a full group = %d, want less than %d", got, memoryFloor)
	}
	limit.Store(&cgroup.Limit{Max: 168 << 20, Used: 1 << 20})
	if err := open(); err != nil {
		t.Errorf("open with room again: %v", err)
	}
}
