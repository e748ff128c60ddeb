//go:build unix

package sessiontest_test

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"ptyctl/session"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/term"
)

// TestOpenWithoutDescriptors: a session that would have no descriptors is refused before its dialer is called.
func TestOpenWithoutDescriptors(t *testing.T) {
	dialed := 0
	dial := func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
		dialed++
		return nil, errors.New("no host is needed")
	}
	m := sessiontest.Manage(t, dial, session.Config{})
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, err := m.Open(t.Context(), session.OpenRequest{Target: term.Target{Protocol: "test"}})
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limited := term.FactOf[term.LimitReached](err).Limit
	if !errors.Is(err, term.LimitExceeded) || limited != term.LimitDescriptors || dialed != 0 {
		t.Errorf("Open without descriptors = %v after %d dials, want LimitDescriptors after none", err, dialed)
	}
	if m.Live() != 0 {
		t.Errorf("Live = %d after a refused Open, want 0", m.Live())
	}
	if _, err := m.Open(t.Context(), session.OpenRequest{Target: term.Target{Protocol: "test"}}); dialed != 1 {
		t.Errorf("Open with descriptors = %v after %d dials, want a dial", err, dialed)
	}
}

// A settler is an Observer that gives back the descriptors of sessions that have ended.
type settler struct {
	term.ObserverFunc
	settle func(ctx context.Context)
}

func (s settler) Settle(ctx context.Context) { s.settle(ctx) }

// TestOpenSettles: an open that finds no descriptors waits for those of sessions that have ended.
func TestOpenSettles(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
	})
	none := limit
	none.Cur = 0
	dialed, settled := 0, 0
	dial := func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
		dialed++
		return nil, errors.New("no host is needed")
	}
	m := sessiontest.Manage(t, dial, session.Config{Observers: []term.Observer{settler{
		func(term.Event) {},
		func(context.Context) {
			settled++
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
				t.Error(err)
			}
		},
	}}})
	for want := range 2 { // the first one has descriptors
		if _, err := m.Open(t.Context(), session.OpenRequest{Target: term.Target{Protocol: "test"}}); dialed != want+1 || settled != want {
			t.Errorf("Open = %v after %d dials, and settled %d times, want %d and %d", err, dialed, settled, want+1, want)
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
			t.Fatal(err)
		}
	}
}
