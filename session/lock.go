package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"ptyctl/session/access"
	"ptyctl/session/owners"
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
		s.sizing.Leave(ctx, by) // first: behind it others may type
		return Lease{}, s.lock.Table.Release(s.id, by)
	})
	return err
}

// Lease returns the lock as it is.
func (s *Session) Lease() (Lease, bool) { return s.lock.Table.Get(s.id) }

// TakeOver gives the session's lock to the caller of ctx, even if another task holds it. That needs
// Options.AllowTakeOver, or a caller with Actor.Operator set. The lock of a person who is attached to the terminal
// goes to another such person only. previous is the lease that ended by it, or zero.
//
// The previous holder's input stops within 4 KiB, and its list of steps at the current step. TakeOver waits until
// that input has been sent, but at most a second if the far side does not take it.
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
func (v SessionView) TakenAt() int64 { return v.s.answers.theirs.Load() }

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

// ownerOf returns the owner of a session. Without a Manager that is its opener.
func ownerOf(s *Session) owners.Owner {
	if s.owner.whose == nil {
		return owners.Owner{Principal: s.o.Origin.Opener.Principal().Client()}
	}
	return s.owner.whose.Owner()
}

// usableBy reports whether p may use the session. A session that a person opened at a terminal is theirs alone.
func usableBy(s *Session, p term.Principal) bool {
	if opener := s.o.Origin.Opener.Principal(); opener.Attachment != p.Attachment {
		return false
	}
	return ownerOf(s).Is(p)
}

// An ownedSession is a session as its owners.Ownership knows it.
type ownedSession struct {
	m *Manager
	s *Session
}

// OwnerChanged implements owners.Session.
func (o ownedSession) OwnerChanged(from, to term.Principal) {
	s := o.s
	if from != to {
		s.lock.Pass(from, to)
	}
	now := ownerOf(s)
	if !now.Orphaned.IsZero() {
		s.count.left.Store(s.End())
		if !s.State().Ended() {
			s.auth.Observe(term.Event{Verb: term.VerbOrphan, Detail: now.Place.String()})
		}
	}
	s.execs.wait(s.owner.whose.Waits)
	s.timeouts.touch()
	if s.State().Ended() && now.Orphaned.IsZero() {
		o.m.mu.Lock()
		retireLocked(o.m, s)
		o.m.mu.Unlock()
	}
}

// Expire implements owners.Session.
func (o ownedSession) Expire(after time.Duration) {
	defer o.s.group.rescue("orphan")
	o.s.close(errClosedByCaller{
		"ptyctl: no client had it for " + after.String() + ", the longest that a session is kept for one", EndOrphaned,
	}, false)
	o.m.mu.Lock()
	retireLocked(o.m, o.s) // also one that had ended before
	o.m.mu.Unlock()
}

// An Adoption describes a session to the client that has adopted it.
type Adoption struct {
	Session *Session
	Since   time.Time // when the client before it went; zero: the caller had the session already
	Left    int64     // the end of the output then; a read from that cursor returns all since
}

// Adopt makes the calling client the owner of a session if the session's own client is gone and worked in the same
// place; see package owners. The locks of its tasks pass to the tasks of the caller with the same names. A session
// that has ended by itself meanwhile can be adopted, to read its output.
//
// A caller that must not learn of the session gets the same error as for a missing session.
func (v ServerView) Adopt(ctx context.Context, id string) (Adoption, error) {
	m := v.m
	by := term.ActorFrom(ctx).Principal()
	s, err := m.Get(id)
	if err == nil {
		err = s.owner.whose.MayAdopt(by)
	}
	if errors.Is(err, term.NotFound) || errors.Is(err, owners.ErrNoClient) || errors.Is(err, owners.ErrElsewhere) {
		err = notLeft(m, id, by)
		v.Refused(ctx, id, term.VerbAdopt, err)
		return Adoption{}, err
	}
	d := s.auth.Begin(ctx, term.VerbAdopt, term.Event{})
	a, err := ownedSession{m, s}.adopt(ctx, by, func() error { return d.PermitUnlocked(ctx, term.Action{}) })
	d.Event.Detail = ownerOf(s).Place.String()
	d.End(err)
	return a, err
}

// adopt is Adopt for a session that the caller may know of. permit asks the Gate and the Journal.
func (o ownedSession) adopt(ctx context.Context, by term.Principal, permit func() error) (Adoption, error) {
	const op = "adopt"
	s := o.s
	if ended := s.life.ending(); s.State().Ended() && closedByUs(ended.Code) {
		return Adoption{}, &term.Error{
			Op: op, Session: s.id, Kind: term.AlreadyClosed,
			Msg:   "this session has ended (" + ended.Reason + "); there is nothing left to go on with",
			Facts: term.Facts{ended.fact()},
		}
	}
	if err := s.owner.whose.MayAdopt(by); err != nil {
		return Adoption{}, o.notAdopted(by, err)
	}
	if err := permit(); err != nil {
		return Adoption{}, err
	}
	before, err := s.owner.whose.Adopt(by)
	if err != nil { // another was faster
		return Adoption{}, o.notAdopted(by, err)
	}
	a := Adoption{Session: s, Since: before.Orphaned, Left: s.count.left.Load()}
	if a.Since.IsZero() && a.Left == 0 { // its client was never gone
		a.Left = s.End()
	}
	return a, nil
}

