package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"ptyctl/lockmgr"
	"ptyctl/term"
)

// maxLost bounds how many holders a session remembers for having lost its lock.
const maxLost = 64

// A lostLock is what a holder is told whose lock was taken over. It is told until it has the lock again: what it types
// in the belief that the terminal is as it left it may do harm.
type lostLock struct {
	holder, by Holder
	at         time.Time
	typed      int64 // bytes that others have typed since
}

// tell is the beginning of an error's message; empty for nil.
func (l *lostLock) tell() string {
	if l == nil {
		return ""
	}
	return fmt.Sprintf(
		"%s took the lock over from this task at %s, and since then others have typed %d bytes; ",
		l.by.as(l.holder),
		l.at.UTC().Format(time.RFC3339),
		l.typed,
	)
}

// fill puts the same into the details of what caller is told.
func (l *lostLock) fill(d *term.Details, caller Holder) {
	if l != nil {
		d.TakenOverBy, d.TypedSince = l.by.shown(caller), &l.typed
	}
}

// takeovers are the losses of a session's lock that their holders have not made up for. Every grant is made under mu: who
// finds a lock lost finds out why.
type takeovers struct {
	mu    sync.Mutex  // guards the following; locked before the lock table
	lost  []*lostLock // the holders whose lock was taken over, and who have not got it again; oldest first
	visit *lostLock   // the operator has taken over; nil: they have not, or the others know
}

// visited tells a caller, once, that the operator has typed into the terminal: nil, if they have not, or somebody knows
// already. The lock is not what it is about, for many write without one.
func (s *Session) visited(op string, caller Holder) error {
	v := s.taken.tellVisit(caller)
	if v == nil {
		return nil
	}
	e := &term.Error{
		Op: op, Session: s.id, Kind: term.Locked,
		Msg: fmt.Sprintf(
			"%s took this terminal over at %s and typed %d bytes into it; they have given it back, and nothing of this call was done: "+
				"read what the terminal shows now, then call again if it still makes sense",
			v.by.as(caller),
			v.at.UTC().Format(time.RFC3339),
			v.typed,
		),
		Details: new(term.Details),
	}
	v.fill(e.Details, caller)
	return e
}

// TakeOver gives the session's lock to the caller of ctx, whichever task holds it, if Options.AllowTakeOver is set or the
// operator asks. Only an attached person takes it from another. previous is the lease that ended by it; zero if nobody
// had one.
//
// What the loser was typing stops at the next 4 KiB at the latest. TakeOver waits until that has gone out, but no
// longer than a second for a far side that does not take it.
func (s *Session) TakeOver(ctx context.Context, ttl time.Duration) (l, previous Lease, err error) {
	operator := term.ActorFrom(ctx).Operator
	if !s.o.AllowTakeOver && !operator {
		err = &term.Error{
			Op: string(term.VerbLock), Session: s.id, Kind: term.PolicyDenied,
			Msg:     "taking a lock over is not allowed here",
			Advice:  "wait until it is given back or expires, or ask the operator",
			Details: &term.Details{Setting: term.SettingTakeOver},
		}
		s.begin(ctx, term.VerbTakeOver, term.Event{}).end(err)
		return l, previous, err
	}
	l, err = s.lease(ctx, term.VerbTakeOver, func(by Holder) (Lease, error) {
		t := s.taken
		t.mu.Lock() // the loser's write that fails because of it finds out why
		defer t.mu.Unlock()
		if held, ok := s.locks.Get(s.id); ok && held.Holder.Attached() && !by.Attached() {
			return Lease{}, &lockmgr.HeldError[Holder]{Lease: held}
		}
		got, old := s.locks.TakeOver(s.id, by, ttl) // every grant is made under t.mu: it is still the one that was looked at
		if got == (Lease{}) {
			return s.locks.Acquire(s.id, by, ttl) // which says what is wrong with the arguments
		}
		previous = old
		t.lose(old.Holder, by)
		t.regained(by)
		if operator {
			t.visit = &lostLock{by: by, at: time.Now()}
		}
		return got, nil
	})
	if err != nil {
		return l, previous, err
	}
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

// lose remembers that by took the lock from holder, which may be nobody. Requires t.mu.
func (t *takeovers) lose(holder, by Holder) {
	if holder.nameless() || holder == by {
		return
	}
	t.regained(holder)
	if len(t.lost) == maxLost {
		t.lost = slices.Delete(t.lost, 0, 1)
	}
	t.lost = append(t.lost, &lostLock{holder: holder, by: by, at: time.Now()})
}

// regained forgets that holder ever lost the lock. Requires t.mu.
func (t *takeovers) regained(holder Holder) {
	t.lost = slices.DeleteFunc(t.lost, func(l *lostLock) bool {
		if l.holder == holder && t.visit != nil && t.visit.by == l.by { // its holder knows of that as well
			t.visit = nil
		}
		return l.holder == holder
	})
}

// from says who took the lock from holder, as it is now; nil: nobody did, or holder has got it again since.
func (t *takeovers) from(holder Holder) *lostLock {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.lost {
		if l.holder == holder {
			now := *l
			return &now
		}
	}
	return nil
}

// tellVisit returns the operator's visit if it is news for caller, and forgets it.
func (t *takeovers) tellVisit(caller Holder) *lostLock {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.visit
	if v == nil || v.typed == 0 || v.by == caller {
		return nil
	}
	t.visit = nil
	return v
}

// typed counts bytes that went out for by.
func (t *takeovers) typed(by Holder, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.lost {
		if l.holder != by {
			l.typed += int64(n)
		}
	}
	if t.visit != nil && t.visit.by == by {
		t.visit.typed += int64(n)
	}
}
