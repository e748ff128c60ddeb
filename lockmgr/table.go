package lockmgr

import (
	"sync"
	"time"
)

// Lease is one grant of a key to a holder, an H. Copies of it do not change; ask the
// Table again for the present state.
type Lease[H comparable] struct {
	Key     string
	Holder  H
	Epoch   uint64    // of this grant, at least 1; later grants have greater ones
	Expires time.Time // the first instant at which the lease is no longer live
}

// Table holds the leases of any number of keys. A holder is an H: two holders are the
// same if they are equal, and the zero H is none. The zero value of a Table is ready for
// use; all methods may be called from any goroutine. A Table must not be copied.
type Table[H comparable] struct {
	mu     sync.Mutex // guards the following
	leases map[string]Lease[H]
	epoch  uint64 // of the newest grant, over all keys, so that no key need be remembered for it
}

// Acquire grants the key to holder for ttl from now. If holder has the live lease
// already, it is extended under the same epoch, as by Renew. If another has it, the
// error is a *HeldError.
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

// Renew makes the live lease of holder last for at least ttl from now; it never
// shortens one. The error is a *HeldError if another has the lease, and wraps
// ErrNotHeld if nobody has: what happened since the expiry is unknown, so a lease
// that died is not revived.
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

// Release ends the live lease of holder. The error is a *HeldError if another has
// it, and wraps ErrNotHeld if nobody has.
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

// TakeOver grants the key to holder for ttl from now, whoever has it, and returns
// with the new lease the live one it ended (the zero Lease if there was none). It
// is a new grant with a new epoch even for the present holder.
//
// Arguments that Acquire refuses as ErrInvalid change nothing: both leases
// returned are zero.
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

// Get returns the live lease of the key, and whether there is one.
func (t *Table[H]) Get(key string) (Lease[H], bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.live(key, time.Now())
}

// Drop forgets the key and its lease, because the thing it names is gone.
func (t *Table[H]) Drop(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.leases, key)
}

// live returns the live lease of the key and forgets a dead one. Requires t.mu.
func (t *Table[H]) live(key string, now time.Time) (Lease[H], bool) {
	l, ok := t.leases[key]
	if ok && !now.Before(l.Expires) {
		delete(t.leases, key)
		return Lease[H]{}, false
	}
	return l, ok
}

// heldBy returns the live lease of holder, or why there is none. Requires t.mu.
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

// grant makes a new lease in place of any other. Requires t.mu.
func (t *Table[H]) grant(key string, holder H, expires time.Time) Lease[H] {
	if t.leases == nil {
		t.leases = make(map[string]Lease[H])
	}
	t.epoch++
	l := Lease[H]{Key: key, Holder: holder, Epoch: t.epoch, Expires: expires}
	t.leases[key] = l
	return l
}

// extend moves the expiry of a live lease, only ever forward. Requires t.mu.
func (t *Table[H]) extend(l Lease[H], expires time.Time) Lease[H] {
	if expires.After(l.Expires) {
		l.Expires = expires
		t.leases[l.Key] = l
	}
	return l
}
