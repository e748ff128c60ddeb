package prompt

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"ptyctl/session/shell"
	"ptyctl/term"
)

// A View is a terminal as it is now, and the command that is to be typed into it.
type View struct {
	Line      string // the last one
	End       int64  // of the output
	AltScreen bool   // a program has switched to the alternate screen
	Prompt    *regexp.Regexp
	Pagers    []*regexp.Regexp
	Shell     shell.Shell // the reader of the line
	Marked    bool        // the line carries a marker

	Prompts  int        // that the shell has marked so far; see vt.Marks
	AtPrompt bool       // its last mark was of a prompt
	Starts   bool       // the running command starts a shell
	Front    term.Front // the programs in front of a terminal of this machine

	// Asks returns the question of a program on the alternate screen; nil, and a result of nil: not known.
	Asks func() *term.Waiting
}

// asks returns the question of the program on the alternate screen.
func (v View) asks() *term.Waiting {
	if v.Asks != nil {
		if w := v.Asks(); w != nil {
			return w
		}
	}
	return &term.Waiting{Kind: Editor, Text: v.Line}
}

// An Obstacle is a state of the terminal in which no command must be typed.
type Obstacle struct {
	Waiting *term.Waiting
	What    string // in a sentence
	Reason  term.Reason
	Passing bool // it may give way to a prompt any moment

	// Until is how long the last line must be unchanged to count as a prompt after all; 0: it never does.
	Until time.Duration
}

// signQuiet is how long a prompt must be unchanged if it differs from a report only by its sign.
const signQuiet = time.Second

// Judge returns the obstacle that keeps the command from being typed, or nil.
func (h *History) Judge(v View) *Obstacle {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.judge(v)
	if o != nil && o.Reason == "" {
		o.Reason = term.ReasonNotReady
	}
	return o
}

// judge requires h.mu.
func (h *History) judge(v View) *Obstacle {
	line := v.Line
	unknown := &term.Waiting{Kind: Unknown, Text: line}
	switch {
	case v.AltScreen && !h.proven(v):
		return h.fullScreen(v)
	case h.entered >= 0 && v.End <= h.entered: // the line entered may start something that takes the terminal
		return &Obstacle{
			Waiting: unknown,
			What:    fmt.Sprintf("nothing was shown since a line was entered at %q", line),
			Passing: true,
		}
	case v.Prompt != nil && v.Prompt.MatchString(line):
		return nil
	case h.halfTyped(line):
		return &Obstacle{
			Waiting: unknown,
			What:    fmt.Sprintf("text that was typed and not entered is in the last line %q", line),
			Reason:  term.ReasonHalfTyped,
			Passing: true, // it may be about to be entered, or its echo to be replaced
		}
	case v.Marked && h.continues(v):
		return &Obstacle{
			Waiting: &term.Waiting{Kind: Continuation, Text: line},
			What:    fmt.Sprintf("the shell asks at %q for the rest of a command", line),
			Reason:  term.ReasonContinuation,
			Passing: strings.TrimSpace(line) == "",
		}
	case v.Marked && readByOther(v):
		return &Obstacle{
			Waiting: unknown,
			What:    fmt.Sprintf("the program %s, which is no shell, reads the terminal", v.Front.Program),
			Reason:  term.ReasonNoPrompt,
			Passing: true,
		}
	case h.isLearned(line):
		return nil
	case v.Shell.Name != "" && h.isFirst(line): // its class was found out, not said: it is known to be a shell's
		return nil
	case h.proven(v), h.certain(v):
		return nil
	case !h.typed && v.Shell.Name != "" && v.Marked && bareContinuation(line): // a fresh shell has nothing to continue
		return nil
	}
	if w := Waits(line, v.Pagers); w != nil {
		o := &Obstacle{Waiting: w, What: fmt.Sprintf("the terminal waits for something (%s: %q)", w.Kind, w.Text)}
		switch {
		case v.Marked && bareContinuation(line):
			o.What = fmt.Sprintf(
				"the last line %q may ask for the rest of a command, and is the prompt of other programs", line,
			)
			o.Reason = term.ReasonContinuation
		case w.Kind == REPL:
			o.Reason = term.ReasonUnsurePrompt
		}
		return o
	}
	asked := Asks(line)
	if asked == nil {
		asked = unknown
	}
	switch {
	case asked != unknown && !v.Marked && strings.HasSuffix(strings.TrimRight(line, " "), "?"):
		return &Obstacle{Waiting: asked, What: fmt.Sprintf("the terminal seems to ask %q", line)}
	case strings.TrimSpace(line) == "":
		return &Obstacle{
			Waiting: unknown, What: "the terminal shows no prompt", Reason: term.ReasonNoPrompt, Passing: true,
		}
	case v.Prompt != nil:
		return &Obstacle{
			Waiting: asked,
			What:    fmt.Sprintf("the last line %q does not match the prompt that is expected", line),
			Reason:  term.ReasonOtherPrompt,
			Passing: true,
		}
	case !v.Marked:
		return nil // a device: its prompts are many; the line is typed as a person would
	}
	return h.judgeShell(v, unknown)
}

