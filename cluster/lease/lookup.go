package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/devlock"
)

// Lookup implements devlock.Store. The leader of the servers is asked, and if it gives no answer, any server: their copy
// may be older. A leader that hears no majority of the servers may have been replaced, so its answer may be stale, too.
func (s *Store) Lookup(ctx context.Context, device string) (devlock.Holding, error) {
	if err := context.Cause(ctx); err != nil {
		return devlock.Holding{}, fmt.Errorf("lease: %w", err)
	}
	key, err := keyOf(device)
	if err != nil {
		return devlock.Holding{}, err
	}
	began := time.Now()
	whole, work, cancel := s.bound(ctx)
	defer cancel()
	switch h, ok, err := s.own(work, device); {
	case err != nil:
		return devlock.Holding{}, s.notDone(whole, "lookup", device, began, err)
	case ok:
		return h, nil
	}
	e, failed := s.read(work, key)
	if failed == nil {
		ok, err := s.bucket.Majority(work)
		return e.holding(device, err != nil || !ok), nil
	}
	some, err := s.kv.Get(work, key)
	switch {
	case err == nil:
		return newEntry(some.Value(), false, some.Revision()).holding(device, true), nil
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return devlock.Holding{Device: device, MayBeStale: true}, nil
	}
	return devlock.Holding{}, s.unavailable(whole, "lookup", device, began, failed)
}

// Expires returns how long the lease of a device lasts at most without a renewal, by the clock of the servers; 0: the
// device has no lease, or it has ended. here says that this Store has it.
func (s *Store) Expires(ctx context.Context, device string) (in time.Duration, here bool, err error) {
	key, err := keyOf(device)
	if err != nil {
		return 0, false, err
	}
	began := time.Now()
	whole, work, cancel := s.bound(ctx)
	defer cancel()
	if _, here, err = s.own(work, device); err != nil {
		return 0, false, s.notDone(whole, "lookup", device, began, err)
	}
	e, err := s.bucket.Read(work, key)
	if err == nil && e.Held() {
		var now time.Time
		if now, err = s.bucket.Now(work); err == nil {
			in = min(max(s.o.TTL-now.Sub(e.Time), 0), s.o.TTL)
		}
	}
	if err != nil {
		return 0, here, s.unavailable(whole, "lookup", device, began, err)
	}
	return in, here, nil
}

// own returns the holding of a device that this Store has: no other Store can have it.
func (s *Store) own(ctx context.Context, device string) (h devlock.Holding, ok bool, err error) {
	err = s.renewals.do(ctx, func() {
		for l, mine := range s.renewals.held {
			if l.Device() == device && l.Check() == nil {
				h, ok = devlock.Holding{Device: device, Held: true, Owner: l.Owner(), Token: l.Token(), Heir: mine.value.Heir}, true
			}
		}
	})
	return h, ok, err
}

// Watch implements devlock.Store. The servers report each change, also that a lease has expired. A watcher that cannot
// reach them for longer than a lease lasts may miss a change, and sees the next one.
func (s *Store) Watch(ctx context.Context, device string) (<-chan devlock.Holding, error) {
	key, err := keyOf(device)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	whole, work, done := s.bound(ctx)
	defer done()
	watching, stop := context.WithCancel(ctx)
	late := context.AfterFunc(work, stop)
	w, err := s.kv.Watch(watching, key)
	if inTime := late(); err == nil && !inTime {
		err = context.Cause(work)
		_ = w.Stop()
	}
	if err != nil {
		stop()
		return nil, s.unavailable(whole, "watch", device, began, err)
	}
	closed := context.AfterFunc(s.ctx, stop)
	states := make(chan devlock.Holding, 1)
	s.watches.Go(func() {
		defer close(states)
		defer stop()
		defer closed()
		defer func() { _ = w.Stop() }()
		follow(watching, w, device, states)
	})
	return states, nil
}

// follow sends each change that w reports until ctx ends.
func follow(ctx context.Context, w jetstream.KeyWatcher, device string, states chan devlock.Holding) {
	last, sent := devlock.Holding{Device: device}, false
	for {
		next := last
		select {
		case u, ok := <-w.Updates():
			switch {
			case !ok:
				return
			case u != nil: // nil: all values from before the watch have come
				next = newEntry(u.Value(), u.Operation() != jetstream.KeyValuePut, u.Revision()).holding(device, false)
			}
		case <-ctx.Done():
			return
		}
		if sent && next.Held == last.Held && next.Token == last.Token { // a renewal
			continue
		}
		last, sent = next, true
		select { // a state that was not received is outdated
		case <-states:
		default:
		}
		states <- next
	}
}
