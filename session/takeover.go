package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ptyctl/lockmgr"
	"ptyctl/term"
)

// maxLost bounds how many tasks a session remembers for having lost its lock.
const maxLost = 64

// A lostLock is what a task is told whose lock was taken over. It is told until it has the lock again: what it types
// in the belief that the terminal is as it left it may do harm.
type lostLock struct {
	task, by string
	at       time.Time
	typed    int64 // bytes that others have typed since
}

// tell is the beginning of an error's message; empty for nil.
func (l *lostLock) tell() string {
	if l == nil {
		return ""
	}
	return fmt.Sprintf("task %s took the lock over from this task at %s, and since then others have typed %d bytes; ", l.by, l.at.UTC().Format(time.RFC3339), l.typed)
}

func (l *lostLock) fill(d *term.Details) {
	if l != nil {
		d.TakenOverBy, d.TypedSince = l.by, &l.typed
	}
}

// visited tells a task, once, that the operator has typed into the terminal: nil, if he has not, or somebody knows
// already. The lock is not what it is about, for many write without one.
func (s *Session) visited(op, task string) error {
	s.mu.Lock()
	v := s.visit
	if v == nil || v.typed == 0 || v.by == task {
		s.mu.Unlock()
		return nil
	}
	s.visit = nil
	s.mu.Unlock()
	e := &term.Error{
		Op: op, Session: s.id, Kind: term.Locked,
		Msg: fmt.Sprintf("a person (%s) took this terminal over at %s and typed %d bytes into it; they have given it back, and nothing of this call was done: "+
			"read what the terminal shows now, then call again if it still makes sense", v.by, v.at.UTC().Format(time.RFC3339), v.typed),
		Details: new(term.Details),
	}
	v.fill(e.Details)
	return e
}

// TakeOver gives the session's lock to the task that ctx carries, whoever holds it, if Options.AllowTakeOver is set or
// the operator asks. previous is the lease that ended by it; zero if nobody had one.
//
// What the loser was typing stops at the next 4 KiB at the latest. TakeOver waits until that has gone out, but no
// longer than a second for a far side that does not take it.
func (s *Session) TakeOver(ctx context.Context, ttl time.Duration) (l, previous lockmgr.Lease, err error) {
	operator := term.ActorFrom(ctx).Operator
	if !s.o.AllowTakeOver && !operator {
		err = &term.Error{
			Op: string(term.VerbLock), Session: s.id, Kind: term.PolicyDenied,
			Msg:     "taking a lock over is not allowed here (locks.allow_take_over); wait until it is given back or expires, or ask the operator",
			Details: &term.Details{Rule: "locks.allow_take_over"},
		}
		s.begin(ctx, term.VerbTakeOver, term.Event{}).end(err)
		return l, previous, err
	}
	l, err = s.lease(ctx, term.VerbTakeOver, func(task string) (lockmgr.Lease, error) {
		s.mu.Lock() // the loser's write that fails because of it finds out why
		defer s.mu.Unlock()
		got, old := s.locks.TakeOver(s.id, task, ttl)
		if got == (lockmgr.Lease{}) {
			return s.locks.Acquire(s.id, task, ttl) // which says what is wrong with the arguments
		}
		previous = old
		s.loseLocked(old.Holder, task)
		s.regainedLocked(task)
		if operator {
			s.visit = &lostLock{by: task, at: time.Now()}
		}
		return got, nil
	})
	if err != nil {
		return l, previous, err
	}
	timer := time.NewTimer(forcedClose)
	defer timer.Stop()
	select {
	case s.writing <- struct{}{}:
		<-s.writing
	case <-timer.C:
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
	return l, previous, nil
}

// loseLocked remembers that by took the lock from task. Requires s.mu.
func (s *Session) loseLocked(task, by string) {
	if task == "" || task == by {
		return
	}
	s.regainedLocked(task)
	if len(s.lost) == maxLost {
		s.lost = slices.Delete(s.lost, 0, 1)
	}
	s.lost = append(s.lost, &lostLock{task: task, by: by, at: time.Now()})
}

// regainedLocked forgets that task ever lost the lock. Requires s.mu.
func (s *Session) regainedLocked(task string) {
	s.lost = slices.DeleteFunc(s.lost, func(l *lostLock) bool {
		if l.task == task && s.visit != nil && s.visit.by == l.by { // it was told of that as well
			s.visit = nil
		}
		return l.task == task
	})
}

// lostTo says who took the lock from task, as it is now; nil: nobody did, or task has got it again since.
func (s *Session) lostTo(task string) *lostLock {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lost {
		if l.task == task {
			now := *l
			return &now
		}
	}
	return nil
}

// countTyped counts bytes that went out for task.
func (s *Session) countTyped(task string, n int) {
	s.count.tx.Add(int64(n))
	s.count.lastTx.Store(time.Now().UnixNano())
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lost {
		if l.task != task {
			l.typed += int64(n)
		}
	}
	if s.visit != nil && s.visit.by == task {
		s.visit.typed += int64(n)
	}
}
