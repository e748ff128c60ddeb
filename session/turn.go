package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/internal/inorder"
	"ptyctl/session/access"
	"ptyctl/session/keys"
	"ptyctl/session/match"
	"ptyctl/session/steps"
	"ptyctl/session/transfer"
	"ptyctl/term"
)

type (
	// A Step is the input typed at once, and the condition before the next step.
	Step = steps.Step
	// A StepInput is one write of a Step: text, or a key.
	StepInput = steps.Input
	// A StepWait is the condition of a Step.
	StepWait = steps.Wait
	// A StepsResult says how far a list of steps went.
	StepsResult = steps.Result
	// A Stop says why the rest of a list was not done.
	Stop = steps.Stop
)

// Why a list stopped.
const (
	StopUnmatched = steps.Unmatched
	StopRefused   = steps.Refused
	StopTaken     = steps.Taken
	StopTime      = steps.Time
	StopCanceled  = steps.Canceled
)

// WriteSteps types a list of inputs, each step when the condition of the one before is met, and takes at most limit.
//
// No other caller types from the first input to the last: writes of others wait, and no command begins in the terminal.
// Each input is judged and recorded as a write of its own just before it goes out, and may answer a question of the
// login. A lock that the caller holds is extended to the end of the call. Another holder of the lock stops the list.
//
// An error means that nothing was typed: an argument of some step is wrong, or the terminal did not become free. All
// else that stops the list is in the result.
func (s *Session) WriteSteps(ctx context.Context, list []Step, limit time.Duration) (StepsResult, error) {
	if err := s.writer.check(list); err != nil {
		return StepsResult{Cursor: s.End()}, err
	}
	inputs := 0
	for _, step := range list {
		inputs += len(step.Inputs)
	}
	began := time.Now()
	ctx, t, err := s.writer.take(ctx, min(limit, s.o.WriteTimeout), inputs, "")
	if err != nil {
		s.auth.Begin(access.WithStep(ctx, 0), term.VerbWrite, term.Event{}).End(err)
		return StepsResult{Cursor: s.End()}, err
	}
	defer t.end()
	limit -= time.Since(began)
	// It fails for a caller that does not hold the lock: each input of such a caller is judged.
	_, _ = s.lock.Table.Renew(s.id, t.by, limit+s.o.WriteTimeout)
	epoch, _ := s.lock.Table.Check(s.id, t.by)
	res := steps.Run(ctx, &stepped{out: s.writer, turn: t, by: t.by, epoch: epoch}, list, limit)
	if res.Stopped == StopTaken && res.Err == nil {
		res.Err = s.writer.taken(t.by, epoch)
	}
	return res, nil
}

// taken is the error of a list of steps after another holder took the terminal.
func (out *writer) taken(by Holder, epoch uint64) error {
	if err := out.s.lock.StillHeld("write", by, epoch); err != nil {
		return err
	}
	return &term.Error{
		Op: "write", Session: out.s.id, Kind: term.Locked,
		Msg: "another task took this session's lock meanwhile and has given it back; " +
			"read what the terminal shows before you type again",
	}
}

// A turn is the terminal in the hands of one caller, who types a list of steps. The lane begins no command meanwhile.
type turn struct {
	by   Holder
	out  *writer
	over chan struct{}           // closed when others may type again
	stop context.CancelCauseFunc // ends the context of the list
	once sync.Once               // closes over
	lane func()                  // lets commands begin again

	left  atomic.Int32 // inputs that it has yet to type
	moves string       // the id of the copy that moves a file over the terminal; others do not wait for its end
}

type turnKey struct{}

