package nodes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/internal/bucket"
)

// A member is this process as a node. Registry.mu guards it.
type member struct {
	value    value
	revision uint64    // of the last write of the key that is known
	highest  uint64    // of the confirmed writes
	written  time.Time // when the last write was sent that a server has confirmed
	taken    bool      // another process has the key
	failed   error     // of the last attempt; nil: it was confirmed
	left     bool
}

// key returns the node's key.
func (m *member) key() string { return keyPrefix + m.value.Name }

// Update changes this node's own entry. Its load is written at the next renewal; its draining, rules and callers are
// written at once. Its name, key, start and proof stay. f must not block, and must not call the Registry. An invalid
// result has no effect, and the error says why it is invalid. For an observer, Update has no effect.
func (r *Registry) Update(f func(*Node)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.member == nil {
		return nil
	}
	old := r.member.value
	next := value{ID: old.ID, Node: old.clone()}
	f(&next.Node)
	next.Node = next.clone() // f may have kept its maps
	next.Name, next.Key, next.Started, next.Proof = old.Name, old.Key, old.Started, old.Proof
	if err := next.check(); err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	if _, err := next.encode(); err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	r.member.value = next
	if next.Draining != old.Draining || next.Rules != old.Rules || next.Callers != old.Callers {
		select {
		case r.wake <- struct{}{}:
		default: // it is about to be written
		}
	}
	return nil
}

// Alive reports whether other nodes can know this one: its key was written less than Options.TTL ago.
func (r *Registry) Alive() bool { return r.Err() == nil }

// Err returns nil while this node is alive, and then the reason why its key cannot be written: an *UnavailableError or
// a *NameTakenError. For an observer it returns nil.
func (r *Registry) Err() error {
	r.mu.RLock()
	m := r.member
	if m == nil || time.Since(m.written) < r.o.TTL && !m.taken && !m.left {
		r.mu.RUnlock()
		return nil
	}
	failed, left, written := m.failed, m.left, m.written
	r.mu.RUnlock()
	switch {
	case left:
		return errLeft
	case errors.As(failed, new(*NameTakenError)):
		return failed
	case failed == nil:
		failed = errors.New("the last write was not confirmed in time")
	}
	ctx, cancel := context.WithCancel(context.Background()) // no server is asked
	cancel()
	return &UnavailableError{
		Op: "nodes: renewal", Why: r.bucket.Why(ctx, failed), Servers: r.bucket.Servers(), After: time.Since(written), Err: failed,
	}
}

// join creates the key. If another process has it, join waits for up to Options.Wait until it has expired, but not for a
// process that writes it. The servers remove an expired key a little late, so it waits that much longer: otherwise a node
// that is started at once after it was killed would give up at the very end.
func (r *Registry) join(ctx context.Context) error {
	var seen uint64
	waiting, cancel := context.WithTimeout(ctx, r.o.patience())
	defer cancel()
	for attempts := 0; ; attempts++ {
		changed := r.Changed()
		err := r.renew(ctx)
		taken, ok := errors.AsType[*takenError](err)
		switch {
		case err == nil:
			return nil
		case !ok:
			if errors.As(err, new(*again)) {
				attempts = 0
			}
			if !bucket.Pause(ctx, attempts) {
				return err
			}
			continue
		case seen != 0 && taken.revision != seen, waiting.Err() != nil:
			return taken.NameTakenError
		}
		seen = taken.revision
		timer := time.NewTimer(r.o.Every) // a process that lives has written by then
		select {
		case <-changed:
		case <-timer.C:
		case <-waiting.Done():
		}
		timer.Stop()
	}
}

// A takenError is a NameTakenError with the revision of the other process's write.
type takenError struct {
	*NameTakenError
	revision uint64
}

// Unwrap returns the NameTakenError.
func (e *takenError) Unwrap() error { return e.NameTakenError }

// An again says that the key has to be written once more, with the revision that was just learned.
type again struct{ error }

