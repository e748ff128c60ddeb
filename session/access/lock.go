package access

import (
	"errors"
	"time"

	"ptyctl/lockmgr"
	"ptyctl/term"
)

// A Lock is the lock of one session, and the news that its losers have yet to get. Set its exported fields before use.
type Lock struct {
	Table         *LockTable
	Session       string
	Device        string // the device if the session is its console: all but reading takes the lock; empty: no console
	AllowTakeOver bool   // a task may take the lock from the one that holds it

	// Foreign reports whether a session that passes from client to client has another than the one that acts; nil: it
	// does not pass.
	Foreign func(by term.Principal) bool

	taken takeovers
}

// check decides whether the lock lets a caller act, and returns its epoch. types says that the action types.
func (l *Lock) check(op string, by Holder, types bool) (epoch uint64, err error) {
	if err := l.foreign(op, by); err != nil {
		return 0, err
	}
	epoch, held := l.Table.Check(l.Session, by)
	if held == nil && epoch == 0 && l.taken.from(by) != nil { // it is to know before it goes on without the lock
		held = lockmgr.ErrNotHeld
	}
	if held != nil {
		return 0, l.refuse(op, by, held)
	}
	if epoch == 0 && l.Device != "" { // it is free
		return 0, l.consoleError(op)
	}
	if types {
		err = l.visited(op, by)
	}
	return epoch, err
}

// foreign refuses the calls of a client that has had the session, and which another has now.
func (l *Lock) foreign(op string, by Holder) error {
	if l.Foreign == nil || !l.Foreign(by.Principal) {
		return nil
	}
	return &term.Error{
		Op: op, Session: l.Session, Kind: term.Locked,
		Msg: "this session has passed to another client, so nothing more is done for this one",
	}
}

// StillHeld asks again, just before the act, whether the permission given under epoch still holds.
func (l *Lock) StillHeld(op string, by Holder, epoch uint64) error {
	if err := l.foreign(op, by); err != nil {
		return err
	}
	if err := l.Table.CheckEpoch(l.Session, by, epoch); err != nil {
		return l.refuse(op, by, err)
	}
	return nil
}

// refuse turns the lock table's refusal into the caller's error. The error does not help a caller into the place of
// another principal: a holder is an identity, and its name is for people.
func (l *Lock) refuse(op string, by Holder, err error) error {
	var held *lockmgr.HeldError[Holder]
	lost := l.taken.from(by)
	switch {
	case errors.As(err, &held):
		holder := held.Lease.Holder
		e := &term.Error{
			Op: op, Session: l.Session, Kind: term.Locked, Err: err,
			Msg: lost.tell() + holder.as(
				by,
			) + " holds this session's lock until " + held.Lease.Expires.UTC().
				Format(time.RFC3339),
			Advice: "reading is allowed, for anything else wait",
			Facts:  term.Facts{term.LockConflict{Holder: holder.shown(by), Expires: held.Lease.Expires}},
		}
		if l.AllowTakeOver && !holder.Attached() {
			e.Reason = term.ReasonHeldTakable
			e.Advice += ", or take the lock over with Session.TakeOver"
		}
		if by.Nameless() && holder.Principal == by.Principal {
			e.Reason = term.ReasonTaskOmitted
			e.Advice = "if the lock is this caller's, name that task in the call; " +
				"reading is allowed, for anything else wait"
		}
		lost.fill(&e.Facts, by)
		return e
	case errors.Is(err, lockmgr.ErrNotHeld) && lost != nil:
		e := &term.Error{
			Op:      op,
			Session: l.Session,
			Kind:    term.LockRequired,
			Err:     err,
			Reason:  term.ReasonTakenOver,
			Msg:     lost.tell() + "no task holds it now",
			Advice:  "read what the terminal shows, then take the lock again with Session.Lock",
		}
		lost.fill(&e.Facts, by)
		return e
	case errors.Is(err, lockmgr.ErrNotHeld):
		return &term.Error{
			Op:      op,
			Session: l.Session,
			Kind:    term.LockRequired,
			Err:     err,
			Reason:  term.ReasonNotHeld,
			Msg:     "this task does not hold the session's lock (it may have expired)",
			Advice:  "take it with Session.Lock",
		}
	default:
		return &term.Error{Op: op, Session: l.Session, Kind: term.InvalidArgument, Err: err}
	}
}

