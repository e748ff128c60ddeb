package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"ptyctl/session/access"
	"ptyctl/session/keys"
	"ptyctl/session/redact"
	"ptyctl/term"
)

// WriteOptions say how to treat the data.
type WriteOptions struct {
	Sensitive bool          // keep the content out of events, and its echo out of the output
	Key       string        // press this key, in the form the program asked for, instead of typing data
	Paste     bool          // type data as pasted text: line ends are CR, brackets if the program wants them
	Timeout   time.Duration // 0: the session's WriteTimeout

	private bool // keep the content out of events
}

// A WriteResult says what became of a write. Being stuck is a value, not an error.
type WriteResult struct {
	Cursor   int64 // end of the output before the write: reading from here misses nothing of the answer
	Written  int   // bytes the transport has taken
	Pending  int   // bytes handed to the transport that it had not taken when the call returned; they may still go out
	TimedOut bool
	Answered bool // the data answered the login's question instead of being typed

	// Warnings says which parts of the data the caller probably did not mean: a key spelled as text, a line longer than a
	// terminal takes, a paste that the program has not asked for. The data was still typed as given.
	Warnings []string
}

// Write types data into the terminal, or answers the question the login waits with.
// Writes are serial: one that waits for another gives up at its deadline with nothing written.
// With an error, the result says how much went out before it.
func (s *Session) Write(ctx context.Context, data []byte, o WriteOptions) (WriteResult, error) {
	if keys.IsProtocol(o.Key) {
		return s.writer.pressProtocolKey(ctx, o.Key, o.Timeout)
	}
	key, known := data, true
	if o.Key != "" {
		key, known = keys.Bytes(o.Key, s.screen.modes().AppCursor)
	}
	if known {
		before := s.End() // the effects of the answer come after it
		if answered, err := s.answer(ctx, key); answered {
			res := WriteResult{Cursor: before}
			if err == nil {
				res.Written, res.Answered = len(key), true
			}
			return res, err
		}
	}
	o.private = o.Sensitive || term.ActorFrom(ctx).Operator
	d := s.auth.Begin(ctx, term.VerbWrite, term.Event{Size: len(key), Sensitive: o.private, Detail: o.Key})
	res, err := s.writer.typeIn(ctx, d, key, o)
	d.End(err)
	return res, err
}

// MayType asks the Gate whether the caller may type at all. It types nothing and records nothing, and the Gate judges
// each later input for itself. The lock is not asked.
func (s *Session) MayType(ctx context.Context) error {
	_, err := s.auth.Judge(ctx, term.Action{Verb: term.VerbWrite, FarSide: s.shells.reads(LaneTerminal, ExecRequest{})})
	return err
}

// typeIn is Write once nothing but the terminal can be meant.
func (out *writer) typeIn(ctx context.Context, d *access.Call, data []byte, o WriteOptions) (WriteResult, error) {
	s := out.s
	const op = "write"
	res := WriteResult{Cursor: s.End()}
	if o.Key != "" && data == nil {
		return res, &term.Error{
			Op:      op,
			Session: s.id,
			Kind:    term.InvalidArgument,
			Msg:     keys.Unknown(o.Key),
			Facts:   term.Facts{term.ArgumentFault{Field: term.FieldKey}},
		}
	}
	if err := s.life.alive(op); err != nil {
		return res, err
	}
	secret := data // without the brackets of a paste, which no terminal echoes
	var err error
	if o.Paste {
		if data, res.Warnings, err = s.writer.pasted(data); err != nil {
			return res, err
		}
	}
	act := term.Action{Key: o.Key, Sensitive: o.Sensitive, FarSide: s.shells.reads(LaneTerminal, ExecRequest{})}
	d.Event.Size = len(data)
	if !o.private {
		d.Event.Data, act.Data = data, data
	}
	epoch, err := d.Permit(ctx, act)
	if err != nil {
		return res, err
	}
	warnings := res.Warnings
	if o.Key == "" {
		warnings = append(warnings, s.writer.warnings(data, o.private)...)
	} else {
		s.input.line(data)
	}
	var echo *redact.Expectation
	if o.Sensitive {
		echo, err = s.writer.expectEcho(secret)
	}
	if err == nil {
		if res, err = s.writer.send(ctx, data, epoch, o.Timeout, echo); res.Written+res.Pending == 0 {
			echo.Canceled()
		}
		err = withWritten(err, res.Written)
		if res.Written > 0 {
			key := o.Key
			if key == "" {
				key = keys.Name(data)
			}
			s.input.record(
				TxEvent{
					Verb:      term.VerbWrite,
					Task:      access.HolderOf(term.ActorFrom(ctx)).String(),
					Bytes:     res.Written,
					Key:       key,
					Sensitive: o.private,
				},
			)
		}
	}
	res.Warnings = warnings
	d.Event.Size = res.Written
	if !o.private {
		d.Event.Data = data[:res.Written]
	}
	return res, err
}

