package session

import (
	"sync/atomic"

	"ptyctl/buffer"
	"ptyctl/term"
)

// limits are shared by the sessions of a Manager. The zero value limits nothing.
type limits struct {
	memory *buffer.Pool // of the output kept
	reads  *semaphore   // reads that wait
}

// noMemory is the error of what needs memory for output that all sessions together must not have.
func (l limits) noMemory(op, session string) error {
	return &term.Error{
		Op: op, Session: session, Kind: term.LimitExceeded,
		Msg:    "the output kept for all sessions has reached the limit",
		Advice: "close sessions that are no longer needed, or wait until ended ones are forgotten",
		Facts:  term.Facts{term.LimitReached{Limit: term.LimitOutput, Value: l.memory.Limit()}},
	}
}

// TooManyReads is the error for a read that stopped with ReasonLimit.
func (s *Session) TooManyReads() error {
	reached := term.LimitReached{Limit: term.LimitWaitingReads}
	if t := s.o.managed.limits.reads; t != nil {
		reached.Value = t.limit
	}
	return &term.Error{
		Op: "read", Session: s.id, Kind: term.LimitExceeded,
		Msg:    "as many reads wait as may, so this one did not",
		Advice: "read without waiting, or again later from the same cursor",
		Facts:  term.Facts{reached},
	}
}

// A semaphore lets so many in at a time. A nil *semaphore lets everyone in.
//
// It counts with one atomic and never blocks: a read over the limit returns at once, with ReasonLimit.
type semaphore struct {
	limit  int64
	inside atomic.Int64
}

// enter reports whether there was room; if so, leave must follow.
func (t *semaphore) enter() bool {
	if t == nil {
		return true
	}
	if t.inside.Add(1) > t.limit {
		t.inside.Add(-1)
		return false
	}
	return true
}

// leave gives back the room that enter took.
func (t *semaphore) leave() {
	if t != nil {
		t.inside.Add(-1)
	}
}