// closedByUs reports whether a session with that end code was ended on purpose, or by a limit.
func closedByUs(code EndCode) bool {
	switch code {
	case EndClosed, EndShutdown, EndIdle, EndMaxAge, EndOrphaned, EndReservation:
		return true
	}
	return false
}

// notAdopted is the error for a session that stays with its owner.
func (o ownedSession) notAdopted(by term.Principal, err error) error {
	s := o.s
	switch {
	case errors.Is(err, owners.ErrPresent):
		owner := ownerOf(s)
		return &term.Error{
			Op: "adopt", Session: s.id, Kind: term.Locked, Reason: term.ReasonOwnerPresent,
			Msg:    fmt.Sprintf("%s (%s) is connected and has this session", owner.Principal.Shim, owner.Place),
			Advice: "it can be adopted once that client is gone; a person can hand it over before",
		}
	case errors.Is(err, owners.ErrOver):
		return sessionError("adopt", s.id, term.AlreadyClosed,
			"this session ends now: no client had it for as long as one is kept")
	}
	return notLeft(o.m, s.id, by)
}

// notLeft is the error for a session that the client by may not adopt, or that does not exist: both look the same.
func notLeft(m *Manager, id string, by term.Principal) error {
	client, ok := m.owners.Member(by)
	if !ok {
		return noOwners("adopt", id)
	}
	return &term.Error{
		Op: "adopt", Session: id, Kind: term.NotFound, Reason: term.ReasonNotLeft,
		Msg: fmt.Sprintf("there is no session %q that %s has left (this client is %s)",
			id, client.Place, client.Principal.Shim),
		Advice: "a person can hand over a session of another",
	}
}

// noOwners is the error where no session outlives its client.
func noOwners(op, id string) error {
	return &term.Error{
		Op: op, Session: id, Kind: term.Unsupported, Reason: term.ReasonNoOwners,
		Msg:    "sessions do not pass from one client to another here: they end with the program that holds them",
		Advice: "a client that joins owners.Registry can adopt sessions",
	}
}

// Resumable reports whether a client may adopt a session; see Adopt.
func (v ServerView) Resumable(by term.Principal, i Info) bool {
	return v.m.owners.Resumable(by, i.Owner) && !closedByUs(i.End.Code)
}

// Give makes another client the owner of a session, also from one that is present; only a person can. to is the
// client's name, or the path of a folder: then the session is left to any client there, as if its client were gone.
// The locks of the owner's tasks pass to the tasks of the new owner with the same names.
func (v ServerView) Give(ctx context.Context, id, to string) (owners.Owner, error) {
	s, err := v.GetFor(ctx, term.VerbGive, id)
	if err != nil {
		return owners.Owner{}, err
	}
	d := s.auth.Begin(ctx, term.VerbGive, term.Event{Detail: to})
	now, err := ownedSession{v.m, s}.give(ctx, to, func() error { return d.PermitUnlocked(ctx, term.Action{}) })
	d.End(err)
	return now, err
}

// give is Give for an existing session. permit asks the Gate and the Journal.
func (o ownedSession) give(ctx context.Context, to string, permit func() error) (now owners.Owner, err error) {
	const op = "give"
	s := o.s
	switch {
	case !term.ActorFrom(ctx).Operator:
		return now, sessionError(op, s.id, term.PolicyDenied, "only a person hands a session to another client")
	case !o.m.owners.Serves():
		return now, noOwners(op, s.id)
	case s.State().Ended():
		ended := s.life.ending()
		return now, &term.Error{
			Op: op, Session: s.id, Kind: term.AlreadyClosed, Facts: term.Facts{ended.fact()},
			Msg: "this session has ended (" + ended.Reason + "); there is nothing left to hand over",
		}
	}
	if err = permit(); err != nil {
		return now, err
	}
	if filepath.IsAbs(to) {
		err = s.owner.whose.LeaveAt(owners.Place{Dir: filepath.Clean(to), Any: true})
		now = ownerOf(s)
	} else {
		now, _, err = s.owner.whose.Give(to)
	}
	switch {
	case errors.Is(err, owners.ErrNoMember):
		return now, &term.Error{
			Op: op, Session: s.id, Kind: term.NotFound,
			Msg: fmt.Sprintf("no client %q is connected; %s", to, connected(o.m)),
		}
	case err != nil:
		return now, o.notAdopted(term.Principal{}, err)
	}
	return now, nil
}

// connected says which clients are there to give a session to.
func connected(m *Manager) string {
	all := m.owners.Members()
	if len(all) == 0 {
		return "there is none now"
	}
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.Principal.Shim + " (" + c.Place.String() + ")"
	}
	return "there are " + strings.Join(names, ", ")
}
