package app

import (
	"context"
	"math"
	"net"
	"runtime/debug"
	"testing"

	"ptyctl/internal/bufpipe"
	"ptyctl/session"
	"ptyctl/term"
)

type terminal struct{ net.Conn }

func (terminal) Resize(int, int) error { return nil }

// The limit must follow the sessions' memory, up and down.
func TestMemoryBudget(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "")
	t.Setenv("GOGC", "")
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	debug.SetMemoryLimit(math.MaxInt64)
	limit := func() int64 { return debug.SetMemoryLimit(-1) }

	b := newMemoryBudget(&group{}, false)
	m := session.NewManager(session.Config{
		MaxSessions: 2000, Observers: []term.Observer{b},
		Dialers: map[string]term.Dialer{
			"fake": func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
				near, _ := bufpipe.New(0)
				return terminal{near}, nil
			},
		},
	})
	defer m.Close(t.Context())
	b.sessions = m
	for range 1000 {
		if _, err := m.Open(t.Context(), session.OpenRequest{Target: term.Target{Protocol: "fake", Host: "h"}}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := limit(), int64(memoryBase+1000*memorySession); got < want-memoryStep || got > want+memoryStep {
		t.Errorf("with 1000 sessions: %d, want %d", got, want)
	}
	m.Close(t.Context())
	b.Observe(term.Event{Verb: term.VerbClose})
	if got := limit(); got > memoryFloor+memoryStep {
		t.Errorf("with none: %d", got)
	}
	if got, want := memoryLimit(1000, 500,
		100<<20), int64(memoryBase+1000*memorySession+500*memoryEnded+(100<<20)); got != want {
		t.Errorf("with 100 MiB of output: %d, want %d", got, want)
	}
	// The collector never stops if the limit leaves too little besides the output.
	if got, want := memoryLimit(1, 0, 32<<20), int64(memoryBesides+32<<20); got != want {
		t.Errorf("with one session that keeps 32 MiB of output: %d, want %d", got, want)
	}

	t.Setenv("GOMEMLIMIT", "1GiB")
	if newMemoryBudget(&group{}, false) != nil {
		t.Error("GOMEMLIMIT is the user's to set")
	}
}
