package paced

import (
	"context"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// A Mode is the event to wait for after a line, before the next one is typed.
type Mode string

// The modes.
const (
	Prompt Mode = "prompt" // the far side shows its prompt again
	Echo   Mode = "echo"   // the line has come back, and its row has ended
	Delay  Mode = "delay"  // a time has passed: the far side shows nothing that could be waited for
)

// Modes returns all modes.
func Modes() []string { return []string{string(Prompt), string(Echo), string(Delay)} }

// The times.
const (
	// DefaultLineTimeout is how long a line may be unanswered. A console server's echo was seen to come 20 s late.
	DefaultLineTimeout = 60 * time.Second

	// DefaultLineDelay is Options.LineDelay of the mode Delay.
	DefaultLineDelay = 200 * time.Millisecond
)

// Options say how to type.
type Options struct {
	Mode        Mode
	LineDelay   time.Duration            // between an answer and the next line; with Delay, between two lines
	CharDelay   time.Duration            // between two characters
	LineTimeout time.Duration            // for the answer to one line; 0: DefaultLineTimeout
	Ready       func(line string) bool   // whether the unfinished last line is a prompt
	Asks        func(line string) string // the kind of question that it is; empty: none. Nil: not known
	Errors      []*regexp.Regexp         // answers that refuse a line
	StopOnError bool                     // such an answer ends it
	Progress    func(Result)             // called at the beginning, and after each answered line; nil: no caller wants to know
	Transcript  io.Writer                // gets the lines that were answered with text, and the text, as they come; nil: none
}

// A Terminal is the terminal that Run types into. Its methods return when their context ends.
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

	// Clean returns output as clean text, without overwritten parts.
	Clean(p []byte) string

	// Line asks whether a line may be typed. An error stops the text before the line.
	Line(ctx context.Context, number int, text string) (Line, error)
}

// A Line is a line that may be typed.
type Line interface {
	// Type types a part of it as it is; the last one has its line end. It returns how many bytes went out, or may still
	// do; if that is not all, with an error.
	Type(ctx context.Context, part []byte) (n int, err error)

	// End says that no more of it will be typed.
	End(err error)
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
	if o.Ready == nil {
		o.Ready = func(string) bool { return false }
	}
	r := runner{ctx: ctx, t: t, o: o, report: report{w: o.Transcript}, answers: answers{cursor: t.End()}}
	for _, u := range units {
		r.res.Lines += len(u.Lines)
	}
	r.progress()
	done := true
	for _, u := range units {
		if done = r.unit(u); !done {
			break
		}
	}
	if done {
		r.last()
	}
	return r.res
}

// A runner is a text under way.
type runner struct {
	ctx context.Context
	t   Terminal
	o   Options
	report
	answers

	number  int // of the line
	line    string
	above   string        // the line before
	typing  Line          // nil: no part of the line is to be typed any more
	inside  bool          // of a block: its lines are no commands
	slowest time.Duration // answer so far
}

// unit types one unit and waits for its answer.
func (r *runner) unit(u Unit) bool {
	for i, line := range u.Lines {
		last := i == len(u.Lines)-1
		r.inside = i > 0 && r.o.Mode != Delay
		began := time.Now()
		if !r.send(u.First+i, line) || !r.answered(last) {
			return false
		}
		r.slowest = max(r.slowest, time.Since(began))
		if i == 0 && !last && r.o.Mode != Delay && !r.opened() {
			return false
		}
		r.res.Taken++
		if !r.note(last) {
			return false
		}
		r.progress()
		if r.o.Mode != Delay && r.o.LineDelay > 0 && !r.pause(r.o.LineDelay) {
			return false
		}
	}
	return true
}

// probe is how much of a line goes out first where nothing shows that the far side reads. A UART holds 16 bytes.
const probe = 8

func (r *runner) progress() {
	if r.o.Progress != nil {
		r.o.Progress(r.res)
	}
}

// send types a line. Where no prompt shows that the far side reads, which it may not do while it works at the line
// before, only the beginning goes out until that has come back.
func (r *runner) send(number int, line string) (ok bool) {
	if r.o.Mode != Prompt && !r.inside && !r.unasked() {
		return false
	}
	r.next()
	row := r.t.LastLine()
	_, prompt, ready := r.promptIn(row)
	r.above = r.line
	r.number, r.line, r.echo = number, line, newEcho(line, row, ready, r.t.Cols())
	if !ready {
		prompt = row
	}
	r.report.begin(prompt)
	typing, err := r.t.Line(r.ctx, number, line)
	if err != nil {
		return r.failed(err)
	}
	defer func() { typing.End(r.res.Err) }()
	r.typing = typing
	beginning := ""
	if r.inside || r.o.Mode == Echo {
		beginning = line[:runes(line, probe)]
	}
	if beginning != "" {
		back := func() time.Duration {
			if r.echo.has(beginning) {
				return 0
			}
			return unmet
		}
		if !r.put(beginning) || !r.await(back) || !r.judged() || r.inside && !r.stillInside(beginning) {
			return false
		}
	}
	if !r.put(line[len(beginning):] + "\r") {
		return false
	}
	r.res.Half = false
	return true
}

// put types text, with the time between characters.
func (r *runner) put(text string) bool {
	if r.o.CharDelay <= 0 {
		return r.typed(text)
	}
	for i, c := range text {
		if (i > 0 || r.res.Half) && !r.pause(r.o.CharDelay) || !r.typed(string(c)) {
			return false
		}
	}
	return true
}

func (r *runner) typed(text string) bool {
	n, err := r.typing.Type(r.ctx, []byte(text))
	if n > 0 {
		r.res.Typed, r.res.Half = r.number, true
	}
	if err != nil {
		return r.failed(err)
	}
	return true
}

// failed stops it where a line is not typed.
func (r *runner) failed(err error) bool {
	if r.ctx.Err() != nil {
		return r.stop(Canceled)
	}
	if r.t.Ended() {
		return r.stop(Closed)
	}
	r.res.Err = err
	return r.stop(Refused)
}

// runes returns the bytes of the first characters of s, n bytes at most.
func runes(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// stop ends it at the line under way.
func (r *runner) stop(why Stop) bool {
	r.look()
	r.report.flush(r.line)
	r.report.stop(why, r.number, r.line, strings.TrimSpace(r.t.Clean(r.behind())))
	return false
}
