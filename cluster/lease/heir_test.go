package lease_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/lease"
	"ptyctl/devlock"
)

// left returns for how long a former owner may count on a device, as the error of Acquire says; 0: it does not say that.
func left(err error) time.Duration {
	held, ok := errors.AsType[*devlock.HeldError](err)
	if !ok {
		return 0
	}
	return held.Left
}

// A device that was not given back has no owner for the length of a lease after its key has expired: the servers'
// clocks may have jumped, and its former owner may be cut off. Then it is free for all. A device that was given back is
// free at once.
func TestHeir(t *testing.T) {
	t.Parallel()
	const ttl = 6 * time.Second // an heir with much to do beside it must not lose the key
	urls := natstest.URLs(natstest.Start(t, 1))
	var cut atomic.Bool
	o := lease.Options{Servers: []string{natstest.Proxy(t, urls[0], &cut)}, Node: "owner", Bucket: "heirs", TTL: ttl}
	owner := open(t, o)
	o.Servers = urls
	var nodes []*lease.Store
	for _, o.Node = range []string{"a", "b", "c"} {
		nodes = append(nodes, open(t, o))
	}
	a, b, c := nodes[0], nodes[1], nodes[2]
	acquire := func(s *lease.Store) (*devlock.Lease, error) {
		return s.Acquire(t.Context(), "rack1", devlock.Owner{Session: "s"})
	}
	first, err := acquire(owner)
	if err != nil {
		t.Fatal(err)
	}
	cut.Store(true)
	began := time.Now()
	natstest.Eventually(t, "the key has expired, and a waits", func() bool {
		_, err = acquire(a)
		return left(err) > 0
	})
	if took := time.Since(began); first.Check() == nil || took < ttl/2 {
		t.Errorf("after %v the key has expired; the lease: %v", took, first.Check())
	}
	if want := ttl - ttl/6; left(err) < want || !strings.Contains(err.Error(), "was not given back by its former owner") {
		t.Errorf("Acquire of the heir = %v, want %v", err, want)
	}
	for name, s := range map[string]*lease.Store{"a": a, "b": b} {
		if _, err := acquire(s); left(err) == 0 {
			t.Errorf("while a waits, Acquire at %s = %v", name, err)
		}
		if h, err := s.Lookup(t.Context(), "rack1"); err != nil || !h.Held || !h.Heir || h.Owner.Node != "a" {
			t.Errorf("while a waits, Lookup at %s = %+v, %v", name, h, err)
		}
	}
	// An heir that leaves has not waited long enough: the next one waits the whole time.
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
	natstest.Eventually(t, "the key of a has expired, and b waits", func() bool {
		_, err = acquire(b)
		return left(err) == ttl-ttl/6+ttl/1000 && strings.Contains(holder(t, c), "b")
	})
	var l *devlock.Lease
	natstest.Eventually(t, "b gives it back", func() bool {
		if l, err = acquire(c); err != nil && left(err) == 0 {
			t.Fatal(err)
		}
		return err == nil
	})
	if err := c.Release(t.Context(), l); err != nil {
		t.Error(err)
	}
	if _, err := acquire(b); err != nil {
		t.Errorf("after it was given back: %v", err)
	}
}

// holder returns the node that has rack1.
func holder(t *testing.T, s *lease.Store) string {
	t.Helper()
	h, err := s.Lookup(t.Context(), "rack1")
	if err != nil {
		t.Fatal(err)
	}
	return h.Owner.Node
}
