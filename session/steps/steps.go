package steps

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"time"

	"ptyctl/session/display"
	"ptyctl/session/match"
	"ptyctl/term"
)

// An Input is one write: text, or a key.
type Input struct {
	Data      []byte
	Key       string        // pressed instead of Data
	Click     display.Point // clicked instead of Data
	Sensitive bool          // keep the content out of events, and its echo out of the output
	Paste     bool          // type Data as pasted text
	Secret    string        // the name of a secret, which is typed instead of Data, with enter
}

// A Step is the input typed at once, and the condition before the next step.
type Step struct {
	Inputs []Input // one after the other, without a wait between them
	Wait   Wait
}

// types reports whether the step types anything.
func (s Step) types() bool {
	return slices.ContainsFunc(s.Inputs, func(in Input) bool {
		return in.Key != "" || in.Click.Row > 0 || len(in.Data) > 0 || in.Secret != ""
	})
}

// A Wait is the condition of a step: the first of its members that is met. The zero value waits for nothing.
type Wait struct {
	Until   *regexp.Regexp
	Clean   bool // Until matches clean text
	Prompt  bool // the last line is a prompt
	Idle    time.Duration
	WaitFor []*regexp.Regexp // for the unfinished last line
	Screen  display.Wait     // a condition of the screen
	Timeout time.Duration    // the longest to wait for it; 0: as long as the list may

	IncludeEcho bool // the echo of the input meets Until too
	Whole       bool // of a step without input: the output before the list counts too
}

// any reports whether there is a condition.
func (w Wait) any() bool {
	return w.Until != nil || w.Prompt || w.Idle > 0 || len(w.WaitFor) > 0 || w.Screen.Any()
}

// limit returns a context that ends with the time of the step.
func (w Wait) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if w.Timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, w.Timeout)
}

// A Stop says why the rest of a list was not done.
type Stop string

// The reasons.
const (
	Unmatched Stop = "unmatched" // a step was typed, and its condition was not met
	Refused   Stop = "refused"   // an input was refused, or failed
	Taken     Stop = "taken"     // another holder took the lock
	Time      Stop = "time"      // the time of the list was over, or the far side did not take an input
	Canceled  Stop = "canceled"  // the context ended
)

// A Result says how far a list went.
type Result struct {
	Cursor  int64 // end of the output before the first input
	Last    int64 // the same before the last step that was begun; Latest if that types nothing
	Done    int   // steps that were done: the index of the first one that was not, if the list stopped
	Typed   bool  // that step was typed whole, and only its condition was not met
	Stopped Stop  // empty: all was done
	Err     error // why an input was refused; the session's view of a takeover

	Written  int  // bytes of all inputs that the transport has taken
	Pending  int  // bytes of the last input that may still go out
	TimedOut bool // the far side did not take the last input in time
	Answered bool // an input has answered a question of the login

	Late     bool       // the condition that was not met has had its time, and nothing else has ended the wait
	OwnEcho  bool       // the condition that was not met has matched in the echo alone
	Echo     match.Echo // of the input since the last condition was met
	Warnings []string   // of the inputs
}

// Typed is the outcome of one input.
type Typed struct {
	Cursor           int64 // end of the output before it
	Written, Pending int
	TimedOut         bool
	Answered         bool   // it has answered a question of the login
	Echoed           []byte // the text that the terminal may show of it
	Warnings         []string
}

// An Outcome is how a wait ended.
type Outcome struct {
	Met     bool
	OwnEcho bool  // Until has matched in the echo alone
	Err     error // it was not begun
}

// A Terminal is a session as a list sees it. Its methods return when their context ends.
type Terminal interface {
	LastLine() string // the unfinished one
	End() int64       // of the output

	// Type types one input of the step with that index.
	Type(ctx context.Context, step int, in Input) (Typed, error)

	// Judged waits until the login has judged an answer, and reports whether it has.
	Judged(ctx context.Context) bool

	// Await waits for a condition in the output from a cursor on, or from now on.
	Await(ctx context.Context, w Wait, from int64, echo match.Echo) Outcome
}

// Latest is the cursor of a step that has typed nothing: a prompt that is there already meets its condition.
const Latest int64 = -1

// A TakenError is the cause of the end of a context by which Run learns that another holder has the terminal.
type TakenError struct{}

