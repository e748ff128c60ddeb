package session

import (
	"context"
	"sync"
	"time"

	"ptyctl/session/access"
	"ptyctl/session/keys"
	"ptyctl/session/match"
	"ptyctl/session/steps"
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
	began := time.Now()
	ctx, t, err := s.writer.take(ctx, min(limit, s.o.WriteTimeout))
	if err != nil {
		s.auth.Begin(access.WithStep(ctx, 0), term.VerbWrite, term.Event{}).End(err)
		return StepsResult{Cursor: s.End()}, err
	}
	defer t.end()
	limit -= time.Since(began)
	// It fails for a caller who does not hold the lock, of whom each input is judged.
	_, _ = s.lock.Table.Renew(s.id, t.by, limit+s.o.WriteTimeout)
	epoch, _ := s.lock.Table.Check(s.id, t.by)
	res := steps.Run(ctx, &stepped{out: s.writer, by: t.by, epoch: epoch}, list, limit)
	if res.Stopped == StopTaken && res.Err == nil {
		res.Err = s.writer.taken(t.by, epoch)
	}
	return res, nil
}

// taken is the error of a list whose terminal another holder has taken.
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
}

type turnKey struct{}

// take begins a turn. It waits for the end of another one, at most limit. The list must run with the context that it
// returns.
func (out *writer) take(ctx context.Context, limit time.Duration) (context.Context, *turn, error) {
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
	t := &turn{by: access.HolderOf(term.ActorFrom(ctx)), out: out, over: make(chan struct{}), lane: lane}
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

// other returns the turn of another caller than that of ctx; nil: there is none.
func (out *writer) other(ctx context.Context) *turn {
	t := out.turn.Load()
	if t == nil || ctx.Value(turnKey{}) == t {
		return nil
	}
	return t
}

// awaitTurn waits, at most limit, until no other caller has a turn. A person's answer to a question of the login waits
// for none: a list may be waiting for it.
func (out *writer) awaitTurn(ctx context.Context, limit time.Duration) error {
	if out.other(ctx) == nil || term.ActorFrom(ctx).Operator && out.s.life.question() != nil {
		return nil
	}
	over := time.NewTimer(limit)
	defer over.Stop()
	for {
		t := out.other(ctx)
		if t == nil {
			return nil
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

// heldBy ends the turn of a caller whose lock another holder has taken, who may type at once.
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
