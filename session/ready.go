package session

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

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

// An obstacle is what a command must not be typed into.
type obstacle struct {
	waiting *term.Waiting
	what    string
	reason  term.Reason // empty: term.ReasonNotReady
	passing bool        // it may give way to a prompt any moment
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
		if t.scan != nil && s.markedReady() { // without marker, a prompt that comes late would be taken for output
			if line := s.lastLine(); promptTail.MatchString(line) { // it need not be there yet
				s.learn(line)
			}
			t.before = s.learned()
			return nil
		}
		_, t.before = s.promptLine(t.prompt)
		o := t.obstacle(e)
		if o != nil && !o.passing && !s.reacting() {
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

func (t *typedRun) busy(o *obstacle) error {
	return &term.Error{
		Op: "exec", Session: t.s.id, Kind: term.Busy, Reason: cmp.Or(o.reason, term.ReasonNotReady),
		Msg:     o.what + ", so nothing was typed",
		Advice:  o.advice() + "use Session.Write and Read" + t.s.beside(", or LaneChannel"),
		Details: &term.Details{WaitingFor: o.waiting, Channel: t.s.hasChannel()},
	}
}

// advice says how the caller confirms that the line is a prompt; empty: they cannot.
func (o *obstacle) advice() string {
	switch o.reason {
	case term.ReasonUnsurePrompt:
		return "set Expect.Prompt to confirm that it is one, or "
	case term.ReasonDevicePrompt:
		return "set Expect.Class to ClassDevice, or Expect.Prompt to confirm that it is a shell's, or "
	}
	return ""
}

// obstacle says what keeps the command from being typed; nil: nothing.
func (t *typedRun) obstacle(e Expect) *obstacle {
	s, line := t.s, t.before
	unknown := &term.Waiting{Kind: WaitUnknown, Text: line}
	switch {
	case t.alt:
		return &obstacle{waiting: &term.Waiting{Kind: WaitEditor, Text: line}, what: "a full-screen program has the terminal"}
	case s.unanswered():
		return &obstacle{
			waiting: unknown,
			what:    fmt.Sprintf("nothing was shown since a line was entered at %q", line),
			passing: true,
		}
	case t.prompt != nil && t.prompt.MatchString(line), s.isLearned(line), t.isFirst(line):
		return nil
	}
	if w := waitsFor(line, e.Pagers); w != nil {
		return &obstacle{waiting: w, what: fmt.Sprintf("the terminal waits for something (%s: %q)", w.Kind, w.Text)}
	}
	switch {
	case t.prompt != nil:
		return &obstacle{
			waiting: unknown,
			what:    fmt.Sprintf("the last line %q does not match the prompt that is expected", line),
			reason:  term.ReasonOtherPrompt,
			passing: true,
		}
	case strings.TrimSpace(line) == "":
		return &obstacle{waiting: unknown, what: "the terminal shows no prompt", passing: true}
	case t.scan == nil:
		return nil // a device: its prompts are many; the line is typed as a person would
	case t.touched() && !t.isBegin(line) && !nestedShell.MatchString(line) && shellPrompt.MatchString(line) && !devicePrompt.MatchString(line):
		return &obstacle{
			waiting: unknown,
			what: fmt.Sprintf(
				"the last line %q is not the prompt this terminal began with, nor surely a shell's", line,
			),
			reason:  term.ReasonUnsurePrompt,
			passing: true,
		}
	case devicePrompt.MatchString(line) && !shellVersion.MatchString(line) && !t.atLogin():
		return &obstacle{
			waiting: &term.Waiting{Kind: WaitPrompt, Text: line},
			what:    fmt.Sprintf("the last line %q looks like a network device's prompt", line),
			reason:  term.ReasonDevicePrompt,
		}
	case !shellPrompt.MatchString(line) || percentage.MatchString(line):
		return &obstacle{waiting: unknown, what: fmt.Sprintf("the last line %q is no prompt", line), passing: true}
	}
	return nil
}

// atLogin reports whether the terminal is still in the login shell, and that shell's class was found out, not said.
func (t *typedRun) atLogin() bool {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return !t.s.typed && t.sh.name != ""
}

// isFirst reports whether a line has the form of the prompt that the terminal began with, where that is known to have
// been a shell's: the class was found out, not said.
func (t *typedRun) isFirst(line string) bool {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return t.sh.name != "" && t.s.isFirstLocked(line)
}

// isFirstLocked reports whether a line has the form of the prompt that the terminal began with. Requires s.mu.
func (s *Session) isFirstLocked(line string) bool {
	return promptTail.MatchString(s.first) && waitsFor(s.first, nil) == nil && (line == s.first || sameStem(line, s.first))
}

// isBegin reports whether a line is the very prompt that the terminal began with: as surely the caller's shell as it was
// at the first command.
func (t *typedRun) isBegin(line string) bool {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return line == t.s.first
}

// unanswered reports whether a line was entered and nothing has come since: what stands there is the prompt at which it
// was, and what it starts may take the terminal any moment.
func (s *Session) unanswered() bool {
	end := s.buf.Stat().End
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entered >= 0 && end <= s.entered
}

// reacting reports whether something was typed and nothing has come since: what stands there may be about to go, as a
// pager after q.
func (s *Session) reacting() bool {
	end := s.buf.Stat().End
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.touchedAt >= 0 && end <= s.touchedAt
}

// touched reports whether something was typed but the answers to a login, so that the last line may be any program's.
func (t *typedRun) touched() bool {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return t.s.typed && !isLogin(t.s.first)
}

// markedReady reports whether nothing was typed since a marker last showed that the shell is ready.
func (s *Session) markedReady() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready
}
