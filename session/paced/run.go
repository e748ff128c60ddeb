package paced

import (
	"context"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// A Mode is what a line waits for before the next one is typed.
type Mode string

// The modes.
const (
	Prompt Mode = "prompt" // the far side shows its prompt again
	Echo   Mode = "echo"   // the line has come back, and its row has ended
	Delay  Mode = "delay"  // a time has passed: the far side shows nothing that could be waited for
)

// The times.
const (
	// DefaultLineTimeout is how long a line may be unanswered. A console server's echo was seen to come 20 s late.
	DefaultLineTimeout = 60 * time.Second

	// DefaultLineDelay is Options.LineDelay of the mode Delay.
	DefaultLineDelay = 200 * time.Millisecond

	// unechoed is how long a prompt must stand that came without the echo of the line: a report that came between has
	// made the far side draw its prompt again.
	unechoed = time.Second

	// probe is how much of a line goes out first where nothing shows that the far side reads. A UART holds 16 bytes.
	probe = 8

	// refusal is how long a block's first line may take to be refused.
	refusal = 200 * time.Millisecond

	// question is how long an unfinished line must stand to count as a question.
	question = time.Second
)

// The most that is kept of the answers.
const (
	maxAnswers = 200
	maxAnswer  = 1 << 10  // of one
	maxPending = 64 << 10 // of the output of one line
)

// Options say how to type.
type Options struct {
	Mode        Mode
	LineDelay   time.Duration            // between an answer and the next line; with Delay, between two lines
	CharDelay   time.Duration            // between two characters
	LineTimeout time.Duration            // for the answer to one line; 0: DefaultLineTimeout
	Ready       func(line string) bool   // whether the unfinished last line is a prompt; required with Prompt
	Asks        func(line string) string // the kind of question that it is; empty: none. Nil: not known
	Errors      []*regexp.Regexp         // answers that refuse a line
	StopOnError bool                     // such an answer ends it
	Progress    func(lines int)          // called after each answered line; nil: nobody wants to know
}

// A Terminal is what Run types into. Its methods return when their context ends.
type Terminal interface {
	Cols() int        // 0: not known
	End() int64       // of the output
	LastLine() string // the unfinished one, as a person sees it

	// Output returns the output from a cursor on, as it came, and the cursor behind it. It returns no more than a part
	// if there is much.
	Output(from int64) (p []byte, next int64)

	// Changed returns a channel that is closed when there is more output, or none will come any more.
	Changed() <-chan struct{}

	// Ended reports whether the terminal has ended.
	Ended() bool

	// Clean returns output as clean text, without what was overwritten.
	Clean(p []byte) string

	// Type types data as it is. Data that is not typed, or not in whole, is an error.
	Type(ctx context.Context, data []byte) error
}

// A Stop says why the rest was not typed.
type Stop string

// The reasons.
const (
	Refused    Stop = "refused"    // an answer matched Errors
	Unanswered Stop = "unanswered" // a line had no answer in its time
	Asked      Stop = "asked"      // the far side asks something
	Blocked    Stop = "blocked"    // the far side did not begin to read a block
	Ended      Stop = "ended"      // the terminal ended
	Failed     Stop = "failed"     // a line was not typed: Result.Err says why
	Canceled   Stop = "canceled"   // the context ended
)

// An Answer is what the far side has said to a line beyond its echo.
type Answer struct {
	Line    int    // its number, from 1; of a block, that of its last line so far
	Sent    string // the line
	Text    string // clean, cut to 1 KiB
	Refused bool   // it matched Errors
}

// A Result says how far it went.
type Result struct {
	Lines    int      // in all
	Answered int      // lines to which the far side has answered, as the mode has it: the first ones
	Typed    int      // lines that went out: Answered, or one more
	Half     bool     // the last of them was not entered: a part of it stands in the terminal, or may come late
	Stopped  Stop     // empty: all was typed and answered
	Err      error    // of Failed
	Question string   // of Asked: the kind
	Answers  []Answer // of lines that were answered with text, the first 200
	Omitted  int      // answers that are not in Answers
	Refusals int      // answers that matched Errors
}

// Run types units, and returns when all is answered or something has stopped it. At no time is more than one line
// unanswered, except in the mode Delay.
func Run(ctx context.Context, t Terminal, units []Unit, o Options) Result {
	if o.LineTimeout <= 0 {
		o.LineTimeout = DefaultLineTimeout
	}
	if o.Mode == Delay && o.LineDelay <= 0 {
		o.LineDelay = DefaultLineDelay
	}
	r := runner{ctx: ctx, t: t, o: o, cursor: t.End()}
	for _, u := range units {
		r.res.Lines += len(u.Lines)
	}
	for _, u := range units {
		if !r.unit(u) {
			break
		}
	}
	return r.res
}

// A runner is a text under way.
type runner struct {
	ctx context.Context
	t   Terminal
	o   Options
	res Result

	unit0   Unit // under way
	line    string
	cursor  int64  // how far the output was looked at
	pending []byte // output since the line went out
	echo    *echo
	echoes  bool // the far side has echoed a line
	silent  int  // lines in a row without an echo
}

// unit types one unit and waits for its answer.
func (r *runner) unit(u Unit) bool {
	r.unit0 = u
	for i, line := range u.Lines {
		last := i == len(u.Lines)-1
		if !r.send(u.First+i, line, r.o.Mode == Echo || i > 0) {
			return false
		}
		var ok bool
		switch {
		case r.o.Mode == Delay:
			ok = r.pause(r.o.LineDelay)
		case r.o.Mode == Echo || !last:
			ok = r.await(r.echoed)
		default:
			ok = r.await(r.prompted)
		}
		if ok && i == 0 && !last && r.o.Mode != Delay {
			ok = r.begun()
		}
		if !ok {
			return false
		}
		r.res.Answered++
		if r.o.Progress != nil {
			r.o.Progress(r.res.Answered)
		}
		if !r.note(u.First+i, last) {
			return false
		}
		if r.o.Mode != Delay && r.o.LineDelay > 0 && !r.pause(r.o.LineDelay) {
			return false
		}
	}
	return true
}

// send types a line. If it is to probe, no prompt shows that the far side reads, which it may not do while it works at the
// line before: then only the beginning goes out until that has come back.
func (r *runner) send(number int, line string, probes bool) bool {
	r.line, r.echo, r.pending = line, newEcho(line, r.t.Cols()), r.pending[:0]
	r.look() // what has come before is no answer
	r.echo, r.pending = newEcho(line, r.t.Cols()), r.pending[:0]
	r.res.Typed, r.res.Half = number, true
	beginning := ""
	if probes && r.o.Mode != Delay && len(line) > probe {
		beginning = line[:runes(line, probe)]
		if !r.put(beginning) || !r.await(func() time.Duration {
			if r.echo.has(beginning) {
				return 0
			}
			return -1
		}) {
			return false
		}
	}
	r.res.Half = !r.put(line[len(beginning):] + "\r")
	return !r.res.Half
}

// put types text, with the time between characters.
func (r *runner) put(text string) bool {
	if r.o.CharDelay <= 0 {
		return r.typed(text)
	}
	for i, c := range text {
		if i > 0 && !r.pause(r.o.CharDelay) || !r.typed(string(c)) {
			return false
		}
	}
	return true
}

func (r *runner) typed(text string) bool {
	err := r.t.Type(r.ctx, []byte(text))
	switch {
	case err == nil:
		return true
	case r.ctx.Err() != nil:
		return r.stop(Canceled)
	}
	r.res.Err = err
	return r.stop(Failed)
}

// runes returns the bytes of the first characters of s, n bytes at most.
func runes(s string, n int) int {
	for n < len(s) && n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// look takes in what has come.
func (r *runner) look() {
	for {
		p, next := r.t.Output(r.cursor)
		if next == r.cursor {
			return
		}
		r.cursor = next
		r.echo.feed(p)
		r.pending = append(r.pending, p...)
		if n := len(r.pending); n > maxPending { // the beginning says more about a refusal than the end
			r.pending = r.pending[:maxPending]
		}
	}
}

// await waits until met says that the line is answered. met returns how long the terminal must stay as it is for that;
// a negative time means that it is not answered so.
func (r *runner) await(met func() time.Duration) bool {
	over := time.NewTimer(r.o.LineTimeout)
	defer over.Stop()
	standing := time.NewTimer(0)
	defer standing.Stop()
	for {
		changed := r.t.Changed()
		r.look()
		rest := met()
		if rest == 0 {
			return true
		}
		asks := ""
		if rest < 0 && r.o.Asks != nil {
			if asks = r.o.Asks(r.t.LastLine()); asks != "" {
				rest = question
			}
		}
		standing.Stop()
		var stood <-chan time.Time
		if rest > 0 {
			standing.Reset(rest)
			stood = standing.C
		}
		if r.t.Ended() {
			return r.stop(Ended)
		}
		select {
		case <-changed:
		case <-stood:
			if asks == "" {
				return true
			}
			r.res.Question = asks
			return r.stop(Asked)
		case <-over.C:
			return r.stop(Unanswered)
		case <-r.ctx.Done():
			return r.stop(Canceled)
		}
	}
}

// echoed is met when the row of the echo has ended.
func (r *runner) echoed() time.Duration {
	if r.echo.ended {
		return 0
	}
	return -1
}

// prompted is met when the prompt stands behind the echo. A far side that shows no echo is believed when its prompt has
// stood for a while.
func (r *runner) prompted() time.Duration {
	newline := strings.Contains(string(r.pending), "\n")
	switch {
	case !newline || !r.o.Ready(r.t.LastLine()):
		return -1
	case r.echo.ended:
		r.echoes, r.silent = true, 0
		return 0
	case !r.echoes && r.silent >= 3:
		return refusal
	}
	return unechoed
}

// begun reports whether the far side reads a block: it shows no prompt after the first line.
func (r *runner) begun() bool {
	if !r.pause(refusal) {
		return false
	}
	if r.o.Ready == nil || !r.o.Ready(r.t.LastLine()) {
		return true
	}
	r.res.Answered++
	r.note(r.unit0.First, true)
	if r.res.Stopped == "" {
		r.stop(Blocked)
	}
	return false
}

// note keeps the answer to a line, and stops if it refuses the line. Without last, a block goes on.
func (r *runner) note(number int, last bool) bool {
	r.look()
	if r.o.Mode == Prompt && !r.echo.ended && last {
		r.silent++
	}
	text := r.answer()
	refused := false
	for _, e := range r.o.Errors {
		refused = refused || e.MatchString(text)
	}
	if refused {
		r.res.Refusals++
	}
	if text != "" && (last || refused) {
		if len(r.res.Answers) < maxAnswers || refused && r.o.StopOnError {
			r.res.Answers = append(r.res.Answers, Answer{Line: number, Sent: r.line, Text: cut(text), Refused: refused})
		} else {
			r.res.Omitted++
		}
	}
	if refused && r.o.StopOnError {
		return r.stop(Refused)
	}
	return true
}

// answer returns the output since the line without its echo and without the prompt.
func (r *runner) answer() string {
	behind := r.pending
	if r.echo.seen {
		behind = behind[min(r.echo.size, len(behind)):]
	}
	text := r.t.Clean(behind)
	body, unfinished := "", text
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		body, unfinished = text[:i], text[i+1:]
	}
	if r.o.Ready == nil || !r.o.Ready(unfinished) {
		body = text
	}
	return strings.TrimSpace(body)
}

func cut(text string) string {
	if len(text) <= maxAnswer {
		return text
	}
	return strings.ToValidUTF8(text[:maxAnswer], "") + "..."
}

// pause waits, and takes in what comes.
func (r *runner) pause(d time.Duration) bool {
	over := time.NewTimer(d)
	defer over.Stop()
	for {
		changed := r.t.Changed()
		r.look()
		if r.t.Ended() {
			return r.stop(Ended)
		}
		select {
		case <-changed:
		case <-over.C:
			return true
		case <-r.ctx.Done():
			return r.stop(Canceled)
		}
	}
}

// stop ends it.
func (r *runner) stop(why Stop) bool {
	r.res.Stopped = why
	return false
}
