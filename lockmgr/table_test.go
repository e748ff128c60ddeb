package lockmgr_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/lockmgr"
)

const (
	key = "web1"
	ttl = time.Minute
)

func acquire(t *testing.T, table *lockmgr.Table[string], key, holder string) lockmgr.Lease[string] {
	t.Helper()
	l, err := table.Acquire(key, holder, ttl)
	if err != nil {
		t.Fatalf("Acquire(%q, %q): %v", key, holder, err)
	}
	return l
}

// wantHeld fails the test unless err is a *HeldError with the expected lease.
func wantHeld(t *testing.T, what string, err error, lease lockmgr.Lease[string]) {
	t.Helper()
	held, ok := errors.AsType[*lockmgr.HeldError[string]](err)
	if !ok {
		t.Fatalf("%s: got error %v, want a *HeldError", what, err)
	}
	if held.Lease != lease {
		t.Errorf("%s: held by %+v, want %+v", what, held.Lease, lease)
	}
}

func wantIs(t *testing.T, what string, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: got error %v, want one that wraps %q", what, err, target)
	}
}

func TestOneHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table lockmgr.Table[string]
		want := lockmgr.Lease[string]{Key: key, Holder: "a", Epoch: 1, Expires: time.Now().Add(ttl)}
		if l := acquire(t, &table, key, "a"); l != want {
			t.Fatalf("Acquire: %+v, want %+v", l, want)
		}
		if l, ok := table.Get(key); !ok || l != want {
			t.Errorf("Get: %+v, %v, want %+v", l, ok, want)
		}

		_, err := table.Acquire(key, "b", ttl)
		wantHeld(t, "Acquire by b", err, want)
		_, err = table.Renew(key, "b", ttl)
		wantHeld(t, "Renew by b", err, want)
		wantHeld(t, "Release by b", table.Release(key, "b"), want)
		_, err = table.Check(key, "b")
		wantHeld(t, "Check by b", err, want)
		_, err = table.Check(key, "")
		wantHeld(t, "Check by nobody", err, want)
		wantHeld(t, "CheckEpoch by b with a's epoch", table.CheckEpoch(key, "b", want.Epoch), want)

		acquire(t, &table, "web2", "b") // another key is another lease

		if err := table.Release(key, "a"); err != nil {
			t.Fatalf("Release by a: %v", err)
		}
		wantIs(t, "second Release", table.Release(key, "a"), lockmgr.ErrNotHeld)
		if l, ok := table.Get(key); ok {
			t.Errorf("Get after Release: %+v", l)
		}
		if l := acquire(t, &table, key, "b"); l.Epoch <= want.Epoch {
			t.Errorf("epoch %d after %d", l.Epoch, want.Epoch)
		}
	})
}

func TestUnheld(t *testing.T) {
	var table lockmgr.Table[string]
	if l, ok := table.Get(key); ok || l != (lockmgr.Lease[string]{}) {
		t.Errorf("Get: %+v, %v", l, ok)
	}
	_, err := table.Renew(key, "a", ttl)
	wantIs(t, "Renew", err, lockmgr.ErrNotHeld)
	wantIs(t, "Release", table.Release(key, "a"), lockmgr.ErrNotHeld)
	wantIs(t, "CheckEpoch 1", table.CheckEpoch(key, "a", 1), lockmgr.ErrNotHeld)
	for _, holder := range []string{"a", ""} {
		if epoch, err := table.Check(key, holder); epoch != 0 || err != nil {
			t.Errorf("Check by %q: %d, %v, want 0 and no error", holder, epoch, err)
		}
		if err := table.CheckEpoch(key, holder, 0); err != nil {
			t.Errorf("CheckEpoch 0 by %q: %v", holder, err)
		}
	}
	table.Drop(key)
}

func TestExpiresExactlyAtTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table lockmgr.Table[string]
		first := acquire(t, &table, key, "a")

		time.Sleep(ttl - 1)
		if l, ok := table.Get(key); !ok || l != first {
			t.Errorf("one nanosecond before the TTL: %+v, %v", l, ok)
		}
		_, err := table.Acquire(key, "b", ttl)
		wantHeld(t, "one nanosecond before the TTL: Acquire by b", err, first)

		time.Sleep(time.Nanosecond)
		if l, ok := table.Get(key); ok {
			t.Errorf("at the TTL: still %+v", l)
		}
		_, err = table.Renew(key, "a", ttl)
		wantIs(t, "at the TTL: Renew", err, lockmgr.ErrNotHeld)
		wantIs(t, "at the TTL: Release", table.Release(key, "a"), lockmgr.ErrNotHeld)
		acquire(t, &table, key, "b")
	})
}

