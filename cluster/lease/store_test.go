package lease_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/lease"
	"ptyctl/devlock"
	"ptyctl/devlock/locktest"
)

// open opens a node's store, and closes it with the test.
func open(tb testing.TB, o lease.Options) *lease.Store {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	o.Timeout = time.Minute
	s, err := lease.Open(ctx, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_ = s.Close(ctx) // the servers may be gone
	})
	return s
}

// The Store passes the tests that the file lock passes, on one server and on three.
func TestStore(t *testing.T) {
	for name, n := range map[string]int{"single": 1, "cluster": 3} {
		t.Run(name, func(t *testing.T) {
			urls := natstest.URLs(natstest.Start(t, n))
			locktest.Run(t, func(t testing.TB) (one, other devlock.Store) {
				bucket := "t" + strings.NewReplacer("/", "-").Replace(t.Name())
				return open(t, lease.Options{Servers: urls, Node: "a", Bucket: bucket}),
					open(t, lease.Options{Servers: urls, Node: "b", Bucket: bucket})
			})
		})
	}
}

// The node is in the error, so that a caller learns where the device is.
func TestNodeOfOwner(t *testing.T) {
	urls := natstest.URLs(natstest.Start(t, 1))
	a := open(t, lease.Options{Servers: urls, Node: "a"})
	b := open(t, lease.Options{Servers: urls, Node: "b"})
	l, err := a.Acquire(t.Context(), "rack1", devlock.Owner{PID: 7, Session: "s1", Node: "a lie"})
	if err != nil || l.Owner().Node != "a" || l.Token() == 0 {
		t.Fatalf("Acquire = %+v, %v", l, err)
	}
	_, err = b.Acquire(t.Context(), "rack1", devlock.Owner{Session: "s2"})
	if held, ok := errors.AsType[*devlock.HeldError](err); !ok || held.Owner.Node != "a" || !strings.Contains(err.Error(), `of node "a"`) {
		t.Errorf("Acquire = %v, want the owner's node", err)
	}
	if h, err := b.Lookup(t.Context(), "rack1"); err != nil || h.MayBeStale || h.Owner.Node != "a" {
		t.Errorf("Lookup = %+v, %v", h, err)
	}
	for _, c := range []struct {
		s      *lease.Store
		device string
		here   bool
		most   time.Duration
	}{{a, "rack1", true, 30 * time.Second}, {b, "rack1", false, 30 * time.Second}, {b, "rack2", false, 0}} {
		in, here, err := c.s.Expires(t.Context(), c.device)
		if err != nil || here != c.here || in > c.most || (in == 0) != (c.most == 0) {
			t.Errorf("Expires(%s) = %v, %v, %v; want at most %v, %v", c.device, in, here, err, c.most, c.here)
		}
	}
	if err := b.Renew(t.Context(), l); err == nil || !strings.Contains(err.Error(), "another store's") {
		t.Errorf("Renew at the other store = %v", err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := l.Check(); err == nil {
		t.Error("a lease outlives its store")
	}
	if _, err := b.Acquire(t.Context(), "rack1", devlock.Owner{Session: "s2"}); err != nil { // at once, and not after the TTL
		t.Error(err)
	}
	if _, err := a.Acquire(t.Context(), "rack2", devlock.Owner{}); err == nil {
		t.Error("a closed store has acquired a device")
	}
	for range 20 {
		if err := a.Release(t.Context(), l); err != nil {
			t.Errorf("Release after Close = %v", err)
		}
	}
	if err := a.Close(t.Context()); err != nil {
		t.Errorf("a second Close = %v", err)
	}
}
