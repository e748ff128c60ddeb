package session

import (
	"context"
	"time"

	"ptyctl/session/access"
	"ptyctl/term"
)

// A Holder identifies the holder of a session's lock: a principal, and one of its tasks.
type Holder = access.Holder

// A Lease is a session's lock as one holder has it.
type Lease = access.Lease

// A LockTable keeps the locks of sessions. Its zero value is ready for use.
type LockTable = access.LockTable

// Lock takes or extends the session's lock for the task that ctx carries.
func (s *Session) Lock(ctx context.Context, ttl time.Duration) (Lease, error) {
	return changeLock(ctx, s, term.VerbLock, func(by Holder) (Lease, error) { return s.lock.Acquire(by, ttl) })
}

// Heartbeat extends a lock that the task still holds.
//
// It fails if the lock has expired or was taken over, so a task learns of the loss before it types.
func (s *Session) Heartbeat(ctx context.Context, ttl time.Duration) (Lease, error) {
	return changeLock(ctx, s, term.VerbHeartbeat, func(by Holder) (Lease, error) {
		return s.lock.Table.Renew(s.id, by, ttl)
	})
}

// Unlock gives the lock back.
func (s *Session) Unlock(ctx context.Context) error {
	_, err := changeLock(ctx, s, term.VerbUnlock, func(by Holder) (Lease, error) {
		return Lease{}, s.lock.Table.Release(s.id, by)
	})
	return err
}

// Lease returns the lock as it is.
func (s *Session) Lease() (Lease, bool) { return s.lock.Table.Get(s.id) }

// TakeOver gives the session's lock to the caller of ctx, even if another task holds it. That needs
// Options.AllowTakeOver, or a caller whose Actor.Operator is set. The lock of a person who is attached to the terminal
// goes to another such person only. previous is the lease that ended by it, or zero.
//
// The loser's input stops within 4 KiB, and a list of its steps where it is. TakeOver waits until that has been sent,
// but no longer than a second for a far side that does not take it.
func (s *Session) TakeOver(ctx context.Context, ttl time.Duration) (l, previous Lease, err error) {
	operator := term.ActorFrom(ctx).Operator
	if !s.o.AllowTakeOver && !operator {
		err = &term.Error{
			Op: string(term.VerbLock), Session: s.id, Kind: term.PolicyDenied,
			Msg:    "taking a lock over is not allowed here",
			Advice: "wait until it is given back or expires, or ask the operator",
			Facts:  term.Facts{term.Denial{Setting: term.SettingTakeOver}},
		}
		s.auth.Begin(ctx, term.VerbTakeOver, term.Event{}).End(err)
		return l, previous, err
	}
	l, err = changeLock(ctx, s, term.VerbTakeOver, func(by Holder) (got Lease, err error) {
		got, previous, err = s.lock.TakeOver(by, operator, ttl)
		return got, err
	})
	if err != nil {
		return l, previous, err
	}
	s.answers.theirs.Store(s.End()) // before the wait, in which queries may come
	timer := time.NewTimer(forcedClose)
	defer timer.Stop()
	select {
	case s.writer.token <- struct{}{}:
		<-s.writer.token
	case <-timer.C:
	case <-ctx.Done():
	case <-s.life.ctx.Done():
	}
	return l, previous, nil
}

// TakenAt returns the end of the output when Session.TakeOver last gave the lock to another. If that is an attached person, the
// queries from there on are for their terminal; the session answers none of them.
func TakenAt(s *Session) int64 { return s.answers.theirs.Load() }

// changeLock applies change to the lock of a session that has not ended, and records the action.
func changeLock(
	ctx context.Context,
	s *Session,
	verb term.Verb,
	change func(by Holder) (Lease, error),
) (l Lease, err error) {
	c := s.auth.Begin(ctx, verb, term.Event{})
	defer func() { c.End(err) }()
	// Of one that may be reopened, which needs the lock, too.
	if end := s.life.ending(); s.State().Ended() && !s.mayReturn(end.Code) {
		return Lease{}, &term.Error{
			Op:      string(verb),
			Session: s.id,
			Kind:    term.AlreadyClosed,
			Msg:     "this session has ended (" + end.Reason + "); there is nothing left to lock",
			Facts:   term.Facts{end.fact()},
		}
	}
	by := access.HolderOf(term.ActorFrom(ctx))
	l, err = s.lock.Change(string(verb), by, func() (Lease, error) { return change(by) })
	if err == nil && (verb == term.VerbLock || verb == term.VerbTakeOver) {
		s.writer.heldBy(by)
	}
	if end := s.life.ending(); s.State().Ended() && !s.mayReturn(end.Code) { // nothing else would ever drop the lease
		s.lock.Table.Drop(s.id)
	}
	return l, err
}
