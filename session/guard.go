package session

import (
	"context"
	"errors"
	"time"

	"ptyctl/lockmgr"
	"ptyctl/term"
)

// permit decides whether an action may be done: the lock first, then the operator's Gate, then the Journal,
// which must have it on record before it happens.
func (s *Session) permit(
	ctx context.Context,
	a term.Action,
	e *term.Event,
) (ruling term.Ruling, epoch uint64, err error) {
	by := holderOf(term.ActorFrom(ctx))
	epoch, held := s.locks.Check(s.id, by)
	if held == nil && epoch == 0 && s.taken.from(by) != nil { // it is to know before it goes on without the lock
		held = lockmgr.ErrNotHeld
	}
	if held != nil {
		return ruling, 0, s.lockError(string(a.Verb), by, held)
	}
	if epoch == 0 && s.o.Device != "" { // nobody holds it
		return ruling, 0, s.consoleLockError(string(a.Verb))
	}
	if a.Verb == term.VerbWrite || a.Verb == term.VerbExec && e.Detail == string(LaneTerminal) {
		if err := s.visited(string(a.Verb), by); err != nil {
			return ruling, 0, err
		}
	}
	if ruling, err = s.desk.allowed(ctx, a, e); err != nil {
		return ruling, 0, err
	}
	return ruling, epoch, s.stillHeld(string(a.Verb), by, epoch) // Gate and Journal may have taken their time
}

// stillHeld asks again, just before the act, whether what was permitted under epoch still is.
func (s *Session) stillHeld(op string, by Holder, epoch uint64) error {
	if err := s.locks.CheckEpoch(s.id, by, epoch); err != nil {
		return s.lockError(op, by, err)
	}
	return nil
}

// lockError turns the lock table's refusal of a caller into what the caller is told. That never says what would open the
// lock: a holder is an identity, and its name is for people.
func (s *Session) lockError(op string, by Holder, err error) error {
	var held *lockmgr.HeldError[Holder]
	lost := s.taken.from(by)
	switch {
	case errors.As(err, &held):
		holder := held.Lease.Holder
		e := &term.Error{
			Op: op, Session: s.id, Kind: term.Locked, Err: err,
			Msg: lost.tell() + holder.as(
				by,
			) + " holds this session's lock until " + held.Lease.Expires.UTC().
				Format(time.RFC3339),
			Advice:  "reading is allowed, for anything else wait",
			Details: &term.Details{LockHolder: holder.shown(by), LockExpiresAt: held.Lease.Expires.UnixMilli()},
		}
		if s.o.AllowTakeOver && !holder.Attached() {
			e.Reason = term.ReasonHeldTakable
			e.Advice += ", or take the lock over with Session.TakeOver"
		}
		lost.fill(e.Details, by)
		return e
	case errors.Is(err, lockmgr.ErrNotHeld) && lost != nil:
		e := &term.Error{
			Op:      op,
			Session: s.id,
			Kind:    term.LockRequired,
			Err:     err,
			Reason:  term.ReasonTakenOver,
			Msg:     lost.tell() + "no task holds it now",
			Advice:  "read what the terminal shows, then take the lock again with Session.Lock",
			Details: new(term.Details),
		}
		lost.fill(e.Details, by)
		return e
	case errors.Is(err, lockmgr.ErrNotHeld):
		return &term.Error{
			Op:      op,
			Session: s.id,
			Kind:    term.LockRequired,
			Err:     err,
			Reason:  term.ReasonNotHeld,
			Msg:     "this task does not hold the session's lock (it may have expired)",
			Advice:  "take it with Session.Lock",
		}
	default:
		return &term.Error{Op: op, Session: s.id, Kind: term.InvalidArgument, Err: err}
	}
}

// Lock takes or extends the session's lock for the task that ctx carries.
func (s *Session) Lock(ctx context.Context, ttl time.Duration) (Lease, error) {
	return s.lease(ctx, term.VerbLock, func(by Holder) (Lease, error) {
		s.taken.mu.Lock()
		defer s.taken.mu.Unlock()
		l, err := s.locks.Acquire(s.id, by, ttl)
		if err == nil {
			s.taken.regained(by)
		}
		return l, err
	})
}

// Heartbeat extends a lock that the task still holds.
func (s *Session) Heartbeat(ctx context.Context, ttl time.Duration) (Lease, error) {
	return s.lease(ctx, term.VerbHeartbeat, func(by Holder) (Lease, error) { return s.locks.Renew(s.id, by, ttl) })
}

// Unlock gives the lock back.
func (s *Session) Unlock(ctx context.Context) error {
	_, err := s.lease(ctx, term.VerbUnlock, func(by Holder) (Lease, error) {
		return Lease{}, s.locks.Release(s.id, by)
	})
	return err
}

// Lease returns the lock as it is.
func (s *Session) Lease() (Lease, bool) { return s.locks.Get(s.id) }

func (s *Session) lease(
	ctx context.Context,
	verb term.Verb,
	change func(by Holder) (Lease, error),
) (l Lease, err error) {
	d := s.begin(ctx, verb, term.Event{})
	defer func() { d.end(err) }()
	if s.State().Ended() {
		reason := s.life.ending().Reason
		return Lease{}, &term.Error{
			Op:      string(verb),
			Session: s.id,
			Kind:    term.AlreadyClosed,
			Msg:     "this session has ended (" + reason + "); there is nothing left to lock",
			Details: &term.Details{EndReason: reason},
		}
	}
	by := holderOf(term.ActorFrom(ctx))
	if by.nameless() {
		return Lease{}, &term.Error{Op: string(verb), Session: s.id, Kind: term.InvalidArgument, Err: lockmgr.ErrInvalid,
			Reason: term.ReasonNoTask, Msg: "a lock belongs to a task, and this call names none",
			Advice: "name one here, and in each call that needs the lock"}
	}
	if l, err = change(by); err != nil {
		err = s.lockError(string(verb), by, err)
	}
	if s.State().Ended() { // meanwhile: nobody would ever drop the lease
		s.locks.Drop(s.id)
	}
	return l, err
}

// observe tells every Observer of e.
func (s *Session) observe(e term.Event) { s.desk.observe(e) }
