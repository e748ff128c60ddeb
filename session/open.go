package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ptyctl/lockmgr"
	"ptyctl/term"
)

// An OpenRequest says what session to open.
type OpenRequest struct {
	Target      term.Target
	IdleTimeout time.Duration // 0: the manager's
	Expect      Expect
	LockTTL     time.Duration // >0: take the lock at once for the task that ctx carries
	Wait        time.Duration // the longest this call waits; 0: until the session is open or asks something
}

// An OpenResult is a session that opens, or has opened.
type OpenResult struct {
	Session *Session
	State   State        // Open; Authenticating with a Prompt; Connecting when Wait was over; Closed if it was over at once
	Prompt  *term.Prompt // the question that must be answered with Write, or nil
	Lease   *lockmgr.Lease
}

// Open makes a session and connects it. The dialing goes on under the session's own context when the call has
// to return before it is done; if the call is canceled, nobody knows the session's id, and it is closed.
func (m *Manager) Open(ctx context.Context, r OpenRequest) (OpenResult, error) {
	const op = "open"
	actor := term.ActorFrom(ctx)
	dial := m.c.Dialers[r.Target.Protocol]
	if dial == nil {
		return OpenResult{}, &term.Error{Op: op, Kind: term.Unsupported, Msg: fmt.Sprintf("protocol %q is not built into this ptyctl", r.Target.Protocol), Details: &term.Details{Field: "protocol", Allowed: m.Protocols()}}
	}
	if r.LockTTL > 0 && actor.Task == "" {
		return OpenResult{}, &term.Error{Op: op, Kind: term.InvalidArgument, Msg: "acquire_lock needs a task_id: the name under which the lock is held", Details: &term.Details{Field: "task_id"}}
	}
	setDefault(&r.Target.ConnectTimeout, m.c.ConnectTimeout)
	setDefault(&r.IdleTimeout, m.c.IdleTimeout)
	s := newSession(m.options(r), m.ended)
	_, err := s.permit(ctx, term.Action{Verb: term.VerbOpen, Target: &r.Target}, term.Event{Detail: r.Target.Host})
	if err == nil {
		if err = m.add(s); err != nil {
			s.observe(term.Event{Verb: term.VerbOpen, Actor: actor, Detail: r.Target.Host, Refused: err})
		}
	}
	if err != nil {
		s.onEnd = nil // it was never counted
		s.fail(err)
		return OpenResult{}, err
	}
	var lease *lockmgr.Lease
	if r.LockTTL > 0 {
		l, err := s.Lock(ctx, r.LockTTL)
		if err != nil {
			s.fail(err)
			return OpenResult{}, err
		}
		lease = &l
	}
	s.observe(term.Event{Verb: term.VerbOpen, Actor: actor, Detail: r.Target.Host})
	s.spawn(op, func() { s.connect(dial, r.Target) })

	res, err := s.opened(ctx, r.Wait)
	res.Lease = lease
	return res, err
}

// options are those of a new session for r.
func (m *Manager) options(r OpenRequest) Options {
	return Options{
		ID: NewID(r.Target.Host), Protocol: r.Target.Protocol, Host: r.Target.Host, PTY: r.Target.PTY,
		BufferBytes: m.c.BufferBytes, BufferLines: m.c.BufferLines, ExecBytes: m.c.ExecBytes, Retention: m.c.Retention,
		WriteTimeout: m.c.WriteTimeout, PromptTimeout: m.c.PromptTimeout, IdleTimeout: r.IdleTimeout, MaxAge: m.c.MaxAge,
		Expect: r.Expect, Locks: &m.locks, AllowTakeOver: m.c.AllowTakeOver, Gate: m.c.Gate, Journal: m.c.Journal, Observers: m.c.Observers, Logger: m.c.Logger,
		limits: m.limits, RecordTxEvents: m.c.RecordTxEvents,
	}
}

// opened waits until the session is open, asks something, or has failed.
func (s *Session) opened(ctx context.Context, wait time.Duration) (OpenResult, error) {
	waiting := ctx
	if wait > 0 {
		var stop context.CancelFunc
		waiting, stop = context.WithTimeout(ctx, wait)
		defer stop()
	}
	st, q := s.await(waiting, func(st State, q *term.Prompt) bool { return st == Open || st.Ended() || q != nil })
	if ctx.Err() != nil && st != Open {
		s.close(errClosedByCaller{"the caller, who gave up while it was opening"}, true)
		return OpenResult{}, &term.Error{Op: "open", Session: s.id, Kind: term.Canceled, Msg: "canceled while the session was opening; it is closed", Err: ctx.Err()}
	}
	if st.Ended() && !s.wasOpen() {
		return OpenResult{}, s.openError()
	}
	return OpenResult{Session: s, State: st, Prompt: q}, nil
}

// wasOpen reports whether there ever was a terminal.
func (s *Session) wasOpen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.transport != nil
}

// openError is why an opening session ended.
func (s *Session) openError() error {
	s.mu.Lock()
	end := s.end
	s.mu.Unlock()
	if e, ok := errors.AsType[*term.Error](end.Err); ok {
		named := *e
		named.Op, named.Session = "open", s.id
		return &named
	}
	if end.Err == nil { // only Close ends an opening session without an error
		return &term.Error{Op: "open", Session: s.id, Kind: term.Canceled, Msg: "the session ended while it was opening: " + end.Reason, Details: &term.Details{EndReason: end.Reason}}
	}
	return &term.Error{Op: "open", Session: s.id, Kind: term.Internal, Err: end.Err}
}
