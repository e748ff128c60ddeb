package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ptyctl/session/known"
	"ptyctl/term"
)

// A State is where a session is in its life. It only ever moves down this list, and stops at Closed or Failed. While a
// session is reopened, each attempt begins with Connecting.
type State string

// The states.
const (
	Connecting     State = "connecting"
	Authenticating State = "authenticating" // at least one question was asked; see Session.Question
	Open           State = "open"
	Closed         State = "closed" // by a caller, or because the program at the far end ended
	Failed         State = "error"  // never reached, or lost; Info.End says why
)

// Ended reports whether the session is over. Its output can still be read.
func (st State) Ended() bool { return st == Closed || st == Failed }

// An End says why and when a session ended.
//
// Err is nil for a normal end, such as a shell that exits with an error status; Exit has that status.
type End struct {
	Time   time.Time
	Code   EndCode // for a program
	Reason string  // for a person: "closed by task t1", "the shell exited with status 0"
	Before string  // the Reason of the end before, if an attempt to reopen the session has failed since then
	Err    error   // nil if it ended as asked or by itself
	// Exit says how the program at the far end ended, if that is known. If ptyctl has hung up (Code), it is a result
	// of the hang-up, and no status of the program's own: see ProgramExit.
	Exit term.Exit
}

// known is ProgramExit for the record; nil if it is not known.
func (e *End) known() *term.Exit {
	if exit := e.ProgramExit(); exit.Known {
		return &exit
	}
	return nil
}

// ProgramExit is Exit with the status of a program that has ended by itself. One that ptyctl has hung up on has none.
func (e *End) ProgramExit() term.Exit {
	exit := e.Exit
	switch e.Code {
	case EndClosed, EndShutdown, EndIdle, EndMaxAge, EndOrphaned, EndReservation:
		exit.Known, exit.Code, exit.Signal, exit.Suspected = false, 0, "", ""
	}
	return exit
}

// errClosedByCaller is the cause of a session's context after Close; the text is shown as Info.End.Reason.
type errClosedByCaller struct {
	by   string
	code EndCode // empty: EndClosed
}

// Error returns the text for Info.End.Reason.
func (e errClosedByCaller) Error() string { return "closed by " + e.by }

// A life is where a session is between connecting and its end.
//
// The state says what callers may do, the context what goroutines have to stop: Close cancels it at once, and the
// state follows when finish has run.
type life struct {
	session string                  // its id, for errors
	known   *known.View             // the secrets that no error and no reason may show
	began   time.Time               //
	returns bool                    // the session may be reopened
	before  past                    // of the connection before; zero: this is the first one
	ctx     context.Context         // ends with the session; its cause is the reason
	cancel  context.CancelCauseFunc //
	over    chan struct{}           // closed by finish
	told    chan struct{}           // closed when the observers know of the end
	opening chan struct{}           // closed when they know that it is being reopened; nil: it is not

	mu    sync.Mutex // guards the following; locked before the Manager's
	state State
	end   End
	// Why the session has no terminal, but only commands on channels; empty: it has one.
	noTerminal string
	// How what the account runs in place of a shell has ended, while the connection goes on; not known otherwise.
	ranOut   term.Exit
	asked    *question     // the login's question that waits; nil: none does
	agrees   *term.Waiting // the login waits for a person who must agree to an answer; nil: it does not
	warnings []string      // about this connection, beside those of the transport
	progress Reopening     // after a failed attempt to reopen the session
	changed  chan struct{} // closed and replaced when state or asked changes
}

// newLife starts the life of a session in the state Connecting. Its context does not descend from the call that opens
// the session, because the session must outlive that call.
func newLife(session string, known *known.View) *life {
	l := &life{session: session, known: known, began: time.Now(), state: Connecting}
	l.over, l.told, l.changed = make(chan struct{}), make(chan struct{}), make(chan struct{})
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	return l
}

// now returns the session's present state.
func (l *life) now() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// ending returns how the session ended; zero while it lives.
func (l *life) ending() End {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// set moves the session to st and wakes everyone who waits for a change. Requires l.mu.
//
// A channel and no sync.Cond, because each waiter has a deadline of its own.
func (l *life) set(st State) {
	l.state = st
	close(l.changed)
	l.changed = make(chan struct{})
}

// await waits until the state satisfies done, or ctx ends. It returns the last state seen.
func (l *life) await(ctx context.Context, done func(st State, q *term.Prompt) bool) (State, *term.Prompt) {
	for {
		l.mu.Lock()
		// One look under the mutex: a change after it closes this very channel, so none is missed.
		st, q, changed := l.state, l.prompt(), l.changed
		l.mu.Unlock()
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

// awaitPerson notes that the login waits for a person, until over is called; see term.WithPerson.
func (l *life) awaitPerson(w term.Waiting) (over func()) {
	note := func(w *term.Waiting) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.agrees = w
	}
	note(&w)
	return func() { note(nil) }
}

// WaitsForPerson returns the action that a person must agree to before the session's login can go on, or nil. The
// person is asked elsewhere; a caller cannot answer.
func (v SessionView) WaitsForPerson() *term.Waiting {
	l := v.s.life
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.agrees
}

// alive returns the error that says why the session is not open; nil: it is.
func (l *life) alive(op string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ctx.Err() != nil: // it has ended, or Close is at work
		return l.closedError(op, true)
	case l.state == Open:
		return nil
	case l.asked != nil:
		q := l.asked.question
		return &term.Error{
			Op: op, Session: l.session, Kind: term.Busy, Reason: term.ReasonLoginAsks,
			Msg:    "the login waits for an answer",
			Advice: "send it with Session.Write (the key ctrl_c cancels)",
			Facts:  term.Facts{q},
		}
	default:
		return &term.Error{
			Op:      op,
			Session: l.session,
			Kind:    term.Busy,
			Reason:  term.ReasonOpening,
			Msg:     "the session is still " + string(l.state),
			Advice:  "wait until Session.State is Open",
		}
	}
}

// typing returns the error that says why nothing can be typed; nil: it can.
func (l *life) typing(op string) error {
	if err := l.alive(op); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.noTerminal == "" {
		return nil
	}
	return &term.Error{
		Op: op, Session: l.session, Kind: term.Unsupported, Reason: term.ReasonCommandsOnly,
		Msg: "this session has no terminal: " + l.noTerminal, Advice: "run commands with Session.Exec",
	}
}

// typeless reports whether there is no terminal.
func (l *life) typeless() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.noTerminal != ""
}

