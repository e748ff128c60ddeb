package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"ptyctl/internal/inorder"
	"ptyctl/session/access"
	"ptyctl/session/display"
	"ptyctl/session/keys"
	"ptyctl/session/match"
	"ptyctl/session/prompt"
	"ptyctl/session/redact"
	"ptyctl/term"
)

// WriteOptions say how to treat the data.
//
// A Secret is typed only where the operator permits it: see [term.SecretRequest]. The value is fetched, which may take
// as long as the context lasts, and typed only if the terminal has shown nothing and nothing was typed meanwhile. The
// caller never gets the value.
type WriteOptions struct {
	Sensitive bool          // keep the content out of events, and its echo out of the output
	Key       string        // press this key, in the form the program asked for, instead of typing data
	Click     ScreenPoint   // click there with the left button, as the program asked for, instead of typing data
	Paste     bool          // type data as pasted text: line ends are CR, brackets if the program wants them
	Secret    string        // type this one of Options.Secrets and the enter key, instead of typing data
	Timeout   time.Duration // 0: the session's WriteTimeout
	Turn      time.Duration // longest wait for the end of another call's steps or lines; 0: Timeout

	private bool // keep the content out of events
}

// A WriteResult is the outcome of a write. Being stuck is a value, not an error.
type WriteResult struct {
	Cursor   int64 // end of the output before the write: reading from here misses nothing of the answer
	Written  int   // bytes the transport has taken; 1 for a secret by name, to hide its length
	Pending  int   // bytes handed to the transport that it had not taken when the call returned; they may still go out
	TimedOut bool
	Answered bool // the data answered the login's question instead of being typed
	Echo     Echo // of the data, for ReadRequest.Echo; empty for a key and for sensitive data

	// Warnings says which parts of the data the caller probably did not mean: a key spelled as text, a line longer
	// than a terminal takes, a paste that the program has not asked for. The data was still typed as given.
	Warnings []string
}

// Write types data into the terminal, or answers the question the login waits with.
// Writes are serial: one that waits for another gives up at its deadline with nothing written.
// With an error, the result says how much went out before it.
//
// While another call types a list of steps (WriteSteps), a write waits for its end, and is Busy if that does not come
// in time.
func (s *Session) Write(ctx context.Context, data []byte, o WriteOptions) (WriteResult, error) {
	defer inorder.Pass(ctx)
	if err := s.writer.awaitTurn(ctx, cmp.Or(o.Turn, o.Timeout, s.o.WriteTimeout)); err != nil {
		s.auth.Begin(ctx, term.VerbWrite, term.Event{Sensitive: o.Sensitive, Detail: o.Key}).End(err)
		return WriteResult{Cursor: s.End()}, err
	}
	return s.writer.write(ctx, data, o)
}

// write is Write for a caller that has the turn.
func (out *writer) write(ctx context.Context, data []byte, o WriteOptions) (WriteResult, error) {
	s := out.s
	if o.Secret != "" {
		return out.typeSecret(ctx, o)
	}
	// Such a key is no byte: it is a command of Telnet (RFC 854) or a request of SSH (RFC 4335).
	if keys.IsProtocol(o.Key) {
		return out.pressProtocolKey(ctx, o.Key, o.Timeout)
	}
	key, known := data, true
	if o.Click != (ScreenPoint{}) {
		var err error
		if err = s.life.alive("write"); err == nil {
			key, err = out.click(o.Click)
		}
		if err != nil {
			s.auth.Begin(ctx, term.VerbWrite, term.Event{Detail: clickKey}).End(err)
			return WriteResult{Cursor: s.End()}, err
		}
		o.Key = clickKey
	} else if o.Key != "" {
		key, known = keys.Bytes(o.Key, s.window.modes().AppCursor)
	}
	if known {
		// A question comes before the terminal: while it waits, the input is most likely a password.
		before := s.End() // the effects of the answer come after it
		if q := s.Question(); q != nil {
			res := WriteResult{Cursor: before}
			err := q.give(ctx, key)
			if err == nil {
				res.Written, res.Answered = len(key), true
			}
			return res, err
		}
	}
	// A person who is attached types passwords like any other line, and marks none of them.
	o.private = o.Sensitive || term.ActorFrom(ctx).Operator
	d := s.auth.Begin(ctx, term.VerbWrite, term.Event{Size: len(key), Sensitive: o.private, Detail: o.Key})
	res, err := out.typeIn(ctx, d, key, o)
	d.End(err)
	return res, err
}

