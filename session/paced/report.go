package paced

import (
	"bytes"
	"io"
	"strings"

	"ptyctl/internal/scrub"
)

// A Stop says why the rest was not typed.
type Stop string

// The reasons.
const (
	Error      Stop = "error"      // the answer to a line matched Options.Errors
	Refused    Stop = "refused"    // a line was not to be typed, or could not be: Result.Err says why
	Taken      Stop = "taken"      // another caller took the terminal
	Unanswered Stop = "unanswered" // a line had no answer in its time
	Question   Stop = "question"   // the far side asks something
	Block      Stop = "block"      // the far side shows its prompt in the middle of a block
	Closed     Stop = "closed"     // the terminal ended
	Timeout    Stop = "timeout"    // the time for the whole text was over
	Canceled   Stop = "canceled"
)

// An Answer is the far side's output after a line, without the echo.
type Answer struct {
	Line  int    // its number, from 1; of a block, that of its last line so far
	Sent  string // the line
	Text  string // clean, its first 4 KiB
	Error bool   // it matched Options.Errors
}

// A Result says how far it went. Taken and Typed differ by one at most: then the last line that was typed has no answer,
// and may or may not have been taken.
type Result struct {
	Lines    int      // in all
	Taken    int      // lines that the far side has answered, as the mode has it: the first ones
	Typed    int      // lines that went out: Taken, or one more
	Half     bool     // the last of them was not entered: a part of it is in the terminal, or may come late
	Stopped  Stop     // empty: all was typed and answered, or it is under way
	At       int      // number of the line at which it stopped; 0: it has not
	Line     string   // that line
	Answer   string   // to that line, so far
	Err      error    // of Refused
	Question string   // of Question: the kind
	Answers  []Answer // of lines that were answered with text, the first 1,000 and 64 KiB
	Omitted  int      // answers that are not in Answers, or are cut there
	Errors   int      // answers that matched Options.Errors
}

// The most that is kept of the answers. The output has all.
const (
	maxAnswers = 1000
	maxAnswer  = 4 << 10  // of one
	maxText    = 64 << 10 // of all
	maxPending = 64 << 10 // of the output of one line
)

// A report collects the answers, and writes those that say something to a transcript, each behind its line.
type report struct {
	res  Result
	text int       // bytes of the answers
	w    io.Writer // the transcript; nil: none

	prompt string // at which the line was typed
	begun  bool   // the line is in the transcript
	held   []byte // the unfinished last row, which may be the prompt
}

// add writes a whole answer.
func (r *report) add(prompt, line, text string) {
	if r.w != nil {
		r.begin(prompt)
		r.write(line, []byte(strings.ReplaceAll(text, "\n", "\r\n")+"\r\n"))
	}
}

// begin begins a line that is typed at a prompt.
func (r *report) begin(prompt string) { r.prompt, r.begun, r.held = prompt, false, r.held[:0] }

// longestHeld is how long an unfinished row may be that is held back.
const longestHeld = 4 << 10

// follow writes the finished rows of the answer to a line. p is the next part of the answer: a reader wants the
// beginning of a long answer at once.
func (r *report) follow(line string, p []byte) {
	if r.w == nil {
		return
	}
	r.held = append(r.held, p...)
	end := bytes.LastIndexByte(r.held, '\n') + 1
	if len(r.held)-end > longestHeld {
		end = len(r.held)
	}
	if end > 0 {
		r.write(line, r.held[:end])
		r.held = append(r.held[:0], r.held[end:]...)
	}
}

// flush writes the held-back part of the answer.
func (r *report) flush(line string) {
	if r.w != nil {
		r.write(line, r.held)
	}
	r.held = r.held[:0]
}

// write writes a part of the answer. Blank rows at its beginning are no answer yet.
func (r *report) write(line string, p []byte) {
	// Text that looks like a secret is masked here as in the names of the lines.
	shown := scrub.Text(line)
	if shown != line { // the answer may repeat it
		p = []byte(scrub.Text(string(p)))
	}
	if !r.begun {
		if strings.TrimSpace(string(p)) == "" {
			return
		}
		r.begun = true
		_, _ = io.WriteString(r.w, r.prompt+shown+"\r\n")
	}
	_, _ = r.w.Write(p)
}

// note keeps an answer.
func (r *report) note(a Answer) {
	if a.Error {
		r.res.Errors++
	}
	if a.Text == "" {
		return
	}
	whole := a.Text
	if len(a.Text) > maxAnswer {
		a.Text = strings.ToValidUTF8(a.Text[:maxAnswer], "")
	}
	if len(r.res.Answers) >= maxAnswers || r.text+len(a.Text) > maxText {
		r.res.Omitted++
		return
	}
	if len(a.Text) < len(whole) {
		r.res.Omitted++
	}
	r.text += len(a.Text)
	r.res.Answers = append(r.res.Answers, a)
}

// stop ends it at a line.
func (r *report) stop(why Stop, number int, line, answer string) {
	if len(answer) > maxAnswer {
		answer = strings.ToValidUTF8(answer[len(answer)-maxAnswer:], "")
	}
	r.res.Stopped, r.res.At, r.res.Line, r.res.Answer = why, number, line, answer
}
