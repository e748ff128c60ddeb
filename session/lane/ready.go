package lane

import (
	"context"
	"regexp"
	"time"

	"ptyctl/session/prompt"
	"ptyctl/term"
	"ptyctl/vt"
)

const (
	// lineBack is how much of the stream is looked at for the unfinished last line.
	lineBack = 4 << 10

	// quietStop is how long a prompt must be unchanged to count as one: until then it may be the start of a line.
	quietStop = 50 * time.Millisecond

	// promptWait is how long a shell may take to show its prompt.
	promptWait = 3 * time.Second
)

// LastLine returns the unfinished last line as a person sees it.
func (l *Lane) LastLine() string {
	end := l.out.Stat().End
	return vt.LastLine(l.out.At(max(end-lineBack, 0), lineBack).Data)
}

// lastRow splits the last line where its last row on the screen begins: before is empty if it has but one.
func (l *Lane) lastRow(line string) (before, row string) {
	cols := l.t.Cols()
	columns := []rune(line)
	if cols <= 0 || len(columns) <= cols {
		return "", line
	}
	begin := (len(columns) - 1) / cols * cols
	return string(columns[:begin]), string(columns[begin:])
}

// promptLine returns the last line, or its last row if that is the prompt: some pagers end in the middle of a line that
// is wider than the terminal, without LF.
func (l *Lane) promptLine(prompt *regexp.Regexp) (before, line string) {
	line = l.LastLine()
	if prompt == nil || prompt.MatchString(line) {
		return "", line
	}
	if before, row := l.lastRow(line); before != "" && prompt.MatchString(row) {
		return before, row
	}
	return "", line
}

// ready waits until the terminal shows a prompt, and refuses to type into anything else: into a full-screen program,
// a pager, a question, a REPL, and a marker into a device's command line. A line that is no prompt has promptWait
// to become one.
func (c *Command) ready(ctx context.Context) error {
	l := c.l
	limit := time.NewTimer(min(promptWait, c.r.Timeout))
	defer limit.Stop()
	for {
		changed := l.out.Changed()
		c.alt = l.t.Modes().AltScreen
		if c.scan != nil { // without marker, a prompt that comes late would be taken for output
			if due, ok := l.history.Ready(l.LastLine()); ok {
				c.before = due
				return nil
			}
		}
		_, c.before = l.promptLine(c.r.Prompt)
		o := l.history.Judge(prompt.View{
			Line: c.before, End: l.out.Stat().End, AltScreen: c.alt,
			Prompt: c.r.Prompt, Pagers: c.r.Pagers, Shell: c.sh, Marked: c.scan != nil,
		})
		if o != nil && !o.Passing && !l.history.Reacting(l.out.Stat().End) {
			return c.busy(o)
		}
		var still <-chan time.Time
		if o == nil {
			rest := quietStop - l.t.Quiet()
			if rest <= 0 {
				return nil
			}
			still = time.After(rest)
		}
		select {
		case <-changed:
		case <-still:
		case <-limit.C:
			if o == nil || c.scan == nil && c.r.Prompt == nil { // a console may have no prompt before it is typed to
				return nil
			}
			return c.busy(o)
		case <-ctx.Done():
			return l.notTyped(ctx)
		case <-c.x.Done():
			if l.t.Context().Err() != nil {
				_, _ = l.t.End()
				return l.t.Closed("exec")
			}
			if o != nil {
				return c.busy(o)
			}
			return &term.Error{
				Op:      "exec",
				Session: l.session,
				Kind:    term.ExecTimeout,
				Msg:     "the time for the command was over before the terminal showed a prompt; nothing was typed",
			}
		}
	}
}

// busy is the error for a terminal that must not get a command. It names the obstacle and how the caller may proceed.
func (c *Command) busy(o *prompt.Obstacle) error {
	return &term.Error{
		Op: "exec", Session: c.l.session, Kind: term.Busy, Reason: o.Reason,
		Msg:    o.What + ", so nothing was typed",
		Advice: confirm(o.Reason) + "use Session.Write and Read" + c.l.beside(", or LaneChannel"),
		Facts:  term.Facts{term.Occupied{Waiting: o.Waiting, Channel: c.l.t.HasChannel()}},
	}
}

// confirm says how the caller confirms that the last line is a prompt; empty: they cannot.
func confirm(r term.Reason) string {
	switch r {
	case term.ReasonUnsurePrompt:
		return "set Expect.Prompt to confirm that it is one, or "
	case term.ReasonDevicePrompt:
		return "set Expect.Class to ClassDevice, or Expect.Prompt to confirm that it is a shell's, or "
	}
	return ""
}
