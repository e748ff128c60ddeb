// Package locktest has the tests that each devlock.Store must pass.
//
//	func TestStore(t *testing.T) {
//		locktest.Run(t, func(t testing.TB) (one, other devlock.Store) { ... })
//	}
package locktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/devlock"
)

// longest bounds each wait of a test that goes well.
const longest = 30 * time.Second

// Run tests the Stores that open makes: two that share their devices, as those of two processes do, with no device
// taken. What they need is cleaned up by open.
func Run(t *testing.T, open func(t testing.TB) (one, other devlock.Store)) {
	for name, test := range map[string]func(*testing.T, devlock.Store, devlock.Store){
		"owner":    oneOwner,
		"released": released,
		"ended":    afterEnd,
		"names":    names,
		"canceled": canceled,
		"race":     race,
		"watch":    watch,
	} {
		t.Run(name, func(t *testing.T) {
			one, other := open(t)
			test(t, one, other)
		})
	}
}

// owner is one who has a device for a session.
func owner(session string) devlock.Owner {
	return devlock.Owner{PID: 7, Socket: "/run/" + session + ".sock", Session: session, Started: time.Unix(1e9, 0).UTC()}
}

// within is the context of a call that must not take forever.
func within(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(tb.Context(), longest)
	tb.Cleanup(cancel)
	return ctx
}

func acquire(tb testing.TB, s devlock.Store, device, session string) *devlock.Lease {
	tb.Helper()
	l, err := s.Acquire(within(tb), device, owner(session))
	if err != nil {
		tb.Fatalf("Acquire(%q) for %s: %v", device, session, err)
	}
	return l
}

func release(tb testing.TB, s devlock.Store, l *devlock.Lease) {
	tb.Helper()
	if err := s.Release(within(tb), l); err != nil {
		tb.Errorf("Release(%q): %v", l.Device(), err)
	}
}

// heldBy fails the test unless a store refuses the device and names the session of its owner.
func heldBy(tb testing.TB, s devlock.Store, device, session string) {
	tb.Helper()
	_, err := s.Acquire(within(tb), device, owner("intruder"))
	held, ok := errors.AsType[*devlock.HeldError](err)
	if !ok || held.Device != device || held.Owner.Session != session || held.Owner.Socket != owner(session).Socket ||
		!held.Owner.Started.Equal(owner(session).Started) {
		tb.Fatalf("Acquire(%q) = %v, want a HeldError that names session %s", device, err, session)
	}
}

// A device has one owner, whoever asks, and everyone is told who it is.
func oneOwner(t *testing.T, one, other devlock.Store) {
	l := acquire(t, one, "rack1", "s1")
	if err := l.Check(); err != nil || l.Device() != "rack1" || l.Owner().Session != "s1" {
		t.Errorf("the lease is of %q for %+v, check %v", l.Device(), l.Owner(), err)
	}
	if err := one.Renew(within(t), l); err != nil {
		t.Errorf("Renew: %v", err)
	}
	for _, s := range []devlock.Store{one, other} {
		heldBy(t, s, "rack1", "s1")
		h, err := s.Lookup(within(t), "rack1")
		if err != nil || !h.Held || h.Owner.Session != "s1" || h.Token != l.Token() || h.Device != "rack1" {
			t.Errorf("Lookup = %+v, %v; want session s1 with token %d", h, err, l.Token())
		}
	}
	second := acquire(t, other, "rack2", "s2") // another device is free
	release(t, other, second)
	if err := l.Check(); err != nil {
		t.Errorf("after the release of another device: %v", err)
	}
	release(t, one, l)
	for _, s := range []devlock.Store{one, other} {
		if h, err := s.Lookup(within(t), "rack1"); err != nil || h.Held || h.Owner != (devlock.Owner{}) {
			t.Errorf("Lookup of a free device = %+v, %v", h, err)
		}
	}
}

// What was released is over for good, and can do nothing to the next owner.
func released(t *testing.T, one, other devlock.Store) {
	first := acquire(t, one, "rack1", "s1")
	release(t, one, first)
	lost := func(err error, what string) {
		t.Helper()
		if e, ok := errors.AsType[*devlock.LostError](err); !ok || e.Device != "rack1" || !errors.Is(err, devlock.ErrReleased) {
			t.Errorf("%s of a released lease = %v, want a LostError", what, err)
		}
	}
	lost(first.Check(), "Check")
	lost(one.Renew(within(t), first), "Renew")
	next := acquire(t, other, "rack1", "s2")
	if next.Token() < first.Token() || next.Token() == first.Token() && next.Token() != 0 {
		t.Errorf("the tokens are %d and then %d", first.Token(), next.Token())
	}
	release(t, one, first) // again
	lost(one.Renew(within(t), first), "Renew")
	heldBy(t, one, "rack1", "s2")
	if err := next.Check(); err != nil {
		t.Errorf("the next owner's lease: %v", err)
	}
	release(t, other, next)
	release(t, one, acquire(t, one, "rack1", "s3"))
}

