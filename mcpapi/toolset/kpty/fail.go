package kpty

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

// A Code is the error_code of a failure.
type Code string

// The codes of the contract. InvalidArgument is an addition for calls with wrong
// arguments, for example a missing field.
const (
	SessionNotFound Code = "PTY_SESSION_NOT_FOUND"
	SpawnFailed     Code = "PTY_SPAWN_FAILED"
	Timeout         Code = "PTY_TIMEOUT"
	ProcessExited   Code = "PTY_PROCESS_EXITED"
	WriteFailed     Code = "PTY_WRITE_FAILED"
	ReadFailed      Code = "PTY_READ_FAILED"
	AccessDenied    Code = "PTY_ACCESS_DENIED"
	InvalidArgument Code = "PTY_INVALID_ARGUMENT"
)

// codes maps the kinds of ptyctl to codes. For the kinds that are missing here, codeOf
// decides by the action.
var codes = map[term.Kind]Code{
	term.InvalidArgument: InvalidArgument,
	term.NotFound:        SessionNotFound,
	term.AlreadyClosed:   ProcessExited,
	term.RemoteClosed:    ProcessExited,
	term.ConnectTimeout:  SpawnFailed,
	term.ConnectFailed:   SpawnFailed,
	term.AuthFailed:      SpawnFailed,
	term.HostKeyUnknown:  SpawnFailed,
	term.HostKeyMismatch: SpawnFailed,
	term.HostKeyRevoked:  SpawnFailed,
	term.NegotiationLoop: SpawnFailed,
	term.Locked:          AccessDenied,
	term.LockRequired:    AccessDenied,
	term.PolicyDenied:    AccessDenied,
	term.ExecTimeout:     Timeout,
}

// codeOf returns the code for a failure of the given kind. The action is "" if the call
// failed before its action was known.
func codeOf(kind term.Kind, action string) Code {
	code, known := codes[kind]
	switch {
	case action == "spawn" && code != AccessDenied: // every other failure means that there is no terminal
		return SpawnFailed
	case known:
		return code
	case action == "read" || action == "list" || action == "help":
		return ReadFailed
	case action == "":
		return InvalidArgument
	}
	return WriteFailed
}