func TestExpiryIsSeenByEveryCall(t *testing.T) {
	calls := map[string]func(*testing.T, *lockmgr.Table[string]){
		"Acquire": func(t *testing.T, table *lockmgr.Table[string]) { acquire(t, table, key, "b") },
		"Renew": func(t *testing.T, table *lockmgr.Table[string]) {
			_, err := table.Renew(key, "b", ttl)
			wantIs(t, "Renew", err, lockmgr.ErrNotHeld)
		},
		"Release": func(t *testing.T, table *lockmgr.Table[string]) {
			wantIs(t, "Release", table.Release(key, "b"), lockmgr.ErrNotHeld)
		},
		"TakeOver": func(t *testing.T, table *lockmgr.Table[string]) {
			if _, previous := table.TakeOver(key, "b", ttl); previous != (lockmgr.Lease[string]{}) {
				t.Errorf("took over the dead lease %+v", previous)
			}
		},
		"Check": func(t *testing.T, table *lockmgr.Table[string]) {
			if epoch, err := table.Check(key, "b"); epoch != 0 || err != nil {
				t.Errorf("Check: %d, %v", epoch, err)
			}
		},
		"CheckEpoch": func(t *testing.T, table *lockmgr.Table[string]) {
			if err := table.CheckEpoch(key, "b", 0); err != nil {
				t.Error(err)
			}
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var table lockmgr.Table[string]
				acquire(t, &table, key, "a")
				time.Sleep(ttl)
				call(t, &table)
			})
		})
	}
}

func TestExtending(t *testing.T) {
	extend := map[string]func(*lockmgr.Table[string], time.Duration) (lockmgr.Lease[string], error){
		"Acquire": func(table *lockmgr.Table[string], d time.Duration) (lockmgr.Lease[string], error) {
			return table.Acquire(key, "a", d)
		},
		"Renew": func(table *lockmgr.Table[string], d time.Duration) (lockmgr.Lease[string], error) {
			return table.Renew(key, "a", d)
		},
	}
	for name, again := range extend {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var table lockmgr.Table[string]
				first := acquire(t, &table, key, "a")
				for range 5 { // well after the first TTL
					time.Sleep(ttl / 2)
					l, err := again(&table, ttl)
					if err != nil || l.Epoch != first.Epoch || !l.Expires.Equal(time.Now().Add(ttl)) {
						t.Fatalf("got %+v, %v, want epoch %d for a minute from now", l, err, first.Epoch)
					}
				}
				long, _ := table.Get(key)
				if l, err := again(&table, time.Second); err != nil || l != long {
					t.Errorf("a shorter TTL: %+v, %v, want %+v unchanged", l, err, long)
				}
				if l, err := again(&table, math.MaxInt64); err != nil || !l.Expires.After(long.Expires) {
					t.Errorf("the longest TTL: %+v, %v", l, err)
				}
			})
		})
	}
}

func TestTakeOver(t *testing.T) {
	var table lockmgr.Table[string]
	first, previous := table.TakeOver(key, "a", ttl)
	if first.Holder != "a" || first.Epoch == 0 || previous != (lockmgr.Lease[string]{}) {
		t.Errorf("of a free key: %+v, previous %+v", first, previous)
	}
	second, previous := table.TakeOver(key, "b", ttl)
	if second.Holder != "b" || second.Epoch <= first.Epoch || previous != first {
		t.Errorf("from another: %+v, previous %+v", second, previous)
	}
	wantHeld(t, "the loser's Release", table.Release(key, "a"), second)
	third, previous := table.TakeOver(key, "b", ttl)
	if third.Epoch <= second.Epoch || previous != second {
		t.Errorf("from oneself: %+v, previous %+v", third, previous)
	}
	for _, bad := range []struct {
		key, holder string
		ttl         time.Duration
	}{{"", "c", ttl}, {key, "", ttl}, {key, "c", 0}} {
		if l, previous := table.TakeOver(bad.key, bad.holder, bad.ttl); l != (lockmgr.Lease[string]{}) || previous != l {
			t.Errorf("TakeOver(%q, %q, %v): %+v, %+v, want two zero leases", bad.key, bad.holder, bad.ttl, l, previous)
		}
	}
	if l, ok := table.Get(key); !ok || l != third {
		t.Errorf("after refused ones: %+v, want %+v", l, third)
	}
}