// judgeShell judges a line to which a marker would be typed. Requires h.mu.
func (h *History) judgeShell(v View, unknown *term.Waiting) *Obstacle {
	line := v.Line
	touched := h.typed && !IsLogin(h.first)   // beyond the answers to a login: the line may be any program's
	atLogin := !h.typed && v.Shell.Name != "" // a shell's, which is known, before anything was typed
	sign := signed(line)
	nested := isNested(line) || sign
	switch {
	case touched && line != h.first && !nested && shellPrompt.MatchString(line) && !isDevice(line):
		return &Obstacle{
			Waiting: unknown,
			What: fmt.Sprintf(
				"the last line %q is not the prompt this terminal began with, nor surely a shell's", line,
			),
			Reason:  term.ReasonUnsurePrompt,
			Passing: true,
		}
	case isDevice(line) && !atLogin:
		return &Obstacle{
			Waiting: &term.Waiting{Kind: Command, Text: line},
			What:    fmt.Sprintf("the last line %q looks like a network device's prompt", line),
			Reason:  term.ReasonDevicePrompt,
		}
	case !shellPrompt.MatchString(line) && !sign || percentage.MatchString(line):
		if w := Asks(line); w != nil {
			unknown = w
		}
		return &Obstacle{
			Waiting: unknown, What: fmt.Sprintf("the last line %q is no prompt", line), Reason: term.ReasonNoPrompt,
			Passing: true, Until: h.beganWith(v),
		}
	case sign && line != h.first && (touched || !shellPrompt.MatchString(line)):
		return &Obstacle{
			Waiting: unknown,
			What:    fmt.Sprintf("the last line %q does not rest", line),
			Reason:  term.ReasonNoPrompt,
			Passing: true,
			Until:   signQuiet,
		}
	}
	return nil
}

// Ends reports whether the last line is a prompt, or looks like one, so that nothing but a command is expected.
func (h *History) Ends(v View) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	v.Marked = true
	switch line := v.Line; {
	case v.Prompt != nil && v.Prompt.MatchString(line), h.isLearned(line), line == h.first, h.proven(v):
		return true
	default:
		return endsLikePrompt(line) && !percentage.MatchString(line)
	}
}

// AtShell reports whether the last line, below a command that runs, is the prompt of a shell that the command has
// started. The programs in front are believed, where they can be seen.
func (h *History) AtShell(v View) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	v.Marked = true
	switch {
	case v.Front.Reads == term.No, readByOther(v):
		return false
	case h.proven(v):
		return true
	}
	looks := isNested(v.Line) || signed(v.Line) || v.Starts && shellPrompt.MatchString(v.Line)
	return looks && !percentage.MatchString(v.Line)
}

// Occupied reports whether the programs in front show that the last line cannot be a shell's prompt, whatever it looks
// like.
func Occupied(v View) bool { return v.Front.Reads == term.No || readByOther(v) }

// readByOther reports whether a program reads the terminal that is no shell. One that edits its line, or passes every
// key on, as ssh does, may show a shell's prompt.
func readByOther(v View) bool {
	f := v.Front
	return f.Reads == term.Yes && !f.Edits && f.Program != "" && f.Program != v.Shell.Name &&
		shell.Named(f.Program).Class == shell.Unknown
}

// Designed reports whether a line has the looks of a prompt by a sign beyond ASCII alone, which some reports have too.
func Designed(line string) bool { return !isNested(line) && signed(line) }

// proven reports whether more than the looks of the last line shows that a shell is at its prompt: its own marks, or
// the programs in front of the terminal. A shell that reads a half-typed line, an answer, or the rest of a command is
// not. Requires h.mu.
func (h *History) proven(v View) bool {
	switch w := Waits(v.Line, v.Pagers); {
	case h.typing.stands(v.Line), strings.TrimSpace(v.Line) == "", !v.Marked:
		return false
	case w != nil && !isContinuation(v.Line), Asks(v.Line) != nil:
		return false
	case v.AtPrompt && v.Prompts > h.marks:
		return true
	}
	if v.AltScreen && !editsLines(v.Front.Program) { // a killed program has left the terminal without lines
		return false
	}
	return v.Front.Edits && shell.Named(v.Front.Program).Class.TakesMarker() && !isContinuation(v.Line)
}

// editsLines reports whether a shell of that name surely has a line editor: dash has none, and sh is often dash.
func editsLines(program string) bool { return program != "sh" && program != "dash" }
