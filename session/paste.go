package session

import (
	"cmp"
	"context"
	"errors"
	"time"

	"ptyctl/session/access"
	"ptyctl/session/paced"
	"ptyctl/session/steps"
	"ptyctl/term"
)

type (
	// A Pace says how the lines of a text are typed one by one; see package paced. The session sets Ready, Asks, Errors,
	// Transcript and Progress, and chooses the mode if it is empty.
	Pace = paced.Options
	// A PasteResult says how far the lines of a text went.
	PasteResult = paced.Result
	// A PasteStop says why the rest of the lines was not typed.
	PasteStop = paced.Stop
)

// Paste types the lines of r.Command one by one, each when the far side has answered the one before, as r.Pace says. It
// is a command in the terminal like those of [Session.Exec], which the calls that take an ID wait for, read and cancel.
// Its output has the lines that were answered with text, and the text.
//
// Each line is judged and recorded as a write of its own just before it goes out. No other caller types from the first
// line to the last. A lock that the caller holds is extended as long as the lines take. Another holder of the lock stops
// the lines.
//
// An error means that nothing was typed. All else that stops the lines is in ExecResult.Lines.
func (s *Session) Paste(ctx context.Context, r ExecRequest) (ExecResult, error) {
	if r.Pace == nil {
		r.Pace = new(Pace)
	}
	r.line.asWrites, r.Lane = true, LaneTerminal
	began := time.Now()
	r.Timeout = cmp.Or(r.Timeout, defaultExecTimeout)
	r.Wait = cmp.Or(r.Wait, r.Timeout+settle)
	x, err := func() (*run, error) {
		// Text that can never be typed is refused before the wait for the terminal.
		if err := s.life.typing("write"); err != nil {
			return nil, err
		}
		if err := s.ServerView().MayType(ctx); err != nil {
			return nil, err
		}
		epoch, _ := s.lock.Table.Check(s.id, access.HolderOf(term.ActorFrom(ctx)))
		return s.execs.startTyped(ctx, r, epoch)
	}()
	if err != nil {
		s.auth.Begin(access.WithStep(ctx, 0), term.VerbWrite, term.Event{}).End(err)
		return ExecResult{}, err
	}
	defer s.execs.letGo(x)
	return s.execs.collect(ctx, x, ContinueRequest{
		Wait: r.Wait - time.Since(began), MaxOutput: r.MaxOutput, Match: r.Match,
	})
}

// typeLines begins to type the lines of a command that is prepared, in a goroutine of the session.
func (e *execs) typeLines(ctx context.Context, x *run, r ExecRequest, epoch uint64) error {
	s, c := e.s, x.typed
	if r.line.asWrites { // which are on record, and no command is
		x.recorded = nil
	}
	if err := c.Begin(ctx, x.ctx, x.id); err != nil {
		return err
	}
	// The context ends with the command and not with the call, although it acts for the caller.
	alone, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	release := context.AfterFunc(x.ctx, func() { stop(context.Cause(x.ctx)) })
	list, t, err := s.writer.take(alone, s.o.WriteTimeout, 1, "")
	if err != nil {
		release()
		stop(nil)
		c.Release()
		return err
	}
	over := func() {
		t.end()
		release()
		stop(nil)
		c.Release()
	}
	x.sentBytes = len(r.Command)
	l := &lineTyper{out: s.writer, by: t.by, epoch: epoch, judged: !r.line.asWrites}
	progress := func(so paced.Result) { x.lines.Store(&so) }
	ok := s.execs.launch(x, func() (term.Exit, error) {
		defer over()
		res := c.Pace(list, x.stdout, l.Line, progress)
		switch cause := context.Cause(list); {
		case res.Stopped != paced.Canceled && term.KindOf(res.Err) != term.Locked:
		case errors.As(cause, new(steps.TakenError)):
			res.Stopped, res.Err = paced.Taken, s.writer.taken(t.by, epoch)
		case errors.Is(cause, context.DeadlineExceeded):
			res.Stopped = paced.Timeout
		case s.life.ctx.Err() != nil:
			res.Stopped = paced.Closed
		case res.Typed > 0 && res.Err != nil:
			res.Stopped = paced.Taken
		}
		if res.Typed == 0 && res.Err != nil {
			x.refused = res.Err
		}
		x.lines.Store(&res)
		return term.Exit{}, nil
	})
	if !ok {
		over()
		return s.life.endedError("exec")
	}
	return nil
}

// A lineTyper types the lines of a command, one by one, for its caller.
type lineTyper struct {
	out    *writer
	by     Holder
	epoch  uint64 // of the lock when the command began; 0: it was not held
	judged bool   // the command was, with all its lines
	begun  bool   // a line was typed: a person's consent was for that one
}

// A typedLine is a line that may be typed.
type typedLine struct {
	*lineTyper
	d       *access.Call // nil: the line is no action of its own
	epoch   uint64
	written int
	text    string
	step    *int
}

// Line permits a line.
func (l *lineTyper) Line(ctx context.Context, number int, text string) (paced.Line, error) {
	s := l.out.s
	_, _ = s.lock.Table.Renew(s.id, l.by, paced.DefaultLineTimeout+s.o.WriteTimeout)
	t := &typedLine{lineTyper: l, epoch: l.epoch, text: text + "\r"}
	if l.judged {
		if err := s.lock.StillHeld("exec", l.by, l.epoch); err != nil {
			return nil, err
		}
		return t, nil
	}
	ctx = access.WithStep(ctx, number-1)
	if l.begun && term.ConsentFrom(ctx) != nil {
		ctx = term.WithConsent(ctx, term.Consent{})
	}
	l.begun = true
	t.step = access.StepFrom(ctx)
	t.d = s.auth.Begin(ctx, term.VerbWrite, term.Event{Size: len(t.text)})
	err := s.life.typing("write")
	if err == nil && l.epoch != 0 { // without the lock each line would be permitted that no other holder's lock forbids
		err = s.lock.StillHeld("write", l.by, l.epoch)
	}
	if err == nil {
		act := term.Action{FarSide: s.shells.reads(LaneTerminal, ExecRequest{})}
		// A person at a terminal types passwords like any other line, and marks none of them.
		if t.d.Event.Sensitive = term.ActorFrom(ctx).Operator; !t.d.Event.Sensitive {
			t.d.Event.Data, act.Data = []byte(t.text), []byte(t.text)
		}
		t.epoch, err = t.d.Permit(ctx, act)
	}
	if err != nil {
		t.d.End(err)
		return nil, err
	}
	return t, nil
}

// Type implements paced.Line.
func (t *typedLine) Type(ctx context.Context, part []byte) (int, error) {
	t.out.line.Type(part)
	res, err := t.out.send(ctx, part, permit{epoch: t.epoch, whole: true})
	t.written += res.Written
	if err == nil && res.TimedOut {
		err = sessionError("write", t.out.s.id, term.ExecTimeout,
			"the terminal does not take what is typed; read what it shows; a signal or close does not wait for it")
	}
	return res.Written + res.Pending, err
}

// End implements paced.Line.
func (t *typedLine) End(err error) {
	verb := term.VerbExec
	if t.d != nil {
		verb = term.VerbWrite
		if t.d.Event.Size = t.written; !t.d.Event.Sensitive {
			t.d.Event.Data = []byte(t.text)[:min(t.written, len(t.text))]
		}
		t.d.End(err)
	}
	if t.written > 0 {
		t.out.s.input.Add(TxEvent{Verb: verb, Task: t.by.String(), Bytes: t.written, Step: t.step,
			Sensitive: t.d != nil && t.d.Event.Sensitive})
	}
}
