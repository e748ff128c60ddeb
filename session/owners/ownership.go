package owners

import (
	"time"

	"ptyctl/term"
)

// An Ownership holds the owner of one session. Make it with Registry.Opened. A nil *Ownership is for a session
// without a registry.
type Ownership struct {
	r *Registry

	// Guarded by Registry.mu:
	s     Session // set by Keep
	owner Owner
	timer *time.Timer // ends the orphan; nil: not an orphan
}

// Opened returns the ownership of a session that p opens. It has an effect from Keep on.
func (r *Registry) Opened(p term.Principal) *Ownership {
	o := &Ownership{r: r, owner: Owner{Principal: p.Client()}}
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.members[o.owner.Principal]; m != nil {
		o.owner.Place = m.Place
	}
	return o
}

// Keep says that o is of the session s, which lives, in place of another if there was one. If its client has left
// meanwhile, it is an orphan.
func (o *Ownership) Keep(s Session) {
	if o == nil {
		return
	}
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	o.s = s
	o.r.held[o] = true
	if o.owner.over { // a person has reopened it: its time begins again
		o.owner.over = false
		o.orphanLocked(o.owner.Place)
	}
	if o.owner.Orphaned.IsZero() && o.owner.Principal.Shim != "" && o.r.presentLocked(o.owner.Principal) == nil {
		o.orphanLocked(o.owner.Place)
	}
}

// Drop says that the session is gone.
func (o *Ownership) Drop() {
	if o == nil {
		return
	}
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	o.stopLocked()
	delete(o.r.held, o)
}

// Owner returns the present owner of the session.
func (o *Ownership) Owner() Owner {
	if o == nil {
		return Owner{}
	}
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	return o.owner
}

// Waits reports whether the session is an orphan with time left.
func (o *Ownership) Waits() bool {
	if o == nil {
		return false
	}
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	return o.timer != nil
}

// MayAdopt reports why the client p cannot adopt the session; nil: it can, or has it already.
func (o *Ownership) MayAdopt(p term.Principal) error {
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	_, err := o.adopterLocked(p.Client())
	return err
}

// adopterLocked returns the client that p is if it can adopt the session, and nil if it has it already. Requires
// Registry.mu.
func (o *Ownership) adopterLocked(p term.Principal) (*Member, error) {
	m := o.r.presentLocked(p)
	switch {
	case m == nil:
		return nil, ErrNoClient
	case o.owner.Principal == p && o.owner.Orphaned.IsZero():
		return nil, nil
	case !o.owner.Place.Fits(m.Place):
		return nil, ErrElsewhere
	case o.owner.Orphaned.IsZero():
		return nil, ErrPresent
	case o.owner.over:
		return nil, ErrOver
	}
	return m, nil
}

// Adopt makes the client p the owner, if the session is an orphan that was left where p works. It returns the owner
// before; that of a client that has the session already is itself.
func (o *Ownership) Adopt(p term.Principal) (before Owner, err error) {
	p = p.Client()
	o.r.mu.Lock()
	before = o.owner
	m, err := o.adopterLocked(p)
	if m != nil {
		o.moveLocked(Owner{Principal: p, Place: m.Place})
	}
	s := o.s
	o.r.mu.Unlock()
	if m != nil {
		s.OwnerChanged(before.Principal, p)
	}
	return before, err
}

// Give makes the client with the name shim the owner, also if another client has the session. It returns the new owner
// and the one before.
func (o *Ownership) Give(shim string) (now, before Owner, err error) {
	o.r.mu.Lock()
	before, err = o.owner, ErrNoMember
	for p, m := range o.r.members {
		if shim != "" && p.Shim == shim && !m.gone {
			now, err = Owner{Principal: p, Place: m.Place}, nil
		}
	}
	switch {
	case err != nil:
	case o.owner.over:
		err = ErrOver
	default:
		o.moveLocked(now)
	}
	s := o.s
	o.r.mu.Unlock()
	if err == nil {
		s.OwnerChanged(before.Principal, now.Principal)
	}
	return now, before, err
}

// LeaveAt makes the session an orphan that any client at a place may adopt. A person calls it for a session that they
// have opened for an agent.
func (o *Ownership) LeaveAt(at Place) error {
	o.r.mu.Lock()
	if o.owner.over {
		o.r.mu.Unlock()
		return ErrOver
	}
	before := o.owner.Principal
	o.moveLocked(Owner{})
	o.orphanLocked(at)
	s := o.s
	o.r.mu.Unlock()
	s.OwnerChanged(before, term.Principal{})
	return nil
}

// orphanLocked says that no client has the session now; the last worked at a place. Requires Registry.mu.
func (o *Ownership) orphanLocked(at Place) {
	now := time.Now()
	o.owner.Place, o.owner.Orphaned = at, now
	if o.r.closed || !o.r.held[o] {
		return
	}
	ttl := o.r.ttl
	o.timer = time.AfterFunc(ttl, func() { o.expire(now, ttl) })
}

// moveLocked makes to the owner. Requires Registry.mu.
func (o *Ownership) moveLocked(to Owner) {
	o.stopLocked()
	o.owner = to
}

// stopLocked stops the timer. Requires Registry.mu.
func (o *Ownership) stopLocked() {
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
}

// expire ends the session if it has been an orphan since then and is one still.
func (o *Ownership) expire(since time.Time, after time.Duration) {
	o.r.mu.Lock()
	if o.r.closed || o.timer == nil || !o.owner.Orphaned.Equal(since) {
		o.r.mu.Unlock()
		return
	}
	o.timer, o.owner.over = nil, true
	o.r.running.Add(1)
	s := o.s
	o.r.mu.Unlock()
	defer o.r.running.Done()
	s.Expire(after)
}
