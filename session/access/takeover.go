package access

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"ptyctl/term"
)

// maxLost bounds how many holders a session remembers for having lost its lock.
const maxLost = 64

// A lostLock is the news for a holder that another took its lock. The holder gets it until it has the lock again: it
// believes that the terminal is as it left it, and its input may do harm.
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

// fill adds the same to the facts of caller's error.
func (l *lostLock) fill(f *term.Facts, caller Holder) {
	if l != nil {
		*f = f.With(term.TakenOver{By: l.by.shown(caller), Typed: l.typed})
	}
}

// takeovers are the losses of a session's lock that their holders have not made up for. Every grant is made under mu,
// so a holder that finds its lock lost finds the reason too.
type takeovers struct {
	mu    sync.Mutex  // guards the following; locked before the lock table
	lost  []*lostLock // the holders that lost their lock and have not got it again; oldest first
	visit *lostLock   // the operator has taken over; nil: they have not, or the others know
}

// visited returns an error for a caller, once, if the operator has typed into the terminal. It returns nil if they
// have not, or if another caller got that error already. It does not depend on the lock, for many write without one.
func (l *Lock) visited(op string, caller Holder) error {
	v := l.taken.tellVisit(caller)
	if v == nil {
		return nil
	}
	e := &term.Error{
		Op: op, Session: l.Session, Kind: term.Locked,
		Msg: fmt.Sprintf(
			"%s took this terminal over at %s and typed %d bytes into it; they have given it back, "+
				"and nothing of this call was done: "+
				"read what the terminal shows now, then call again if it still makes sense",
			v.by.as(caller),
			v.at.UTC().Format(time.RFC3339),
			v.typed,
		),
	}
	v.fill(&e.Facts, caller)
	return e
}

// lose remembers that by took the lock from holder, which may be zero. Requires t.mu.
func (t *takeovers) lose(holder, by Holder) {
	if holder.Nameless() || holder == by {
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

// from returns who took the lock from holder; nil: none did, or holder has got it again since.
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