// clickKey names a click where other inputs have the name of a key.
const clickKey = "click"

// click returns the bytes of the terminal for a click.
func (out *writer) click(at ScreenPoint) ([]byte, error) {
	b, err := out.s.display.Click(at)
	if err != nil {
		kind := term.InvalidArgument
		if errors.Is(err, display.ErrNoMouse) {
			kind = term.Unsupported
		}
		return nil, &term.Error{
			Op: "write", Session: out.s.id, Kind: kind, Msg: err.Error() + "; the click was not typed",
			Facts: term.Facts{term.ArgumentFault{Field: term.FieldClick}},
		}
	}
	return b, nil
}

// MayType asks the Gate whether the caller may type at all. It types nothing and records nothing, and the Gate judges
// each later input for itself. The lock is not asked.
func (v SessionView) MayType(ctx context.Context) error {
	s := v.s
	_, err := s.auth.Judge(ctx, term.Action{Verb: term.VerbWrite, FarSide: s.shells.reads(LaneTerminal, ExecRequest{})})
	return err
}

// typeIn is Write once nothing but the terminal can be meant.
func (out *writer) typeIn(ctx context.Context, d *access.Call, data []byte, o WriteOptions) (WriteResult, error) {
	s := out.s
	const op = "write"
	res := WriteResult{Cursor: s.End()}
	if o.Key != "" && data == nil {
		return res, out.unknownKey(o.Key)
	}
	if err := s.life.typing(op); err != nil {
		return res, err
	}
	secret := data // without the brackets of a paste, which no terminal echoes
	var err error
	if o.Paste {
		if data, res.Warnings, err = s.writer.pasted(data); err != nil {
			return res, err
		}
	}
	// The Gate judges the bytes that go out: for pasted text, the form with brackets and other line ends.
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
		out.line.Type(data)
	}
	var echo *redact.Expectation
	var shown Echo
	switch {
	case o.Sensitive:
		// The echo can be back before the write returns, so it is expected before the first byte goes out.
		echo, err = s.writer.expectEcho(secret)
	case o.Key == "" || o.Key == "enter": // an editor may draw the line again when it is entered
		shown = match.EchoOf(secret, s.LastLine())
	}
	if err == nil {
		if res, err = s.writer.send(
			ctx, data, permit{epoch: epoch, timeout: o.Timeout, turn: o.Turn, echo: echo},
		); res.Written+res.Pending == 0 {
			// No echo will come; text that looks like one from now on is output.
			echo.Canceled()
		}
		err = withWritten(err, res.Written)
		if res.Written > 0 {
			key := o.Key
			if key == "" {
				key = keys.Name(data)
			}
			s.input.Add(
				TxEvent{
					Verb:      term.VerbWrite,
					Task:      access.HolderOf(term.ActorFrom(ctx)).String(),
					Bytes:     res.Written,
					Key:       key,
					Sensitive: o.private,
					Step:      access.StepFrom(ctx),
				},
			)
		}
	}
	res.Warnings, res.Echo = warnings, shown
	d.Event.Size = res.Written
	if !o.private {
		d.Event.Data = data[:res.Written]
	}
	return res, err
}

// unknownKey is the error for a key that has no name.
func (out *writer) unknownKey(name string) error {
	return &term.Error{
		Op:      "write",
		Session: out.s.id,
		Kind:    term.InvalidArgument,
		Msg:     keys.Unknown(name),
		Facts:   term.Facts{term.ArgumentFault{Field: term.FieldKey}},
	}
}

// expectEcho keeps the echo of a secret, which is about to be typed, out of the output.
func (out *writer) expectEcho(secret []byte) (*redact.Expectation, error) {
	s := out.s
	e, err := s.redact.Expect(secret)
	if err == nil {
		s.display.Expect(secret)
	}
	if err != nil {
		return nil, sessionError("write", s.id, term.LimitExceeded,
			fmt.Sprintf(
				"the echo of more than %d bytes or %d lines of secrets within %s could not be kept out of the output, "+
					"so nothing was written; wait, write less at a time, or do not mark as sensitive what is no secret",
				redact.MaxBytes,
				redact.MaxLines,
				redact.Window,
			))
	}
	return e, nil
}