// take begins a turn. It waits for the end of another one, at most limit. The list must run with the context that it
// returns, and will type so many inputs. moves is the id of the copy that moves its file over the terminal; empty: input is
// typed.
func (out *writer) take(ctx context.Context, limit time.Duration, inputs int, moves string) (context.Context, *turn, error) {
	if t := out.turn.Load(); t != nil && t.moves != "" {
		return ctx, nil, out.moving("write", t)
	}
	wait, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	lane, ok := out.s.lane.Reserve(wait)
	switch {
	case ok:
	case ctx.Err() != nil:
		return ctx, nil, out.notWritten(ctx)
	case out.s.life.ctx.Err() != nil:
		return ctx, nil, out.s.life.closedError("write", true)
	default:
		return ctx, nil, out.notFree()
	}
	// Writes that were before it are typed before it. Commands cannot be among them: the lane is reserved.
	at := out.join()
	defer at.leave()
	inorder.Pass(ctx)
	select {
	case <-at.First():
	case <-wait.Done():
		lane()
		if ctx.Err() != nil {
			return ctx, nil, out.notWritten(ctx)
		}
		return ctx, nil, out.notFree()
	case <-out.s.life.ctx.Done():
		lane()
		return ctx, nil, out.s.life.closedError("write", true)
	}
	t := &turn{by: access.HolderOf(term.ActorFrom(ctx)), out: out, over: make(chan struct{}), lane: lane, moves: moves}
	t.left.Store(int32(inputs)) //nolint:gosec // a list of steps is short
	ctx, t.stop = context.WithCancelCause(context.WithValue(ctx, turnKey{}, t))
	out.turn.Store(t)
	return ctx, t, nil
}

// end lets others type.
func (t *turn) end() {
	t.free()
	t.stop(nil)
	t.lane()
}

// free lets others write.
func (t *turn) free() {
	t.once.Do(func() {
		t.out.turn.CompareAndSwap(t, nil)
		close(t.over)
	})
}

// other returns the turn of another caller than that of ctx, or nil.
func (out *writer) other(ctx context.Context) *turn {
	t := out.turn.Load()
	if t == nil || ctx.Value(turnKey{}) == t {
		return nil
	}
	return t
}

// inTheWay is other, but for a person's answer to a question of the login, which waits for no turn: a list may be waiting
// for it.
func (out *writer) inTheWay(ctx context.Context) *turn {
	if term.ActorFrom(ctx).Operator && out.s.life.question() != nil {
		return nil
	}
	return out.other(ctx)
}

// awaitTurn waits, at most limit, until no turn of another caller is in the way.
func (out *writer) awaitTurn(ctx context.Context, limit time.Duration) error {
	if out.inTheWay(ctx) == nil {
		return nil
	}
	over := time.NewTimer(limit)
	defer over.Stop()
	for {
		t := out.inTheWay(ctx)
		if t == nil {
			return nil
		}
		if t.moves != "" {
			return out.moving("write", t)
		}
		select {
		case <-t.over:
		case <-over.C:
			return out.notFree()
		case <-ctx.Done():
			return out.notWritten(ctx)
		case <-out.s.life.ctx.Done():
			return out.s.life.endedError("write")
		}
	}
}

// notFree is the error of a write that has waited for another caller's turn in vain.
func (out *writer) notFree() error {
	return &term.Error{
		Op: "write", Session: out.s.id, Kind: term.Busy, Reason: term.ReasonSteps,
		Msg:    "another call is typing steps or lines into this terminal, or a command is about to begin, so nothing was written",
		Advice: "call again",
	}
}

// moving is the error of an input while t has the terminal.
func (out *writer) moving(op string, t *turn) error {
	return &term.Error{
		Op: op, Session: out.s.id, Kind: term.Busy, Reason: term.ReasonTransfer,
		Msg:    "a file is being moved over this terminal (exec " + t.moves + "), so nothing was typed",
		Advice: "wait for it with Session.ContinueExec, or stop it with Session.CancelExec",
		Facts:  term.Facts{term.Occupied{Exec: t.moves, Channel: out.s.execs.hasChannel()}},
	}
}

// heldBy ends the turn of a caller after another holder took the lock. The new holder may type at once.
func (out *writer) heldBy(by Holder) {
	if t := out.turn.Load(); t != nil && t.by != by {
		t.stop(steps.TakenError{})
		t.free()
	}
}