// consoleError says that a console takes a lock.
func (l *Lock) consoleError(op string) error {
	return &term.Error{
		Op:      op,
		Session: l.Session,
		Kind:    term.LockRequired,
		Reason:  term.ReasonConsole,
		Msg:     "this is the console of device " + l.Device + ": all but reading needs its lock, which no task holds",
		Advice:  "take it first with Session.Lock, as the task that makes the next calls",
	}
}

// Acquire takes or extends the lock.
func (l *Lock) Acquire(by Holder, ttl time.Duration) (Lease, error) {
	l.taken.mu.Lock()
	defer l.taken.mu.Unlock()
	lease, err := l.Table.Acquire(l.Session, by, ttl)
	if err == nil {
		l.taken.regained(by)
	}
	return lease, err
}

// TakeOver gives the lock to by, even if another task holds it. Only an attached person takes it from another.
// previous is the lease that ended by it.
func (l *Lock) TakeOver(by Holder, operator bool, ttl time.Duration) (lease, previous Lease, err error) {
	t := &l.taken
	t.mu.Lock() // the loser's write that fails because of it finds out why
	defer t.mu.Unlock()
	if held, ok := l.Table.Get(l.Session); ok && held.Holder.Attached() && !by.Attached() {
		return Lease{}, Lease{}, &lockmgr.HeldError[Holder]{Lease: held}
	}
	lease, previous = l.Table.TakeOver(l.Session, by, ttl) // each grant is under t.mu: it is still the one looked at
	if lease == (Lease{}) {
		lease, err = l.Table.Acquire(l.Session, by, ttl) // Acquire reports wrong arguments
		return lease, Lease{}, err
	}
	t.lose(previous.Holder, by)
	t.regained(by)
	if operator {
		t.visit = &lostLock{by: by, at: time.Now()}
	}
	return lease, previous, nil
}

// Pass gives the tasks of the principal to the lock that a task of from with the same name holds, and the pending
// notice of a lost lock. The lock of an attached person stays theirs.
func (l *Lock) Pass(from, to term.Principal) {
	t := &l.taken
	t.mu.Lock()
	defer t.mu.Unlock()
	renamed := func(h Holder) Holder {
		if h.Principal == from {
			h.Principal = to
		}
		return h
	}
	if held, ok := l.Table.Get(l.Session); ok && held.Holder.Principal == from {
		_, _ = l.Table.Pass(l.Session, held.Holder, renamed(held.Holder)) // unless it has expired since
	}
	for _, lost := range t.lost {
		lost.holder, lost.by = renamed(lost.holder), renamed(lost.by)
	}
	if t.visit != nil {
		t.visit.by = renamed(t.visit.by)
	}
}

// StillGranted reports whether the command that was permitted to by under epoch may still press keys, also after
// Pass: the grant is the same.
func (l *Lock) StillGranted(by Holder, epoch uint64) bool {
	if l.Table.CheckEpoch(l.Session, by, epoch) == nil {
		return true
	}
	held, ok := l.Table.Get(l.Session)
	return ok && epoch > 0 && held.Epoch == epoch
}

// Change calls change for a caller who must name a task, and turns the lock table's refusal into the caller's error.
func (l *Lock) Change(op string, by Holder, change func() (Lease, error)) (Lease, error) {
	if by.Nameless() {
		return Lease{}, &term.Error{
			Op: op, Session: l.Session, Kind: term.InvalidArgument, Err: lockmgr.ErrInvalid,
			Reason: term.ReasonNoTask, Msg: "a lock belongs to a task, and this call names none",
			Advice: "name one here, and in each call that needs the lock",
		}
	}
	if err := l.foreign(op, by); err != nil {
		return Lease{}, err
	}
	lease, err := change()
	if err != nil {
		err = l.refuse(op, by, err)
	}
	return lease, err
}

// Typed counts bytes that were typed for by.
func (l *Lock) Typed(by Holder, n int) { l.taken.typed(by, n) }