// closedError says that the session has ended, before op began or while it was under way. Requires that the session's
// context is done.
func (l *life) closedError(op string, before bool) error {
	ended := endedFact(context.Cause(l.ctx))
	ended.Before = before
	if l.returns && EndCode(ended.Code).EndedByFarSide() {
		return &term.Error{
			Op: op, Session: l.session, Kind: term.AlreadyClosed, Reason: term.ReasonMayReopen,
			Msg:    fmt.Sprintf("this session has ended (%s); its output can still be read", ended.Reason),
			Advice: "Manager.Reopen connects it again",
			Facts:  term.Facts{ended},
		}
	}
	return &term.Error{
		Op: op, Session: l.session, Kind: term.AlreadyClosed,
		Msg: fmt.Sprintf(
			"this session has ended (%s); its output can still be read, for anything else open a new one",
			ended.Reason,
		),
		Facts: term.Facts{ended},
	}
}

// endedError says that the session ended while op was under way. Requires that the session's context is done.
//
// It gives the cause, and not the broken pipe or closed channel that op met because of it.
func (l *life) endedError(op string) error {
	if by := (errClosedByCaller{}); errors.As(context.Cause(l.ctx), &by) {
		return l.closedError(op, false)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return &term.Error{
		Op: op, Session: l.session, Kind: term.RemoteClosed, Err: l.end.Err,
		Msg:   "the session ended meanwhile (" + l.end.Reason + "); its output can still be read",
		Facts: term.Facts{l.end.fact()},
	}
}

// transportError names op and the session in an error of the transport.
func (l *life) transportError(op string, err error) error {
	err = l.known.Error(err)
	if e, ok := errors.AsType[*term.Error](err); ok {
		named := *e
		named.Op, named.Session = op, l.session
		return &named
	}
	return &term.Error{Op: op, Session: l.session, Kind: term.IOError, Err: err}
}

// An EndCode is why a session ended, for a program. New ones are added, and none may ever be
// renamed.
type EndCode string

// The codes.
const (
	EndClosed       EndCode = "closed"        // by a caller
	EndShutdown     EndCode = "shutdown"      // by the end of the Manager
	EndIdle         EndCode = "idle"          // nothing happened for its idle timeout
	EndMaxAge       EndCode = "max_age"       // it reached the longest age, or OpenRequest.Life
	EndOrphaned     EndCode = "orphaned"      // no client had it for the time that a session may be without one
	EndReservation  EndCode = "reservation"   // it no longer had its device, because its Reservation has ended
	EndExited       EndCode = "exited"        // the program ended; End.Exit has its status
	EndKilled       EndCode = "killed"        // a signal ended the program; End.Exit names it
	EndRemoteClosed EndCode = "remote_closed" // the far side closed the terminal, without a status
	EndLost         EndCode = "lost"          // the connection broke
	EndNotOpened    EndCode = "not_opened"    // it was never open; End.Err says why
	EndFault        EndCode = "fault"         // a fault in this library ended it
)

// An endCause is the cause of a session's context after an end that no caller has asked for.
type endCause struct {
	reason string
	code   EndCode
}

// Error returns the text of Info.End.Reason.
func (e endCause) Error() string { return e.reason }

// endCode implements codedCause.
func (e endCause) endCode() EndCode { return e.code }

// endCode implements codedCause.
func (e errClosedByCaller) endCode() EndCode {
	if e.code == "" {
		return EndClosed
	}
	return e.code
}

// A codedCause is the cause of the end of a session's context that knows the code.
type codedCause interface {
	error
	endCode() EndCode
}

// endedFact is the fact in an error about the end of a session with that cause.
func endedFact(cause error) term.Ended {
	f := term.Ended{Reason: cause.Error()}
	if c, ok := cause.(codedCause); ok { //nolint:errorlint // a cause is not wrapped
		f.Code = string(c.endCode())
	}
	return f
}

// fact is the fact in an error about the end.
func (e End) fact() term.Ended { return term.Ended{Reason: e.Reason, Code: string(e.Code)} }

// sessionError returns the error of an operation on the session with that id.
func sessionError(op, id string, k term.Kind, msg string) *term.Error {
	return &term.Error{Op: op, Session: id, Kind: k, Msg: msg}
}
