package session

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

	// quietStop is how long a prompt must stand still to count as one: until then it may be the start of a line.
	quietStop = 50 * time.Millisecond

	// promptWait is how long a shell may take to show its prompt.
	promptWait = 3 * time.Second
)

// lastLine returns the unfinished last line as a person sees it.
func (s *Session) lastLine() string {
	end := s.buf.Stat().End
	return vt.LastLine(s.buf.At(max(end-lineBack, 0), lineBack).Data)
}

// lastRow splits the last line where its last row on the screen begins: before is empty if it has but one.
func (s *Session) lastRow(line string) (before, row string) {
	s.mu.Lock()
	cols := s.pty.Cols
	s.mu.Unlock()
	columns := []rune(line)
	if cols <= 0 || len(columns) <= cols {
		return "", line
	}
	begin := (len(columns) - 1) / cols * cols
	return string(columns[:begin]), string(columns[begin:])
}

// promptLine returns the last line, or its last row if that is the prompt: some pagers end in the middle of a line that
// is wider than the terminal, without LF.
func (s *Session) promptLine(prompt *regexp.Regexp) (before, line string) {
	line = s.lastLine()
	if prompt == nil || prompt.MatchString(line) {
		return "", line
	}
	if before, row := s.lastRow(line); before != "" && prompt.MatchString(row) {
		return before, row
	}
	return "", line
}

// modes returns what the output has switched on.
func (s *Session) modes() vt.Modes {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tracker.Modes()
}

// ready waits until the terminal shows a prompt, and refuses to type into anything else: into a full-screen program,
// a pager, a question, a REPL, and a marker into a device's command line. A line that is no prompt has promptWait
// to become one.
func (t *typedRun) ready(ctx context.Context, e Expect) error {
	s := t.s
	limit := time.NewTimer(min(promptWait, t.r.Timeout))
	defer limit.Stop()
	for {
		changed := s.buf.Changed()
		t.alt = s.modes().AltScreen
		if t.scan != nil { // without marker, a prompt that comes late would be taken for output
			if due, ok := s.prompts.Ready(s.lastLine()); ok {
				t.before = due
				return nil
			}
		}
		_, t.before = s.promptLine(t.prompt)
		o := s.prompts.Judge(prompt.View{
			Line: t.before, End: s.End(), AltScreen: t.alt,
			Prompt: t.prompt, Pagers: e.Pagers, Shell: t.sh, Marked: t.scan != nil,
		})
		if o != nil && !o.Passing && !s.prompts.Reacting(s.End()) {
			return t.busy(o)
		}
		var still <-chan time.Time
		if o == nil {
			rest := quietStop - age(&s.count.lastRx)
			if rest <= 0 {
				return nil
			}
			still = time.After(rest)
		}
		select {
		case <-changed:
		case <-still:
		case <-limit.C:
			if o == nil || t.scan == nil && t.prompt == nil { // a console may have no prompt before it is typed to
				return nil
			}
			return t.busy(o)
		case <-ctx.Done():
			return s.notTyped(ctx)
		case <-t.x.ctx.Done():
			if s.ctx.Err() != nil {
				<-s.ended
				return s.endedError("exec")
			}
			if o != nil {
				return t.busy(o)
			}
			return &term.Error{
				Op:      "exec",
				Session: s.id,
				Kind:    term.ExecTimeout,
				Msg:     "the time for the command was over before the terminal showed a prompt; nothing was typed",
			}
		}
	}
}

func (t *typedRun) busy(o *prompt.Obstacle) error {
	return &term.Error{
		Op: "exec", Session: t.s.id, Kind: term.Busy, Reason: o.Reason,
		Msg:     o.What + ", so nothing was typed",
		Advice:  confirm(o.Reason) + "use Session.Write and Read" + t.s.beside(", or LaneChannel"),
		Details: &term.Details{WaitingFor: o.Waiting, Channel: t.s.hasChannel()},
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
