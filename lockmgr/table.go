package lockmgr

import (
	"sync"
	"time"
)

// Lease is one grant of a key to a holder of type H. A copy of it does not change; ask
// the Table for the present state.
type Lease[H comparable] struct {
	Key     string
	Holder  H
	Epoch   uint64    // of this grant, at least 1; later grants have greater epochs
	Expires time.Time // the first instant at which the lease is dead
}

// Table holds the leases of any number of keys. Holders are compared with ==, and the
// zero H means no holder. The zero value of a Table is ready to use, and all methods are
// safe for concurrent use. A Table must not be copied.
type Table[H comparable] struct {
	mu     sync.Mutex // guards the following
	leases map[string]Lease[H]
	epoch  uint64 // of the newest grant for any key, so that it survives the removal of keys
}

// Acquire grants the key to holder for ttl from now. If holder has the live lease, it is
// extended under the same epoch, as by Renew. If another holder has it, the error is a
// *HeldError.
func (t *Table[H]) Acquire(key string, holder H, ttl time.Duration) (Lease[H], error) {
	if err := validate("acquire", key, holder, ttl); err != nil {
		return Lease[H]{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	l, ok := t.live(key, now)
	switch {
	case !ok:
		return t.grant(key, holder, now.Add(ttl)), nil
	case l.Holder != holder:
		return Lease[H]{}, &HeldError[H]{Lease: l}
	default:
		return t.extend(l, now.Add(ttl)), nil
	}
}

// Renew extends the live lease of holder to at least ttl from now; it never shortens a
// lease. The error is a *HeldError if another holder has the lease, and wraps ErrNotHeld
// if no holder has it. Renew must not revive an expired lease, because another holder may
// have acted since the expiry.
func (t *Table[H]) Renew(key string, holder H, ttl time.Duration) (Lease[H], error) {
	if err := validate("renew", key, holder, ttl); err != nil {
		return Lease[H]{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	l, err := t.heldBy("renew", key, holder, now)
	if err != nil {
		return Lease[H]{}, err
	}
	return t.extend(l, now.Add(ttl)), nil
}

// Release ends the live lease of holder. The error is a *HeldError if another holder has
// it, and wraps ErrNotHeld if no holder has it.
func (t *Table[H]) Release(key string, holder H) error {
	if err := validateHolder("release", key, holder); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := t.heldBy("release", key, holder, time.Now()); err != nil {
		return err
	}
	delete(t.leases, key)
	return nil
}

// TakeOver grants the key to holder for ttl from now, even if another holder has it. It
// returns the new lease and the live lease that it ended (the zero Lease if there was
// none). It is a new grant with a new epoch, even for the present holder.
//
// If Acquire would refuse the arguments with ErrInvalid, TakeOver changes nothing and
// returns two zero leases.
func (t *Table[H]) TakeOver(key string, holder H, ttl time.Duration) (lease, previous Lease[H]) {
	if validate("take over", key, holder, ttl) != nil {
		return Lease[H]{}, Lease[H]{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	previous, _ = t.live(key, now)
	return t.grant(key, holder, now.Add(ttl)), previous
}

// Pass makes to the holder of from's live lease, which goes on: its epoch and its expiry stay. It is for a holder that
// goes by another name from now on. An act under the old name is refused from now on, also by CheckEpoch. The error is
// a *HeldError if another holder has the lease, and wraps ErrNotHeld if no holder has it.
func (t *Table[H]) Pass(key string, from, to H) (Lease[H], error) {
	if err := validateHolder("pass", key, from); err != nil {
		return Lease[H]{}, err
	}
	if err := validateHolder("pass", key, to); err != nil {
		return Lease[H]{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	l, err := t.heldBy("pass", key, from, time.Now())
	if err != nil {
		return Lease[H]{}, err
	}
	l.Holder = to
	t.leases[key] = l
	return l, nil
}

// Get returns the live lease of the key, and whether there is one.
func (t *Table[H]) Get(key string) (Lease[H], bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.live(key, time.Now())
}

// Drop removes the key and its lease, because the thing that it names has ended.
func (t *Table[H]) Drop(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.leases, key)
}

// live returns the live lease of the key and removes a dead one. Requires t.mu.
func (t *Table[H]) live(key string, now time.Time) (Lease[H], bool) {
	l, ok := t.leases[key]
	if ok && !now.Before(l.Expires) {
		delete(t.leases, key)
		return Lease[H]{}, false
	}
	return l, ok
}

// heldBy returns the live lease of holder, or the reason for its absence. Requires
// t.mu.
func (t *Table[H]) heldBy(op, key string, holder H, now time.Time) (Lease[H], error) {
	l, ok := t.live(key, now)
	switch {
	case !ok:
		return Lease[H]{}, notHeld(op, key)
	case l.Holder != holder:
		return Lease[H]{}, &HeldError[H]{Lease: l}
	default:
		return l, nil
	}
}

// grant creates a new lease, which replaces any other. Requires t.mu.
func (t *Table[H]) grant(key string, holder H, expires time.Time) Lease[H] {
	if t.leases == nil {
		t.leases = make(map[string]Lease[H])
	}
	t.epoch++
	l := Lease[H]{Key: key, Holder: holder, Epoch: t.epoch, Expires: expires}
	t.leases[key] = l
	return l
}

// extend moves the expiry of a live lease, but never back. Requires t.mu.
func (t *Table[H]) extend(l Lease[H], expires time.Time) Lease[H] {
	if expires.After(l.Expires) {
		l.Expires = expires
		t.leases[l.Key] = l
	}
	return l
}