// renewals writes the key until the registry is closed.
func (r *Registry) renewals() {
	timer := time.NewTimer(r.o.Every)
	defer timer.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-timer.C:
		case <-r.wake:
		}
		was := r.Alive()
		err := r.renew(r.ctx)
		for attempts := 0; errors.As(err, new(*again)) && bucket.Pause(r.ctx, attempts); attempts++ {
			err = r.renew(r.ctx)
		}
		switch is := r.Alive(); {
		case is && !was:
			r.o.Logger.Info("this node is in the registry again", "node", r.name())
		case was && !is:
			r.o.Logger.Warn("this node is no longer in the registry", "node", r.name(), "error", r.Err())
		}
		if err == nil {
			timer.Reset(r.o.Every)
		} else {
			timer.Reset(r.o.again())
		}
	}
}

func (r *Registry) name() string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.member == nil {
		return ""
	}
	return r.member.value.Name
}

// renew makes one attempt to write the key.
func (r *Registry) renew(ctx context.Context) error {
	r.mu.RLock()
	v, key, revision := r.member.value, r.member.key(), r.member.revision
	r.mu.RUnlock()
	text, err := v.encode()
	if err != nil {
		return r.note(err)
	}
	sent := time.Now()
	revision, err = r.bucket.Put(ctx, r.bucket.Write(key, text, revision))
	if err == nil {
		r.change(func(t *table) bool {
			m := r.member
			if revision < m.highest {
				t.restart()
			}
			m.highest = revision
			m.revision, m.written, m.taken, m.failed = revision, sent, false, nil
			return t.heard(v.Node, revision, sent)
		})
		select {
		case r.wrote <- struct{}{}:
		default:
		}
		return nil
	}
	if errors.Is(err, nats.ErrNoResponders) { // the bucket may have been lost
		_, config := r.o.bucket()
		ctx, cancel := context.WithTimeout(ctx, r.o.attempt())
		defer cancel()
		if _, failed := r.bucket.Open(ctx, config); failed == nil {
			return r.note(&again{err})
		}
		return r.note(err)
	}
	if !bucket.Refused(err) { // an answer may be lost: then the next write is refused
		return r.note(err)
	}
	e, failed := r.bucket.Read(ctx, key)
	if failed != nil {
		return r.note(errors.Join(err, failed))
	}
	owner, unreadable := decode(key, e.Data)
	switch {
	case !e.Held() || owner.ID == v.ID && v.ID != "":
		r.mu.Lock()
		r.member.revision = e.Revision
		r.mu.Unlock()
		return r.note(&again{err})
	case unreadable != nil:
		owner.Node = Node{Name: v.Name}
	}
	taken := &NameTakenError{Name: v.Name, Node: owner.Node, Free: r.o.TTL}
	if now, err := r.bucket.Now(ctx); err == nil {
		taken.Free = min(max(e.Time.Add(r.o.TTL).Sub(now), 0), r.o.TTL)
	}
	return r.note(&takenError{taken, e.Revision})
}

// note keeps why the last attempt has failed.
func (r *Registry) note(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.member.failed = err
	if taken, ok := errors.AsType[*takenError](err); ok {
		r.member.failed, r.member.taken = taken.NameTakenError, true
	}
	return err
}

// remove deletes the key if it still is this process's. It is called once nothing else writes it.
func (r *Registry) remove(ctx context.Context) error {
	r.mu.Lock()
	m := r.member
	if m.left {
		r.mu.Unlock()
		return nil
	}
	m.left = true
	key, id, revision := m.key(), m.value.ID, m.revision
	r.mu.Unlock()
	began := time.Now()
	for attempts := 0; ; attempts++ {
		_, err := r.bucket.Put(ctx, r.bucket.Write(key, nil, revision))
		if err == nil {
			return nil
		}
		e, failed := r.bucket.Read(ctx, key) // a renewal may have been under way, or the answer was lost
		if failed == nil {
			if owner, _ := decode(key, e.Data); !e.Held() || owner.ID != id {
				return nil
			}
			revision = e.Revision
		}
		if !bucket.Pause(ctx, attempts) {
			return r.bucket.Unavailable(ctx, "nodes: leave", began, err)
		}
	}
}
