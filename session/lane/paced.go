package lane

import (
	"context"
	"fmt"
	"io"
	"strings"

	"ptyctl/session/marker"
	"ptyctl/session/paced"
	"ptyctl/session/prompt"
	"ptyctl/session/shell"
	"ptyctl/term"
	"ptyctl/vt"
)

// A device reads one line at a time, and loses input that comes while it works. So a command of several lines for it
// is typed line by line, each when the one before is answered. Such a command is begun by Begin and done by Pace, in
// place of Type and Follow.

// lines are those of such a command.
type lines struct {
	units []paced.Unit  // nil: it is typed at once
	pace  paced.Options // once it has begun
}

// Paced reports whether the command is typed line by line. Requires that Prepare has returned it.
func (l *lines) Paced() bool { return l.units != nil }

// paces reports whether the lines of a request are typed one by one for a class of shell.
func (r *Request) paces(class shell.Class) bool {
	return r.Pace != nil || class == shell.Device && strings.ContainsAny(strings.TrimRight(r.Command, "\r\n"), "\r\n")
}

// cutLines cuts the command into lines and blocks.
func (c *Command) cutLines() (err error) {
	field := term.FieldLines
	if c.r.Pace == nil { // the command of an exec
		field = term.FieldCommand
	}
	invalid := func(format string, args ...any) error {
		return &term.Error{
			Op: "exec", Session: c.l.session, Kind: term.InvalidArgument, Msg: fmt.Sprintf(format, args...),
			Facts: term.Facts{term.ArgumentFault{Field: field}},
		}
	}
	if c.r.Pace != nil && c.r.Pace.Mode == paced.Delay { // which waits for nothing, in blocks or elsewhere
		c.units = paced.Lines(c.r.Command)
	} else if c.units, err = paced.Units(c.r.Command); err != nil {
		return invalid("%v; nothing was typed", err)
	}
	if len(c.units) == 0 {
		return invalid("there are no lines")
	}
	limit := marker.LineLimit(c.sh)
	for _, u := range c.units {
		for i, line := range u.Lines {
			if at := strings.IndexFunc(line, func(r rune) bool { return r != '\t' && isUnseen(r) }); at >= 0 {
				return invalid("line %d holds a character that cannot be seen (%q), which a line editor would take for a key, "+
					"or drop; leave it out: nothing was typed", u.First+i, []rune(line[at:])[0])
			}
			if len(line) > limit {
				return invalid("line %d has %d bytes; this terminal may cut lines beyond %d: nothing was typed",
					u.First+i, len(line), limit)
			}
		}
	}
	return nil
}

// Begin takes the terminal and waits for its prompt, for a command that is typed line by line. The context x ends with
// the command, id names the command. If Begin returns an error, the terminal is free again.
func (c *Command) Begin(ctx, x context.Context, id string) error {
	c.x, c.id = x, id
	if err := c.l.claim(ctx, c); err != nil {
		return err
	}
	err := c.ready(ctx)
	if err == nil {
		err = c.choosePace()
	}
	if err != nil {
		c.Release()
		return err
	}
	c.l.mu.Lock()
	c.sent = true
	c.l.wake()
	c.l.mu.Unlock()
	return nil
}

// choosePace chooses the mode if the request leaves it open: to wait for prompts needs one to go by.
func (c *Command) choosePace() error {
	c.pace = paced.Options{StopOnError: true}
	if c.r.Pace != nil {
		c.pace = *c.r.Pace
	}
	known := c.r.Prompt != nil || prompt.Looks(c.before)
	switch {
	case c.pace.Mode == "" && (known || c.sh.Class == shell.Device):
		c.pace.Mode = paced.Prompt
	case c.pace.Mode == "":
		c.pace.Mode = paced.Echo
	}
	if c.pace.Mode == paced.Prompt && !known {
		return c.busy(&prompt.Obstacle{
			Waiting: &term.Waiting{Kind: prompt.Unknown, Text: c.before}, Reason: term.ReasonNoPrompt,
			What: "the terminal shows no prompt, and each line waits for one",
		})
	}
	return nil
}

// Pace types the lines, each by way of permit, and returns when all are answered or something has stopped them. It ends
// with ctx. The lines that are answered with text go to w, with the text.
func (c *Command) Pace(
	ctx context.Context, w io.Writer, permit func(ctx context.Context, number int, line string) (paced.Line, error),
	progress func(paced.Result),
) paced.Result {
	o := c.pace
	o.Transcript, o.Errors, o.Progress = w, c.r.Errors, progress
	o.Ready = func(line string) bool {
		if c.r.Prompt != nil {
			if _, row := c.l.lastRow(line); c.r.Prompt.MatchString(row) {
				return true
			}
		}
		return c.before != "" && c.atPrompt(line)
	}
	o.Asks = func(line string) string {
		w := prompt.Waits(line, c.r.Pagers)
		if w == nil {
			w = prompt.Asks(line)
		}
		if w == nil {
			return ""
		}
		return w.Kind
	}
	res := paced.Run(ctx, pacedTerminal{c.l, permit}, c.units, o)
	if res.Stopped == paced.Question {
		c.standing = c.l.masked(&term.Waiting{Kind: res.Question, Text: c.l.LastLine()})
	}
	c.outcome = Silent
	if res.Stopped == "" && o.Mode == paced.Prompt {
		c.outcome = Prompted
	}
	return res
}

// A pacedTerminal is the lane as package paced sees it.
type pacedTerminal struct {
	l      *Lane
	permit func(ctx context.Context, number int, line string) (paced.Line, error)
}

func (t pacedTerminal) Cols() int                { return t.l.t.Cols() }
func (t pacedTerminal) End() int64               { return t.l.out.Stat().End }
func (t pacedTerminal) LastLine() string         { return t.l.LastLine() }
func (t pacedTerminal) Changed() <-chan struct{} { return t.l.out.Changed() }
func (t pacedTerminal) Ended() bool              { return t.l.out.Stat().Closed || t.l.t.Context().Err() != nil }

// Output implements paced.Terminal.
func (t pacedTerminal) Output(from int64) (p []byte, next int64) {
	s := t.l.out.At(from, followPiece)
	return s.Data, s.Next
}

// Clean implements paced.Terminal.
func (t pacedTerminal) Clean(p []byte) string {
	var c vt.Cleaner
	text := c.Append(nil, p)
	unfinished, _ := c.Line()
	return string(text) + unfinished
}

// Line implements paced.Terminal.
func (t pacedTerminal) Line(ctx context.Context, number int, line string) (paced.Line, error) {
	return t.permit(ctx, number, line)
}
