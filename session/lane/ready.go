package lane

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ptyctl/session/prompt"
	"ptyctl/term"
)

const (
	// lineBack is how much of the stream is looked at for the unfinished last line.
	lineBack = 4 << 10

	// quietStop is how long a prompt must be unchanged to count as one: until then it may be the start of a line.
	quietStop = 50 * time.Millisecond

	// promptWait is how long a shell may take to show its prompt.
	promptWait = 3 * time.Second
)

// leastRoom is how many columns some line editors want behind the prompt (mksh: MIN_EDIT_SPACE). With less they begin
// another row.
const leastRoom = 8

// promptAbove returns the last of the finished lines if that is a prompt behind which there is no room in a window of so
// many columns; else it is empty.
func promptAbove(finished string, cols int) string {
	line := strings.TrimSuffix(finished, "\n")
	line = line[strings.LastIndexByte(line, '\n')+1:]
	width := utf8.RuneCountInString(line)
	full := cols > 0 && width > 0 && (width-1)%cols+1 >= cols-leastRoom
	if !full || !strings.HasSuffix(line, " ") || !prompt.Looks(line) {
		return ""
	}
	return line
}

const (
	// rightGap is the least distance between the cursor and a right prompt. Typed text begins at the cursor.
	rightGap = 2

	// rightEdge is how far from the window's edge a right prompt may end: zsh leaves one column, and a character may
	// take two.
	rightEdge = 8
)

// isRightPrompt reports whether the text behind the cursor is a right prompt: it ends at the window's right edge.
func isRightPrompt(left, right string, cols int) bool {
	text := strings.TrimLeft(right, " ")
	gap := len(right) - len(text)
	if strings.HasSuffix(left, " ") {
		gap++
	}
	width := utf8.RuneCountInString(left) + utf8.RuneCountInString(right)
	return text != "" && gap >= rightGap && cols > 0 && width >= cols-rightEdge
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

// PromptLine returns the last line, or its last row if that matches the prompt.
func (l *Lane) PromptLine(prompt *regexp.Regexp) string {
	_, line := l.promptLine(prompt)
	return line
}

// ready waits until the terminal shows a prompt, and refuses to type into anything else: into a full-screen program,
// a pager, a question, a REPL, and a marker into a device's command line. A line that is no prompt has promptWait
// to become one. An input that waits to be typed comes first: the prompt that is there may be the one that it answers.
func (c *Command) ready(ctx context.Context) error {
	l := c.l
	l.behind(ctx, c.x, min(promptWait, c.r.Timeout))
	limit := time.NewTimer(min(promptWait, c.r.Timeout))
	defer limit.Stop()
	for {
		changed := l.out.Changed()
		c.alt = l.t.Modes().AltScreen
		if c.scan != nil { // without marker, a prompt that comes late would be taken for output
			line := l.LastLine()
			if due, ok := l.history.Ready(line); ok {
				c.before, c.ahead = due, due != line
				return nil
			}
		}
		_, c.before = l.promptLine(c.r.Prompt)
		o := l.history.Judge(c.view())
		var look time.Duration // until the programs in front are looked at, which is dear
		switch {
		case o == nil:
		case o.Passing && l.t.Quiet() < quietStop:
			look = quietStop - l.t.Quiet()
		case o.Passing, o.Reason == term.ReasonFullScreen, o.Reason == term.ReasonDevicePrompt,
			o.Reason == term.ReasonContinuation:
			v := c.view()
			v.Front = l.t.Front()
			o = l.history.Judge(v)
		}
		if o == nil && c.scan != nil && l.t.Quiet() >= quietStop { // to look at the programs is dear
			v := c.view()
			v.Front = l.t.Front()
			o = l.history.Judge(v)
		}
		if o != nil && !o.Passing && !l.history.Reacting(l.out.Stat().End) {
			return c.busy(o)
		}
		var still <-chan time.Time
		if o == nil || o.Until > 0 {
			stand := quietStop
			if o != nil {
				stand = o.Until
			}
			rest := stand - l.t.Quiet()
			if rest <= 0 {
				return nil
			}
			still = time.After(rest)
		}
		if look > 0 {
			still = time.After(look)
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

// behind waits, at most limit, until the inputs before a command with the context x have begun to go out.
func (l *Lane) behind(ctx, x context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(x, cancel)()
	l.t.Behind(ctx)
}

// view is the terminal as it is now.
func (c *Command) view() prompt.View {
	marks := c.l.t.Marks()
	return prompt.View{
		Line: c.before, End: c.l.out.Stat().End, AltScreen: c.alt,
		Prompt: c.r.Prompt, Pagers: c.r.Pagers, Shell: c.sh, Marked: c.scan != nil,
		Prompts: marks.Prompts, AtPrompt: marks.AtPrompt, Asks: c.l.Asks,
	}
}

// busy is the error for a terminal that must not get a command. It names the obstacle and how the caller may proceed.
func (c *Command) busy(o *prompt.Obstacle) error {
	if o.Reason == term.ReasonNoPrompt {
		if w := c.l.Asks(); w != nil { // a dialog on the main screen
			o = prompt.FullScreen(w)
		}
	}
	w := c.l.masked(o.Waiting)
	what := o.What
	for _, line := range []string{o.Waiting.Text, c.before} {
		what = strings.ReplaceAll(what, strconv.Quote(line), strconv.Quote(c.l.t.Mask(line)))
	}
	occupied := term.Occupied{Waiting: w, Channel: c.l.t.HasChannel()}
	advice := "use Session.Write and Read" + c.l.beside(", or LaneChannel")
	switch o.Reason {
	case term.ReasonNoPrompt, term.ReasonUnsurePrompt, term.ReasonOtherPrompt, term.ReasonDevicePrompt:
		occupied.Pattern = prompt.Pattern(w.Text)
		advice = fmt.Sprintf(
			"if the last line is a shell's prompt, set Expect.Prompt (such as %q), or %s", occupied.Pattern, advice,
		)
	case term.ReasonContinuation:
		occupied.Pattern = prompt.Pattern(w.Text)
		advice = fmt.Sprintf(
			"press ctrl_c to give an unfinished command up; if the last line is a shell's prompt, set Expect.Prompt "+
				"(such as %q), or %s", occupied.Pattern, advice,
		)
	case term.ReasonHalfTyped:
		advice = "enter it, or clear it with ctrl_u or ctrl_c; or " + advice
	case term.ReasonFullScreen:
		advice = "leave the program by its own key; if it is gone, type reset and ctrl_j; or " + advice
	}
	if o.Reason == term.ReasonDevicePrompt {
		advice = "set Expect.Class to ClassDevice; " + advice
	}
	return &term.Error{
		Op: "exec", Session: c.l.session, Kind: term.Busy, Reason: o.Reason,
		Msg:    what + ", so nothing was typed",
		Advice: advice,
		Facts:  term.Facts{occupied},
	}
}