// warnings checks the input for mistakes that the caller probably did not intend. The data is typed as given in any
// case. Of sensitive data, a warning repeats at most an escape at the end.
func (out *writer) warnings(data []byte, sensitive bool) (warnings []string) {
	s := out.s
	if text := keys.Spelled(string(data), sensitive); text != "" {
		warnings = append(warnings, text)
	}
	// A line editor, or a full-screen program, takes lines of any length.
	n, m := out.line.Type(data), s.window.modes()
	if n > keys.MaxLine && !m.BracketedPaste && !m.AltScreen {
		warnings = append(
			warnings,
			fmt.Sprintf(
				"a line of %d bytes: unless the program reads keys one by one, the terminal takes %d bytes of a line "+
					"and silently drops the rest; "+
					"send shorter lines%s",
				n,
				keys.MaxLine,
				s.execs.beside(", or pass long data as stdin of a command in the channel lane"),
			),
		)
	}
	return warnings
}

// pasted returns data as a terminal sends pasted text, and a warning if the program may not take it as such.
func (out *writer) pasted(data []byte) (text []byte, warnings []string, err error) {
	s := out.s
	text, split, ok := keys.Paste(data, s.window.modes().BracketedPaste)
	if !ok {
		return nil, nil, &term.Error{
			Op:      "write",
			Session: s.id,
			Kind:    term.InvalidArgument,
			Msg:     `the data holds ESC [ 201 ~, which would end the paste, and what follows it would act as keys; remove it`,
			Facts:   term.Facts{term.ArgumentFault{Field: term.FieldData}},
		}
	}
	if split {
		warnings = []string{
			"the program has not asked for bracketed paste: the lines were typed one by one, each with enter",
		}
	}
	return text, warnings, nil
}

// pressProtocolKey has the transport press a key of its protocol. It is on record like any other.
func (out *writer) pressProtocolKey(
	ctx context.Context,
	name string,
	timeout time.Duration,
) (res WriteResult, err error) {
	s := out.s
	const op = "write"
	d := s.auth.Begin(ctx, term.VerbWrite, term.Event{Detail: name})
	defer func() { d.End(err) }()
	res.Cursor = s.End()
	if err := s.life.typing(op); err != nil {
		return res, err
	}
	sender := s.link.Load().keys
	if sender == nil {
		return res, &term.Error{
			Op:      op,
			Session: s.id,
			Kind:    term.Unsupported,
			Msg:     fmt.Sprintf("this session's protocol has no key %s; to interrupt what runs press ctrl_c", name),
			Facts:   term.Facts{term.ArgumentFault{Field: term.FieldKey}},
		}
	}
	epoch, err := d.Permit(ctx, term.Action{Key: name})
	if err != nil {
		return res, err
	}
	timeout = cmp.Or(timeout, s.o.WriteTimeout)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// The Gate and the Journal may have taken their time.
	if err := out.awaitTurn(ctx, timeout); err != nil {
		return res, err
	}
	if err := s.lock.StillHeld(op, access.HolderOf(term.ActorFrom(ctx)), epoch); err != nil {
		return res, err
	}
	// Taken before the key has an effect: this is the line at which it was pressed.
	line, end := s.lane.LastLine(), s.End()
	err = sender.SendKey(ctx, name)
	if !errors.Is(err, term.Unsupported) { // otherwise the terminal is unchanged
		s.prompts.Touch(prompt.Input{Line: line, End: end})
		s.input.Add(TxEvent{
			Verb: term.VerbWrite, Task: access.HolderOf(term.ActorFrom(ctx)).String(), Key: name, Step: access.StepFrom(ctx),
		})
		s.timeouts.touch()
		if name == term.KeyBreak || name == term.KeyInterruptProcess {
			s.lane.Input([]byte("\x03")) // it means the same to the running program
		}
	}
	if err != nil {
		return res, s.life.transportError(op, err)
	}
	return res, nil
}

// A TxEvent says that something was typed, never the text.
type TxEvent = access.TxEvent

// TxEvents returns the last inputs, oldest first, if Options.RecordTxEvents is set.
func (s *Session) TxEvents() []TxEvent { return s.input.Events() }