// The end of a lease is told once, and not to those who want to hear no more.
func afterEnd(t *testing.T, one, _ devlock.Store) {
	l := acquire(t, one, "rack1", "s1")
	told := make(chan error, 3)
	l.AfterEnd(func(err error) { told <- err })
	if stop := l.AfterEnd(func(error) { told <- errors.New("stopped") }); !stop() {
		t.Error("stop found the lease ended")
	}
	select {
	case err := <-told:
		t.Fatalf("the end of a live lease was told: %v", err)
	default:
	}
	release(t, one, l)
	for _, when := range []string{"before", "after"} {
		select {
		case err := <-told:
			if !errors.Is(err, devlock.ErrReleased) {
				t.Errorf("who asked %s the end was told %v", when, err)
			}
		case <-time.After(longest):
			t.Fatalf("who asked %s the end was told nothing", when)
		}
		l.AfterEnd(func(err error) { told <- err })
	}
}

// A device may have any name.
func names(t *testing.T, one, other devlock.Store) {
	var leases []*devlock.Lease
	for i, name := range []string{
		"", ".", "..", "*", ">", "a.b", "a b", "../../etc/passwd", "a/b", "A/B", "\x00", "é", "\xff", "switch-001", strings.Repeat("x", 300),
	} {
		session := fmt.Sprint("s", i)
		leases = append(leases, acquire(t, one, name, session))
		heldBy(t, other, name, session)
	}
	for _, l := range leases {
		release(t, one, l)
	}
}

// A call whose time is over takes nothing.
func canceled(t *testing.T, one, other devlock.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if l, err := one.Acquire(ctx, "rack1", owner("s1")); err == nil || !errors.Is(err, context.Canceled) {
		t.Errorf("Acquire = %v, %v; want the error of its context", l, err)
	}
	if _, err := one.Lookup(ctx, "rack1"); !errors.Is(err, context.Canceled) {
		t.Errorf("Lookup = %v, want the error of its context", err)
	}
	release(t, other, acquire(t, other, "rack1", "s2"))
}

// Of many who want a device at once, one gets it, and the others are told who that is.
func race(t *testing.T, one, other devlock.Store) {
	const rounds, racers = 10, 20
	for round := range rounds {
		var mu sync.Mutex
		var winners []*devlock.Lease
		var by devlock.Store
		refused := make(map[string]int)
		var wg sync.WaitGroup
		for i := range racers {
			s := one
			if i%2 == 1 {
				s = other
			}
			wg.Go(func() {
				l, err := s.Acquire(within(t), "rack1", owner(fmt.Sprint(round, "-", i)))
				held, ok := errors.AsType[*devlock.HeldError](err)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					winners, by = append(winners, l), s
				case ok:
					refused[held.Owner.Session]++
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(winners) != 1 || refused[winners[0].Owner().Session] != racers-1 {
			t.Fatalf("round %d: %d owners; the others were refused for %v", round, len(winners), refused)
		}
		release(t, by, winners[0])
	}
}

// A watcher sees who has the device now, and each later owner.
func watch(t *testing.T, one, other devlock.Store) {
	ctx, stop := context.WithCancel(within(t))
	states, err := other.Watch(ctx, "rack1")
	if err != nil {
		t.Fatal(err)
	}
	var last devlock.Holding
	// An older state may still be on its way when the next is there.
	until := func(what string, is func(devlock.Holding) bool) {
		t.Helper()
		for {
			h, ok := <-states
			if !ok {
				t.Fatalf("the watch has ended before %s; last seen %+v", what, last)
			}
			if last = h; is(h) {
				return
			}
		}
	}
	until("the first state", func(h devlock.Holding) bool { return !h.Held })
	for i := range 3 {
		l := acquire(t, one, "rack1", fmt.Sprint("s", i))
		until("the owner is seen", func(h devlock.Holding) bool {
			return h.Held && h.Device == "rack1" && h.Owner.Session == l.Owner().Session && h.Token == l.Token()
		})
		if err := one.Renew(within(t), l); err != nil {
			t.Error(err)
		}
		release(t, one, l)
		until("the release is seen", func(h devlock.Holding) bool { return !h.Held })
	}
	l := acquire(t, one, "rack1", "kept")
	late, err := other.Watch(ctx, "rack1")
	if err != nil {
		t.Fatal(err)
	}
	if h := <-late; !h.Held || h.Owner.Session != "kept" {
		t.Errorf("a watch that begins late first sees %+v", h)
	}
	stop()
	for range states { // until it is closed
	}
	for range late {
	}
	release(t, one, l)
}
