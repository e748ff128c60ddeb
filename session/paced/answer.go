package paced

import (
	"bytes"
	"strings"
	"time"
)

// The times that decide whether a line is answered.
const (
	// unmet says that a condition is not met, however long the terminal stays as it is.
	unmet = -1

	// unechoed is how long a prompt without the echo of the line must stay unchanged. If the far side usually echoes,
	// it has probably drawn its prompt again for another reason, and the echo is still to come.
	unechoed     = time.Second
	unechoedLong = 5 * time.Second

	// shortest is the same for a far side that is known to show no echo, and how long the first line of a block may
	// take to be refused.
	shortest = 200 * time.Millisecond

	// question is how long an unfinished line must stay unchanged to count as a question.
	question = time.Second

	// quiet is the silence behind the last line that ends the wait for its answer in the mode Echo, which has no prompt
	// to wait for; settled is the longest such wait.
	quiet   = 500 * time.Millisecond
	settled = 5 * time.Second
)

// answers read the output.
type answers struct {
	cursor  int64  // how far the output was looked at
	pending []byte // output since the line went out, its beginning
	echo    *echo
	before  before

	echoes bool // the far side has echoed a line
	silent int  // lines in a row without an echo
}

// A before is the line before; its answer may come when the next one is typed: in the mode Echo.
type before struct {
	number       int // 0: none
	prompt, line string
	output       []byte // behind its echo
}

// look takes in the new output.
func (r *runner) look() {
	for {
		p, next := r.t.Output(r.cursor)
		if next == r.cursor {
			return
		}
		r.cursor = next
		if r.echo == nil { // nothing was typed
			continue
		}
		ended, size := r.echo.ended, r.echo.size
		r.echo.feed(p)
		if room := maxPending - len(r.pending); room > 0 { // the beginning says more about a refusal than the end
			r.pending = append(r.pending, p[:min(room, len(p))]...)
		}
		switch {
		case r.o.Mode == Echo: // see judged
		case ended:
			r.follow(r.line, p)
		case r.echo.ended:
			r.follow(r.line, p[r.echo.size-size:])
		}
	}
}

// behind returns the output behind the echo; all of it, if there is no echo.
func (r *runner) behind() []byte {
	if r.echo == nil || !r.echo.ended {
		return r.pending
	}
	return r.pending[min(r.echo.size, len(r.pending)):]
}

// next begins to look for the answer to another line.
func (r *runner) next() {
	r.look()
	if r.o.Mode == Echo && r.number > 0 {
		r.before = before{r.number, r.report.prompt, r.line, bytes.Clone(r.behind())}
	}
	r.pending = r.pending[:0]
}

// answered waits until the line is answered as the mode has it. last says that it ends a unit.
func (r *runner) answered(last bool) bool {
	switch {
	case r.o.Mode == Delay:
		return r.pause(r.o.LineDelay)
	case r.o.Mode == Echo:
		return r.await(r.echoed) && r.judged()
	case last:
		return r.await(r.prompted)
	}
	return r.await(r.echoed)
}

// await waits until met says that the line is answered. met returns how long the terminal must stay as it is for that.
func (r *runner) await(met func() time.Duration) bool {
	over := time.NewTimer(r.o.LineTimeout)
	defer over.Stop()
	standing := time.NewTimer(0)
	defer standing.Stop()
	for asked := false; ; {
		changed := r.t.Changed()
		r.look()
		rest := met()
		if rest == 0 {
			return true
		}
		// The terminal is judged only once it is at rest, not at each piece of output: that took a third of the time
		// of a line.
		ask := rest == unmet && r.o.Asks != nil && !r.inside && !asked
		if ask {
			rest = question
		}
		standing.Stop()
		var stood <-chan time.Time
		if rest > 0 {
			standing.Reset(rest)
			stood = standing.C
		}
		if r.t.Ended() {
			return r.stop(Closed)
		}
		select {
		case <-changed:
			asked = false
		case <-stood:
			if !ask {
				return true
			}
			line := r.t.LastLine()
			select {
			case <-changed: // a line that has not stood
				continue
			default:
			}
			if r.res.Question = r.o.Asks(line); r.res.Question != "" {
				return r.stop(Question)
			}
			asked = true
		case <-over.C:
			return r.stop(Unanswered)
		case <-r.ctx.Done():
			return r.stop(Canceled)
		}
	}
}

// unasked reports whether the far side asks nothing, where no prompt shows that it does not: the line would answer.
func (r *runner) unasked() bool {
	if r.o.Asks == nil || r.o.Asks(r.t.LastLine()) == "" {
		return true
	}
	return r.await(func() time.Duration {
		if r.o.Asks(r.t.LastLine()) == "" {
			return 0
		}
		return unmet
	})
}

// echoed is met when the row of the echo has ended.
func (r *runner) echoed() time.Duration {
	if r.echo.ended {
		return 0
	}
	return unmet
}