func TestDrop(t *testing.T) {
	var table lockmgr.Table[string]
	first := acquire(t, &table, key, "a")
	table.Drop(key)
	if l, ok := table.Get(key); ok {
		t.Errorf("still %+v", l)
	}
	if second := acquire(t, &table, key, "a"); second.Epoch <= first.Epoch {
		t.Errorf("epoch %d after %d: a grant from before Drop would pass the fence", second.Epoch, first.Epoch)
	}
	wantIs(t, "the old grant", table.CheckEpoch(key, "a", first.Epoch), lockmgr.ErrNotHeld)
}

func TestInvalid(t *testing.T) {
	var table lockmgr.Table[string]
	held := acquire(t, &table, key, "a")
	discard := func(_ lockmgr.Lease[string], err error) error { return err }
	tests := map[string]struct {
		err  error
		says string
	}{
		"Acquire no key":       {discard(table.Acquire("", "a", ttl)), "the key is empty; pass"},
		"Acquire no holder":    {discard(table.Acquire(key, "", ttl)), "the holder is empty; pass"},
		"Acquire no TTL":       {discard(table.Acquire(key, "a", 0)), "the TTL is 0s; pass"},
		"Acquire negative TTL": {discard(table.Acquire(key, "a", -1)), "the TTL is -1ns; pass"},
		"Renew no key":         {discard(table.Renew("", "a", ttl)), "the key is empty; pass"},
		"Renew no holder":      {discard(table.Renew(key, "", ttl)), "the holder is empty; pass"},
		"Renew no TTL":         {discard(table.Renew(key, "a", 0)), "the TTL is 0s; pass"},
		"Release no key":       {table.Release("", "a"), "the key is empty; pass"},
		"Release no holder":    {table.Release(key, ""), "the holder is empty; pass"},
		"CheckEpoch no key":    {table.CheckEpoch("", "a", 1), "the key is empty; pass"},
		"CheckEpoch 0 no key":  {table.CheckEpoch("", "a", 0), "the key is empty; pass"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			wantIs(t, name, tt.err, lockmgr.ErrInvalid)
			if !strings.Contains(tt.err.Error(), tt.says) {
				t.Errorf("message %q does not say %q", tt.err, tt.says)
			}
		})
	}
	if l, ok := table.Get(key); !ok || l != held {
		t.Errorf("refused calls changed the lease to %+v", l)
	}
}

func TestHeldErrorNamesHolderAndExpiry(t *testing.T) {
	err := &lockmgr.HeldError[string]{Lease: lockmgr.Lease[string]{
		Key: key, Holder: "task-7", Epoch: 3, Expires: time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC),
	}}
	for _, want := range []string{`"web1"`, `"task-7"`, "2030-01-02T03:04:05Z"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not contain %s", err, want)
		}
	}
}

func TestOneWinner(t *testing.T) {
	var table lockmgr.Table[string]
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		winners []lockmgr.Lease[string]
		losers  []error
	)
	start := make(chan struct{})
	for i := range 100 {
		wg.Go(func() {
			<-start
			l, err := table.Acquire(key, fmt.Sprint("task-", i), ttl)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				losers = append(losers, err)
				return
			}
			winners = append(winners, l)
		})
	}
	close(start)
	wg.Wait()
	if len(winners) != 1 || len(losers) != 99 {
		t.Fatalf("%d winners and %d losers of 100", len(winners), len(losers))
	}
	for _, err := range losers {
		wantHeld(t, "a loser", err, winners[0])
	}
}

func TestEpochsAreUniqueUnderContention(t *testing.T) {
	var table lockmgr.Table[string]
	const holders, rounds = 8, 200
	epochs := make([][]uint64, holders)
	var wg sync.WaitGroup
	for i := range holders {
		wg.Go(func() {
			for range rounds {
				l, _ := table.TakeOver(key, fmt.Sprint("task-", i), ttl)
				epochs[i] = append(epochs[i], l.Epoch)
			}
		})
	}
	wg.Wait()
	seen := make(map[uint64]bool)
	for _, of := range epochs {
		for i, e := range of {
			if seen[e] {
				t.Fatalf("epoch %d granted twice", e)
			}
			seen[e] = true
			if i > 0 && e <= of[i-1] {
				t.Fatalf("epoch %d after %d", e, of[i-1])
			}
		}
	}
}
