package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ptyctl/term"
)

// A State is where a session is in its life. It only ever moves down this list, and stops at Closed or Failed.
type State string

// The states.
const (
	Connecting     State = "connecting"
	Authenticating State = "authenticating" // at least one question was asked; see Session.Pending
	Open           State = "open"
	Closed         State = "closed" // by a caller, or because the program at the far end ended
	Failed         State = "error"  // never reached, or lost; Info.End says why
)

// Ended reports whether the session is over. What it has put out can still be read.
func (st State) Ended() bool { return st == Closed || st == Failed }

// An End says why and when a session ended.
type End struct {
	Time   time.Time
	Reason string    // for a person: "closed by task t1", "the shell exited with status 0"
	Err    error     // nil if it ended as asked or by itself
	Exit   term.Exit // how the program at the far end ended, if that is known
}

// errClosedByCaller is the cause of a session's context after Close; the text is what Info.End.Reason shows.
type errClosedByCaller struct{ by string }

func (e errClosedByCaller) Error() string { return "closed by " + e.by }

// setState moves the session to st and wakes everyone who waits for a change. Requires s.mu.
func (s *Session) setState(st State) {
	s.state = st
	s.wakeLocked()
}

// wakeLocked wakes everyone who waits for a change. Requires s.mu.
func (s *Session) wakeLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// await waits until the session's state satisfies done, or ctx ends. It returns the last state seen.
func (s *Session) await(ctx context.Context, done func(st State, q *term.Prompt) bool) (State, *term.Prompt) {
	for {
		s.mu.Lock()
		st, q, changed := s.state, s.promptLocked(), s.changed
		s.mu.Unlock()
		if done(st, q) {
			return st, q
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return st, q
		}
	}
}

// finish ends the session once and for all; later calls change nothing. err is nil when it ended as it should.
func (s *Session) finish(st State, end End) {
	s.mu.Lock()
	if s.state.Ended() {
		s.mu.Unlock()
		return
	}
	s.cancel(errors.New(end.Reason)) // without effect if Close came first
	if by := (errClosedByCaller{}); errors.As(context.Cause(s.ctx), &by) {
		st, end.Reason, end.Err = Closed, by.Error(), nil
	}
	end.Time = time.Now()
	s.end = end
	from := s.state
	s.settleLocked()
	_ = s.buf.Close()   // before the state says so: who sees the end of the session can read the end of its output
	if s.onEnd != nil { // before it too: who sees the end may count on the place being free
		s.onEnd(s)
	}
	s.setState(st)
	s.mu.Unlock()

	s.locks.Drop(s.id)
	s.life.stop()
	close(s.ended)
	s.observe(
		term.Event{
			Verb:     term.VerbState,
			State:    string(st),
			From:     string(from),
			Detail:   end.Reason,
			Duration: end.Time.Sub(s.created),
			Err:      end.Err,
		},
	)
	if e, ok := errors.AsType[*term.Error](end.Err); ok && e.Kind == term.Internal && e.Err != nil {
		s.log.Error("a fault ended a session", "session", s.id, "cause", e.Err)
	}
	s.log.Info("session ended", "session", s.id, "state", string(st), "reason", end.Reason)
}

// fail ends the session as Failed because of err.
func (s *Session) fail(err error) {
	s.finish(Failed, End{Reason: err.Error(), Err: err})
}

// rescue ends the session if the goroutine that defers it panics. Nothing of the panic reaches a caller: its
// text may hold anything.
func (s *Session) rescue(where string) {
	if r := recover(); r != nil {
		s.log.Error(
			"panic in a session's goroutine",
			"session",
			s.id,
			"where",
			where,
			"panic",
			fmt.Sprint(r),
			"stack",
			stack(),
		)
		s.fail(
			&term.Error{
				Op:      where,
				Session: s.id,
				Kind:    term.Internal,
				Msg:     "a fault in ptyctl ended this session; open a new one, and report the log",
			},
		)
		s.hangUp()
	}
}

// alive returns the transport of an open session, or the error that says why there is none.
func (s *Session) alive(op string) (term.Transport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.transport, s.aliveLocked(op)
}

// aliveLocked is alive's verdict. Requires s.mu.
func (s *Session) aliveLocked(op string) error {
	switch {
	case s.ctx.Err() != nil: // it has ended, or Close is at work
		return s.closedError(op)
	case s.state == Open:
		return nil
	case s.pending != nil:
		q := s.pending.question
		return &term.Error{
			Op: op, Session: s.id, Kind: term.Busy, Reason: term.ReasonLoginAsks,
			Msg:     "the login waits for an answer",
			Advice:  "send it with Session.Write (the key ctrl_c cancels)",
			Details: &term.Details{Prompt: &q},
		}
	default:
		return &term.Error{
			Op:      op,
			Session: s.id,
			Kind:    term.Busy,
			Reason:  term.ReasonOpening,
			Msg:     "the session is still " + string(s.state),
			Advice:  "wait until Session.State is Open",
		}
	}
}

// closedError says that the session had ended before op began. Requires that the session's context is done.
func (s *Session) closedError(op string) error {
	reason := context.Cause(s.ctx).Error()
	return &term.Error{
		Op: op, Session: s.id, Kind: term.AlreadyClosed,
		Msg: fmt.Sprintf(
			"this session has ended (%s); its output can still be read, for anything else open a new one",
			reason,
		),
		Details: &term.Details{EndReason: reason},
	}
}

// endedError says that the session ended while op was under way. Requires that the session's context is done.
func (s *Session) endedError(op string) error {
	if by := (errClosedByCaller{}); errors.As(context.Cause(s.ctx), &by) {
		return s.closedError(op)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &term.Error{
		Op: op, Session: s.id, Kind: term.RemoteClosed, Err: s.end.Err,
		Msg:     "the session ended meanwhile (" + s.end.Reason + "); its output can still be read",
		Details: &term.Details{EndReason: s.end.Reason},
	}
}

// transportError names op and the session in an error of the transport.
func (s *Session) transportError(op string, err error) error {
	if e, ok := errors.AsType[*term.Error](err); ok {
		named := *e
		named.Op, named.Session = op, s.id
		return &named
	}
	return &term.Error{Op: op, Session: s.id, Kind: term.IOError, Err: err}
}