// check returns the error for the first input that can never be typed.
func (out *writer) check(list []Step) error {
	for _, step := range list {
		for _, in := range step.Inputs {
			var err error
			switch {
			case in.Key != "" && !keys.Known(in.Key):
				err = out.unknownKey(in.Key)
			case in.Key == "" && in.Paste:
				_, _, err = out.pasted(in.Data)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// A stepped is the session as a list of steps sees it.
type stepped struct {
	out   *writer
	turn  *turn
	by    Holder
	epoch uint64 // of the lock when the list began; 0: it was not held
	begun bool   // an input was typed: a person's consent was for that one
}

// LastLine implements steps.Terminal.
func (l *stepped) LastLine() string { return l.out.s.LastLine() }

// End implements steps.Terminal.
func (l *stepped) End() int64 { return l.out.s.End() }

// Type implements steps.Terminal.
func (l *stepped) Type(ctx context.Context, step int, in StepInput) (t steps.Typed, err error) {
	s := l.out.s
	ctx = access.WithStep(ctx, step)
	if l.begun && term.ConsentFrom(ctx) != nil {
		ctx = term.WithConsent(ctx, term.Consent{})
	}
	l.begun = true
	defer l.turn.left.Add(-1)
	t.Cursor = s.End()
	if l.epoch != 0 { // without the lock each input would be permitted that no other holder's lock forbids
		if err := s.lock.StillHeld("write", l.by, l.epoch); err != nil {
			s.auth.Begin(ctx, term.VerbWrite, term.Event{Sensitive: in.Sensitive, Detail: in.Key}).End(err)
			return t, err
		}
	}
	res, err := l.out.write(ctx, in.Data, WriteOptions{
		Sensitive: in.Sensitive, Key: in.Key, Click: in.Click, Paste: in.Paste, Secret: in.Secret,
	})
	t = steps.Typed{
		Cursor: res.Cursor, Written: res.Written, Pending: res.Pending, TimedOut: res.TimedOut, Answered: res.Answered,
		Warnings: res.Warnings,
	}
	switch {
	case in.Sensitive, res.Answered, in.Click.Row > 0, in.Secret != "":
	case in.Key == "enter":
		t.Echoed = []byte("\r")
	case in.Key == "":
		t.Echoed = in.Data
	}
	return t, err
}

// Judged implements steps.Terminal.
func (l *stepped) Judged(ctx context.Context) bool {
	done := func(st State, q *term.Prompt) bool { return st == Open || st.Ended() || q != nil }
	st, q := l.out.s.life.await(ctx, done)
	return done(st, q)
}

// Await implements steps.Terminal.
func (l *stepped) Await(ctx context.Context, w StepWait, from int64, echo match.Echo) steps.Outcome {
	s := l.out.s
	k := sourceOf(s).read(ctx, ReadRequest{
		Cursor: from, Tail: true, MaxBytes: 1, // the output itself is for the end of the list
		Until: w.Until, Clean: w.Clean, Echo: echo, Idle: w.Idle, WaitFor: w.WaitFor, Prompt: w.Prompt, Screen: w.Screen,
	})
	out := steps.Outcome{OwnEcho: k.OwnEcho}
	switch k.Reason {
	case ReasonMatched, ReasonIdle, ReasonStable:
		out.Met = true
	case ReasonInput: // or a question in place of the prompt
		out.Met = len(w.WaitFor) > 0
	case ReasonEOF: // it is quiet from now on
		out.Met = w.Idle > 0 || w.Screen.Stable > 0
	case ReasonLimit:
		out.Err = s.TooManyReads()
	}
	return out
}

// A modem is the terminal in the hands of a transfer, which has the writer's token from its beginning to its end.
type modem struct {
	s       *Session
	t       *turn
	d       *access.Call
	ctx     context.Context
	epoch   uint64
	restore func() // makes the transport as it was
	doubt   string
	under   chan error // of a write that no call waits for any more, or nil
	sent    atomic.Int64
}

// modemLease is for how long a lock is extended with each block: a far side that is slow to answer must not end it.
const modemLease = 3 * time.Minute

// takeTerminal gives the terminal to a transfer. e is the transfer's event. From now on the output goes to the
// transfer, and no other input is typed.
func (out *writer) takeTerminal(ctx context.Context, e term.Event) (_ transfer.Terminal, err error) {
	s := out.s
	m := &modem{s: s, d: s.auth.Begin(ctx, term.VerbWrite, e)}
	defer func() {
		if err != nil {
			m.d.End(err)
		}
	}()
	if err = s.life.typing("write"); err != nil {
		return nil, err
	}
	if m.epoch, err = m.d.Permit(ctx, term.Action{Sensitive: true}); err != nil {
		return nil, err
	}
	if m.ctx, m.t, err = s.writer.take(ctx, s.o.WriteTimeout, 0, e.Exec); err != nil {
		return nil, err
	}
	select {
	case s.writer.token <- struct{}{}:
	case <-m.ctx.Done():
		m.t.end()
		return nil, s.writer.notWritten(ctx)
	}
	release := func() {
		<-s.writer.token
		m.t.end()
	}
	s.writer.setTyped(nil) // the last line is no prompt to type at
	if err = s.tap.Open(); err != nil {
		release()
		return nil, s.life.closedError("write", true)
	}
	m.restore = func() {}
	if clear := s.link.Load().clear; clear != nil {
		if m.restore, m.doubt, err = clear.Transparent(m.ctx); err != nil {
			s.tap.Close()
			release()
			return nil, s.life.transportError("write", err)
		}
	}
	return m, nil
}

// Context implements transfer.Terminal.
func (m *modem) Context() context.Context { return m.ctx }

// Doubt implements transfer.Terminal.
func (m *modem) Doubt() string { return m.doubt }

// Read implements xmodem.Link.
func (m *modem) Read(ctx context.Context, p []byte, wait time.Duration) (int, error) {
	n, err := m.s.tap.Read(ctx, p, wait)
	if errors.Is(err, io.EOF) {
		err = sessionError("copy", m.s.id, term.RemoteClosed, "the terminal ended amid the transfer; read what it says")
	}
	return n, err
}

// Text implements xmodem.Link.
func (m *modem) Text(p []byte) { m.s.tap.Pass(bytes.Clone(p)) }

// Write implements xmodem.Link.
func (m *modem) Write(ctx context.Context, p []byte) error {
	_, _ = m.s.lock.Table.Renew(m.s.id, m.t.by, modemLease)
	if err := m.s.lock.StillHeld("copy", m.t.by, m.epoch); err != nil {
		return err
	}
	return m.put(ctx, p)
}

// Cancel implements xmodem.Link. It works even after the caller has lost the lock: the new holder waits for the token,
// and could do nothing with a program that waits for blocks.
func (m *modem) Cancel(ctx context.Context, p []byte) { _ = m.put(ctx, p) }

// put hands p to the transport. Its Write cannot be canceled, and may outlast the call.
func (m *modem) put(ctx context.Context, p []byte) (err error) {
	s := m.s
	done := make(chan error, 1)
	before, data := m.under, bytes.Clone(p)
	ok := s.group.spawn("write", func() {
		var err error = sessionError("copy", s.id, term.Internal, "a fault in ptyctl ended this session amid a transfer; report the log")
		defer func() { done <- err }()
		if before != nil {
			<-before //nolint:errcheck // its own caller got the error
		}
		n, failed := s.link.Load().Write(data)
		s.writer.countTyped(m.t.by, n)
		m.sent.Add(int64(n))
		s.timeouts.touch()
		if err = nil; failed != nil {
			err = s.writer.writeFailed(failed)
		}
	})
	if !ok {
		return s.life.endedError("copy")
	}
	select {
	case err := <-done:
		m.under = nil
		return err
	case <-ctx.Done():
		m.under = done
		return context.Cause(ctx)
	}
}

// End implements transfer.Terminal.
func (m *modem) End(err error) error {
	s := m.s
	m.restore()
	s.tap.Close()
	free := func() { <-s.writer.token }
	if under := m.under; under == nil || !s.group.spawn("write", func() { <-under; free() }) { //nolint:errcheck // also
		free()
	}
	switch cause := context.Cause(m.ctx); {
	case err == nil:
	case errors.As(cause, new(steps.TakenError)):
		err = s.writer.taken(m.t.by, m.epoch)
	case s.life.ctx.Err() != nil:
		err = s.life.endedError("copy")
	case errors.Is(err, context.DeadlineExceeded):
		err = &term.Error{
			Op: "copy", Session: s.id, Kind: term.IOError, Reason: term.ReasonTransferSlow, Err: err, Msg: "the transfer timed out",
			Advice: "give it more time",
		}
	case m.ctx.Err() != nil:
		err = &term.Error{Op: "copy", Session: s.id, Kind: term.Canceled, Err: err, Msg: "the transfer was canceled"}
	default:
		err = s.life.transportError("copy", err)
	}
	m.t.end()
	m.d.Event.Size = int(m.sent.Load())
	m.d.End(err)
	return err
}