// expectEcho keeps the echo of a secret, which is about to be typed, out of the output.
func (out *writer) expectEcho(secret []byte) (*redact.Expectation, error) {
	s := out.s
	e, err := s.redact.Expect(secret)
	if err != nil {
		return nil, &term.Error{
			Op:      "write",
			Session: s.id,
			Kind:    term.LimitExceeded,
			Msg: fmt.Sprintf(
				"the echo of more than %d bytes or %d lines of secrets within %s could not be kept out of the output, "+
					"so nothing was written; wait, write less at a time, or do not mark as sensitive what is no secret",
				redact.MaxBytes,
				redact.MaxLines,
				redact.Window,
			),
		}
	}
	return e, nil
}

// send hands permitted data to the transport, when its turn comes. A timeout of 0 is the session's. echo, which may be
// nil, is notified when the data goes out.
func (out *writer) send(
	ctx context.Context,
	data []byte,
	epoch uint64,
	timeout time.Duration,
	echo *redact.Expectation,
) (WriteResult, error) {
	s := out.s
	const op = "write"
	res := WriteResult{Cursor: s.End()}
	setDefault(&timeout, s.o.WriteTimeout)
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()

	select {
	case s.writer.token <- struct{}{}:
	case <-deadline.C:
		res.TimedOut = true
		return res, nil
	case <-ctx.Done():
		return res, &term.Error{
			Op:      op,
			Session: s.id,
			Kind:    term.Canceled,
			Msg:     "canceled before anything was written",
			Err:     ctx.Err(),
		}
	case <-s.life.ctx.Done():
		return res, s.life.endedError(op)
	}
	res.Cursor = s.End()
	w := &write{
		s:     s,
		t:     s.link.Load(),
		data:  bytes.Clone(data),
		by:    access.HolderOf(term.ActorFrom(ctx)),
		epoch: epoch,
		echo:  echo,
		done:  make(chan error, 1),
	}
	if !s.group.spawn(op, w.run) {
		<-s.writer.token
		return res, s.life.endedError(op)
	}
	return res, s.writer.awaitWrite(ctx, w, deadline, &res)
}

// awaitWrite waits for the end of w, its deadline, its caller's or the session's, and fills in res.
func (out *writer) awaitWrite(ctx context.Context, w *write, deadline *time.Timer, res *WriteResult) (err error) {
	s := out.s
	canceled := false
	select {
	case err = <-w.done:
	case <-deadline.C:
		res.TimedOut = true
	case <-ctx.Done():
		canceled = true
	case <-s.life.ctx.Done(): // the transport is being closed, which wakes its Write: the bytes it took still count
		select {
		case err = <-w.done:
		case <-time.After(forcedClose):
		}
	}
	res.Written, res.Pending = w.halt()
	switch total := len(w.data); {
	case err == nil && res.Written == total:
		res.TimedOut = false
	case errors.Is(err, term.Internal): // why the session ends says no more
	case s.life.ctx.Err() != nil:
		res.TimedOut = false
		return s.life.endedError("write")
	case canceled:
		return &term.Error{
			Op:      "write",
			Session: s.id,
			Kind:    term.Canceled,
			Msg:     fmt.Sprintf("canceled after %d of %d bytes", res.Written, total),
			Err:     ctx.Err(),
		}
	}
	return err
}

// withWritten adds to the error of a write how much of it went out before.
func withWritten(err error, n int) error {
	e, ok := errors.AsType[*term.Error](err)
	if !ok {
		return err
	}
	told := *e
	told.Facts = e.Facts.With(term.PartialWrite{Written: n})
	return &told
}

// writeFailed classifies an error of the transport.
func (out *writer) writeFailed(err error) error {
	s := out.s
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		return &term.Error{
			Op:      "write",
			Session: s.id,
			Kind:    term.RemoteClosed,
			Msg:     "the far side takes no more input; read the rest of its output, then open a new session",
			Err:     err,
		}
	}
	return s.life.transportError("write", err)
}