// Error says that in words.
func (TakenError) Error() string { return "another holder took the terminal" }

// Run types the steps. It takes no longer than limit, plus the time in which the terminal refuses an input.
func Run(ctx context.Context, t Terminal, list []Step, limit time.Duration) Result {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTime)
	defer cancel()
	r := runner{t: t, ctx: ctx}
	r.res.Cursor = t.End()
	r.res.Last = r.res.Cursor
	for i, step := range list {
		r.res.Done, r.res.Typed = i, false
		if !r.do(i, step) {
			return r.res
		}
	}
	r.res.Done = len(list)
	r.res.Echo = match.EchoOf(r.ahead, r.line)
	return r.res
}

// errTime is the cause of a context after the time of its list.
var errTime = errors.New("the time of the list is over")

// A runner is a list under way.
type runner struct {
	t   Terminal
	ctx context.Context // of the list
	res Result

	ahead []byte // the input since the last condition was met, as far as its echo is shown
	line  string // the unfinished line before that
}

// do does one step, and reports whether the list goes on.
func (r *runner) do(i int, step Step) bool {
	if r.over() {
		return false
	}
	var cursor int64
	for n, in := range step.Inputs {
		if n > 0 && r.over() {
			return false
		}
		if len(r.ahead) == 0 {
			r.line = r.t.LastLine()
		}
		typed, err := r.t.Type(r.ctx, i, in)
		if n == 0 {
			cursor = typed.Cursor
			r.res.Last = cursor
		}
		if i == 0 && n == 0 {
			r.res.Cursor = typed.Cursor
		}
		r.ahead = append(r.ahead, typed.Echoed...)
		r.res.Written += typed.Written
		r.res.Pending, r.res.TimedOut = typed.Pending, typed.TimedOut
		r.res.Warnings = append(r.res.Warnings, typed.Warnings...)
		switch {
		case err != nil:
			return r.stop(r.failed(err), err)
		case typed.TimedOut:
			return r.stop(Time, nil)
		case typed.Answered:
			r.res.Answered, r.ahead = true, nil
			if !r.t.Judged(r.ctx) {
				r.res.Typed = n == len(step.Inputs)-1
				return !r.over() && r.stop(Time, nil)
			}
		}
	}
	r.res.Typed = step.types()
	switch {
	case step.types():
	case step.Wait.Whole:
		cursor = 0
	default:
		cursor = Latest
		r.res.Last = Latest
	}
	return r.await(step.Wait, cursor)
}

// await waits for the condition of the step that was typed at a cursor.
func (r *runner) await(w Wait, cursor int64) bool {
	if !w.any() {
		return true
	}
	ctx, cancel := w.limit(r.ctx)
	defer cancel()
	var echo match.Echo
	if !w.IncludeEcho {
		echo = match.EchoOf(r.ahead, r.line)
	}
	out := r.t.Await(ctx, w, cursor, echo)
	r.ahead = nil
	switch {
	case out.Err != nil:
		return r.stop(Refused, out.Err)
	case out.Met:
		return true
	case r.over():
	default:
		r.res.Late = ctx.Err() != nil
		r.stop(Unmatched, nil)
	}
	r.res.OwnEcho = out.OwnEcho
	return false
}

// over stops the list if its context has ended.
func (r *runner) over() bool {
	if r.ctx.Err() == nil {
		return false
	}
	r.stop(r.ended(), nil)
	return true
}

// ended says why the context has ended.
func (r *runner) ended() Stop {
	switch cause := context.Cause(r.ctx); {
	case errors.Is(cause, errTime):
		return Time
	case errors.As(cause, new(TakenError)):
		return Taken
	}
	return Canceled
}

// failed says why an input was not typed.
func (r *runner) failed(err error) Stop {
	locked := false
	switch term.KindOf(err) {
	case term.Locked, term.LockRequired:
		locked = true
	case term.Canceled:
	default:
		return Refused
	}
	switch {
	case r.ctx.Err() != nil:
		return r.ended()
	case locked && (r.res.Done > 0 || r.res.Written > 0 || term.FactOf[term.TakenOver](err).By != ""):
		return Taken
	}
	return Refused
}

// stop stops the list.
func (r *runner) stop(why Stop, err error) bool {
	r.res.Stopped, r.res.Err = why, err
	return false
}
