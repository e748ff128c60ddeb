package kpty

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ptyctl/mcpapi"
	"ptyctl/session"
	"ptyctl/term"
)

// A Code is the error_code of a failure.
type Code string

// The codes of the contract, and InvalidArgument, which is for calls that are wrong in themselves.
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

// codes are those of ptyctl's kinds. For the other kinds it depends on what was tried.
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

// codeOf is the code of a failure of that kind in an action; "" is one before the action was known.
func codeOf(kind term.Kind, action string) Code {
	code, known := codes[kind]
	switch {
	case action == "spawn" && code != AccessDenied: // whatever it was, there is no terminal
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

// A failure is the answer to a call that has failed, and the error that makes it one.
type failure struct {
	OK        bool      `json:"ok"` // false
	ErrorCode Code      `json:"error_code"`
	Message   string    `json:"message"` // what happened, and what to do next
	Retryable bool      `json:"retryable"`
	Cause     term.Kind `json:"cause"` // the same in ptyctl's own codes, which are finer
	SessionID string    `json:"session_id,omitempty"`

	*shown                // what was put out before it failed
	Omitted int64         `json:"omitted_bytes,omitempty"`
	Stopped *bool         `json:"stopped,omitempty"` // [PTY_TIMEOUT of run] the command is gone
	ExecID  string        `json:"exec_id,omitempty"` // [run] shows more of the output
	Waiting *term.Waiting `json:"waiting_for,omitempty"`
	Bytes   *int          `json:"bytes_written,omitempty"`
	ending                // [PTY_PROCESS_EXITED]

	Field   string   `json:"field,omitempty"` // [PTY_INVALID_ARGUMENT] and the next two
	Allowed []string `json:"allowed,omitempty"`
	Example string   `json:"example,omitempty"`

	err error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// newFailure makes the answer for an error in an action.
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
	if d := e.Details; d != nil {
		f.Waiting, f.Bytes, f.Field, f.Allowed, f.Example = d.WaitingFor, d.BytesWritten, d.Field, d.Allowed, d.Example
	}
	f.Message = advice(e, action)
	if f.ErrorCode == ProcessExited { // the same call cannot succeed
		f.Retryable = false
	}
	return f
}

// fail is mcpapi.Toolset.Fail.
func fail(err error) mcpapi.Answer {
	f, ok := errors.AsType[*failure](err)
	if !ok { // refused before it came to an action
		f = newFailure(err, "")
	}
	text, _ := encode(f) // of texts and numbers
	return mcpapi.Answer{Text: string(text), Structured: text, IsError: true}
}

// failure makes the answer for an error on the call's session.
func (c *call) failure(e *term.Error) *failure {
	f := newFailure(e, c.Action())
	if f.ErrorCode == ProcessExited && c.s != nil {
		f.ending = endingOf(c.s)
	}
	return f
}

// timeout is the failure of a call that was given up.
func (c *call) timeout(what string) *failure {
	f := c.failure(&term.Error{Op: c.Action(), Session: c.s.ID(), Kind: term.ExecTimeout})
	f.Message = what
	return f
}

// failed completes the failure of a call. Whoever is told that the program has ended is given what it had put out.
func (c *call) failed(ctx context.Context, err error) error {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	e, ok := errors.AsType[*term.Error](err)
	if !ok || e.Kind == term.InvalidArgument && e.Op == "" { // of the call itself
		return err
	}
	f := c.failure(e)
	if f.ErrorCode == ProcessExited && c.s != nil && c.Action() != "read" {
		m := c.bookmark(ctx)
		if m.take(ctx, time.Second) {
			k := c.s.Read(ctx, session.ReadRequest{Cursor: m.place(), MaxBytes: c.maxBytes()})
			m.move(k.Next)
			m.release()
			was := c.chunk(k)
			f.shown = &was
		}
	}
	f.err = err
	return f
}

// advice says what happened and what to do next, in the words of this tool. The engine's own words are for its own tools.
func advice(e *term.Error, action string) string {
	d := e.Details
	if d == nil {
		d = new(term.Details)
	}
	switch e.Kind {
	case term.NotFound:
		return fmt.Sprintf("there is no session %q: list shows the sessions there are, and spawn starts a new one", e.Session)
	case term.AlreadyClosed, term.RemoteClosed:
		return fmt.Sprintf(
			"the program of this session has ended (%s): what it had put out is in output, and for anything else spawn a new session",
			d.EndReason,
		)
	case term.Busy:
		return busy(d)
	case term.Locked:
		return fmt.Sprintf(
			"%s has the lock of this session until %s: only read is allowed until it gives the lock back",
			d.LockHolder,
			time.UnixMilli(d.LockExpiresAt).UTC().Format(time.RFC3339),
		)
	case term.LockRequired:
		return "this session may only be used with its lock, which this tool does not take: only read is allowed; spawn a session of your own"
	case term.ExecTimeout:
		return "the shell was not ready for a command in time, so nothing was run: read shows what has the terminal; answer it with write, or try again"
	case term.LimitExceeded:
		return limit(d, action)
	case term.Internal:
		return "a fault in ptyctl; its log has the cause. Other sessions are not affected"
	}
	switch {
	case action == "spawn" && d.Field == "argv[0]":
		return "there is no such shell, or it cannot be executed: pass shell as the path of a program, without arguments, or leave it out for the user's shell"
	case action == "write" && d.BytesWritten != nil:
		return e.Message() + `; read shows what has the terminal, write \u0003 interrupts it if it obeys, and kill ends the session`
	}
	return e.Message()
}

// busy says what keeps something from being typed.
func busy(d *term.Details) string {
	switch {
	case d.Prompt != nil:
		return fmt.Sprintf(
			"the login of this session waits for an answer (%s): send it with write, and sensitive true if it is a secret",
			d.Prompt.Text,
		)
	case d.WaitingFor != nil:
		return fmt.Sprintf(
			`the terminal does not show a shell that is ready (%s: %q), so nothing was run: read shows what has it; answer it with write or talk, or interrupt it with write \u0003`,
			d.WaitingFor.Kind,
			d.WaitingFor.Text,
		)
	}
	return `a command is running in this session already, so nothing was run: wait for it (run with its exec_id), answer it with write, interrupt it with write \u0003, or spawn another session`
}

// limit says which of the operator's limits is met.
func limit(d *term.Details, action string) string {
	if action == "read" || action == "talk" {
		return "as many reads wait as may (" + d.Limit + "): read again with timeout_ms 0, which does not wait, or later"
	}
	return "a limit of the operator's is reached (" + d.Limit + "): kill a session that is no longer needed, and try again"
}