// prompted is met when the prompt follows the echo. Without an echo, the prompt must stay unchanged for a while.
func (r *runner) prompted() time.Duration {
	newline := bytes.IndexByte(r.pending, '\n') >= 0
	text, _, ready := r.promptIn(r.t.LastLine())
	switch {
	case !newline || !ready:
		return unmet
	case text != "" && !r.echo.ended:
		return unmet
	case text != "":
		return unechoed
	case r.echo.ended:
		r.echoes, r.silent = true, 0
		return 0
	case r.echoes && r.silent < 3:
		return unechoedLong
	case r.silent < 3:
		return unechoed
	}
	return shortest
}

// promptIn takes the unfinished last line apart into the prompt and text before it. That is the end of an answer that has
// no line end, as FRRouting gives it, and the prompt is then the one at which the line was typed.
func (r *runner) promptIn(line string) (text, prompt string, ok bool) {
	if r.o.Ready(line) {
		return "", line, true
	}
	prompt = r.report.prompt
	if text, ok = strings.CutSuffix(line, prompt); ok && r.o.Ready(prompt) {
		return text, prompt, true
	}
	return line, "", false
}

// opened reports whether the far side reads a block: it shows no prompt after the first line. One that is slow gets the
// time for it that its slowest answer took.
func (r *runner) opened() bool {
	if !r.pause(min(max(shortest, 2*r.slowest), question)) {
		return false
	}
	if !r.o.Ready(r.t.LastLine()) {
		return true
	}
	r.res.Taken++
	return r.note(true) && r.stop(Block)
}

// stillInside reports whether the far side still reads a block after the beginning of its next line was typed. If
// not, the far side answered the line before with the prompt.
func (r *runner) stillInside(beginning string) bool {
	line, ok := strings.CutSuffix(r.t.LastLine(), beginning)
	if !ok || line == "" || !r.o.Ready(line) {
		return true
	}
	text := r.answer(r.pending[:min(r.echo.begin, len(r.pending))])
	refused := r.refuses(text)
	r.report.note(Answer{Line: r.number - 1, Sent: r.above, Text: text, Error: refused})
	if refused && r.o.StopOnError {
		r.report.stop(Error, r.number-1, r.above, text)
		return false
	}
	return r.stop(Block)
}

// note keeps the answer to a line, and stops if it refuses the line. Without last, a block goes on.
func (r *runner) note(last bool) bool {
	r.look()
	if r.o.Mode == Echo { // it may come later
		return true
	}
	if !r.echo.ended && last {
		r.silent++
	}
	text := r.answer(r.behind())
	refused := r.refuses(text)
	switch {
	case !r.echo.ended && text != "":
		r.report.add(r.report.prompt, r.line, text)
	case last || refused:
		if end, prompt, _ := r.promptIn(r.t.LastLine()); end != "" {
			r.report.held = bytes.TrimSuffix(r.report.held, []byte(prompt))
			r.report.flush(r.line)
		}
	}
	if text != "" && (last || refused) {
		r.report.note(Answer{Line: r.number, Sent: r.line, Text: text, Error: refused})
	}
	if refused && r.o.StopOnError {
		r.report.stop(Error, r.number, r.line, text)
		return false
	}
	return true
}

// judged keeps the answer to the line before, once the echo of the next one has begun, and stops if it refuses that.
func (r *runner) judged() bool {
	b := r.before
	if b.number == 0 {
		return true
	}
	r.before = before{}
	text := r.answer(append(b.output, r.pending[:min(r.echo.begin, len(r.pending))]...))
	refused := r.refuses(text)
	if text != "" {
		r.report.add(b.prompt, b.line, text)
		r.report.note(Answer{Line: b.number, Sent: b.line, Text: text, Error: refused})
	}
	if refused && r.o.StopOnError {
		r.report.stop(Error, b.number, b.line, text)
		return false
	}
	return true
}

// last waits for the answer to the last line where nothing shows its end.
func (r *runner) last() {
	if r.o.Mode != Echo || r.number == 0 {
		return
	}
	over := time.Now().Add(settled)
	for end := int64(-1); end != r.t.End() && time.Now().Before(over); {
		end = r.t.End()
		if !r.pause(quiet) {
			return
		}
	}
	r.next()
	r.echo = newEcho("", "", false, 0)
	r.judged()
}

func (r *runner) refuses(text string) bool {
	for _, e := range r.o.Errors {
		if e.MatchString(text) {
			return true
		}
	}
	return false
}

// answer returns output without the prompt.
func (r *runner) answer(behind []byte) string {
	text := r.t.Clean(behind)
	body, unfinished := "", text
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		body, unfinished = text[:i], text[i+1:]
	}
	if end, prompt, ready := r.promptIn(unfinished); !ready || end != "" {
		body = strings.TrimSuffix(text, prompt)
	}
	return strings.TrimRight(strings.TrimLeft(body, "\n"), "\n ")
}

// pause waits, and takes in the output.
func (r *runner) pause(d time.Duration) bool {
	over := time.NewTimer(d)
	defer over.Stop()
	for {
		changed := r.t.Changed()
		r.look()
		if r.t.Ended() {
			return r.stop(Closed)
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