// A failure is the JSON answer to a failed call. It is also the error that carries this
// answer from an action to fail.
type failure struct {
	OK        bool      `json:"ok"` // false
	ErrorCode Code      `json:"error_code"`
	Message   string    `json:"message"` // what happened, and what to do next
	Retryable bool      `json:"retryable"`
	Cause     term.Kind `json:"cause"` // the same in ptyctl's own codes, which are finer
	SessionID string    `json:"session_id,omitempty"`

	*shown                // output before the failure
	Omitted int64         `json:"omitted_bytes,omitempty"`
	Stopped *bool         `json:"stopped,omitempty"` // [PTY_TIMEOUT of run] whether the command has ended
	ExecID  string        `json:"exec_id,omitempty"` // [run] pass it to run for more of the output
	Waiting *wire.Waiting `json:"waiting_for,omitempty"`
	Bytes   *int          `json:"bytes_written,omitempty"`
	ending                // [PTY_PROCESS_EXITED]

	Field   string   `json:"field,omitempty"`   // [PTY_INVALID_ARGUMENT] and the next two
	Allowed []string `json:"allowed,omitempty"` // values that Field may have
	Example string   `json:"example,omitempty"`

	err error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// newFailure describes err as the result of action. An error that is not a *term.Error is
// a fault in ptyctl: the message must not show its text, which may hold secrets.
func newFailure(err error, action string) *failure {
	e, ok := errors.AsType[*term.Error](err)
	if !ok {
		e = &term.Error{Kind: term.Internal, Err: err}
	}
	f := &failure{
		ErrorCode: codeOf(e.Kind, action),
		Retryable: e.Kind.Retryable(),
		Cause:     e.Kind,
		SessionID: e.Session,
		err:       err,
	}
	if d := wire.DetailsOf(e); d != nil {
		f.Waiting, f.Bytes, f.Field, f.Allowed, f.Example = d.WaitingFor, d.BytesWritten, d.Field, d.Allowed, d.Example
	}
	f.Message = advice(e, action)
	if f.ErrorCode == ProcessExited { // a retry of the same call cannot succeed
		f.Retryable = false
	}
	return f
}

// fail implements toolset.Set.Fail.
func fail(err error) wire.Answer {
	f, ok := errors.AsType[*failure](err)
	if !ok { // refused before an action was chosen, put to a person after it, or for another node, which has not answered
		action := ""
		switch e, ok := errors.AsType[*term.Error](err); {
		case !ok:
		case term.NeedsPerson(e):
			if action = "run"; e.Session == "" {
				action = "spawn"
			}
		default:
			action = e.Op
		}
		f = newFailure(err, action)
	}
	text, _ := encode(f) // encodes only strings and numbers and cannot fail
	return wire.Answer{Text: string(text), Structured: text, IsError: true}
}

// failure describes an error on the call's session. If the program has ended, it adds the
// exit code or the signal.
func (c *call) failure(e *term.Error) *failure {
	f := newFailure(e, c.Action())
	if f.ErrorCode == ProcessExited && c.s != nil {
		f.ending = endingOf(c.s)
	}
	return f
}

// timeout returns the failure of a call that ran out of time; message says how to go on.
func (c *call) timeout(message string) *failure {
	f := c.failure(&term.Error{Op: c.Action(), Session: c.s.ID(), Kind: term.ExecTimeout})
	f.Message = message
	return f
}

// failed completes the failure of a call. If the program has ended, the answer also has
// the output that the caller has not read yet, because a caller that learns of the end
// has little reason to read again.
func (c *call) failed(ctx context.Context, err error) error {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	e, ok := errors.AsType[*term.Error](err)
	if !ok || e.Kind == term.InvalidArgument && e.Op == "" { // wrong arguments: fail describes them
		return err
	}
	f := c.failure(e)
	if f.ErrorCode == ProcessExited && c.s != nil && c.Action() != "read" {
		m := c.bookmark(ctx)
		if m.take(ctx, time.Second) {
			k := c.s.Read(ctx, session.ReadRequest{Cursor: m.place(), MaxBytes: c.maxBytes(), NoWait: true})
			m.move(k.Next)
			m.release()
			rest := c.chunk(k)
			f.shown = &rest
		}
	}
	f.err = err
	return f
}

// advice returns the message of a failure: the cause and the next step in the words of
// k_pty. The messages of the session package cannot be used for these kinds, because they
// do not name k_pty's actions.
func advice(e *term.Error, action string) string {
	d := wire.DetailsOf(e)
	if d == nil {
		d = new(wire.Details)
	}
	switch e.Kind {
	case term.NotFound:
		return fmt.Sprintf("no session %q: list shows the sessions, spawn starts a new one", e.Session)
	case term.AlreadyClosed, term.RemoteClosed:
		return fmt.Sprintf("the program of this session has ended (%s): output has the rest of its output; "+
			"spawn a new session to go on", term.FactOf[term.Ended](e).Reason)
	case term.Busy:
		if term.NeedsPerson(e) {
			break
		}
		return busy(d)
	case term.Locked:
		until := time.UnixMilli(d.LockExpiresAt).UTC().Format(time.RFC3339)
		return fmt.Sprintf("session locked by %s until %s: only read is allowed until the lock is released",
			d.LockHolder, until)
	case term.LockRequired:
		return "this session needs its lock, and k_pty takes no locks: use read, or spawn a session of your own"
	case term.ExecTimeout:
		return "the shell was not ready in time, so nothing was run: read shows what it waits for; " +
			"answer with write, or try again"
	case term.LimitExceeded:
		if d.Limit == "" { // limit on the calls that one node passes on to others
			break
		}
		return limit(d, action)
	case term.NodeUnreachable:
		return wire.Plain(e) + "; try again later: if it stays so, the session is lost, and spawn starts a new one"
	case term.NodeSilent:
		return wire.Plain(e) + "; look before you repeat it: list shows the sessions, read the output of one"
	case term.Internal:
		return "internal error in ptyctl: the cause is in its log; other sessions are not affected"
	}
	switch {
	case action == "spawn" && d.Field == "argv[0]":
		return "no such shell, or not executable: pass the path of a program as shell, without arguments, " +
			"or omit shell for the user's own"
	case action == "write" && d.BytesWritten != nil:
		return wire.Plain(e) + `; read shows the program's output, write \u0003 may interrupt it, kill ends the session`
	}
	return wire.Plain(e)
}

// busy says why nothing can be typed now: a question of the login, a program other than
// the shell, or a command that run has started.
func busy(d *wire.Details) string {
	switch {
	case d.Prompt != nil:
		return fmt.Sprintf("the login of this session asks a question (%s): answer with write; "+
			"pass sensitive true for a secret", d.Prompt.Text)
	case d.WaitingFor != nil:
		return fmt.Sprintf(`no shell is ready on this terminal (%s: %q), so nothing was run: see it with read; `+
			`answer with write or talk, or interrupt it with write \u0003`, d.WaitingFor.Kind, d.WaitingFor.Text)
	}
	return `a command is already running in this session, so nothing was run: wait for it (run with its exec_id), ` +
		`answer it with write, interrupt it with write \u0003, or spawn another session`
}

// limit names the operator's limit that the call has reached.
func limit(d *wire.Details, action string) string {
	if action == "read" || action == "talk" {
		return "too many reads are waiting (" + d.Limit + "): read again with timeout_ms 0, which does not " +
			"wait, or later"
	}
	return "limit of the operator reached (" + d.Limit + "): kill a session that is no longer needed, and try again"
}
