package prompt

import (
	"fmt"
	"regexp"
	"strings"

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
	Shell     shell.Shell // what reads the line
	Marked    bool        // the line carries a marker
}

// An Obstacle is a state of the terminal in which no command must be typed.
type Obstacle struct {
	Waiting *term.Waiting
	What    string // in a sentence
	Reason  term.Reason
	Passing bool // it may give way to a prompt any moment
}

// Judge says what keeps the command from being typed; nil: nothing does.
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
	case v.AltScreen:
		return &Obstacle{Waiting: &term.Waiting{Kind: Editor, Text: line}, What: "a full-screen program has the terminal"}
	case h.entered >= 0 && v.End <= h.entered: // the line entered may start something that takes the terminal
		return &Obstacle{
			Waiting: unknown,
			What:    fmt.Sprintf("nothing was shown since a line was entered at %q", line),
			Passing: true,
		}
	case v.Prompt != nil && v.Prompt.MatchString(line), h.isLearned(line):
		return nil
	case v.Shell.Name != "" && h.isFirst(line): // its class was found out, not said: it is known to be a shell's
		return nil
	}
	if w := Waits(line, v.Pagers); w != nil {
		return &Obstacle{Waiting: w, What: fmt.Sprintf("the terminal waits for something (%s: %q)", w.Kind, w.Text)}
	}
	asked := Asks(line)
	if asked == nil {
		asked = unknown
	}
	switch {
	case asked != unknown && !v.Marked && strings.HasSuffix(strings.TrimRight(line, " "), "?"):
		return &Obstacle{Waiting: asked, What: fmt.Sprintf("the terminal seems to ask %q", line)}
	case v.Prompt != nil:
		return &Obstacle{
			Waiting: asked,
			What:    fmt.Sprintf("the last line %q does not match the prompt that is expected", line),
			Reason:  term.ReasonOtherPrompt,
			Passing: true,
		}
	case strings.TrimSpace(line) == "":
		return &Obstacle{Waiting: unknown, What: "the terminal shows no prompt", Passing: true}
	case !v.Marked:
		return nil // a device: its prompts are many; the line is typed as a person would
	}
	return h.judgeShell(v, unknown)
}

// judgeShell judges a line to which a marker would be typed. Requires h.mu.
func (h *History) judgeShell(v View, unknown *term.Waiting) *Obstacle {
	line := v.Line
	touched := h.typed && !IsLogin(h.first) // beyond the answers to a login: the line may be any program's
	atLogin := !h.typed && v.Shell.Name != ""
	switch {
	case touched && line != h.first && !nestedShell.MatchString(line) && shellPrompt.MatchString(line) &&
		!devicePrompt.MatchString(line):
		return &Obstacle{
			Waiting: unknown,
			What: fmt.Sprintf(
				"the last line %q is not the prompt this terminal began with, nor surely a shell's", line,
			),
			Reason:  term.ReasonUnsurePrompt,
			Passing: true,
		}
	case devicePrompt.MatchString(line) && !shellVersion.MatchString(line) && !atLogin:
		return &Obstacle{
			Waiting: &term.Waiting{Kind: Command, Text: line},
			What:    fmt.Sprintf("the last line %q looks like a network device's prompt", line),
			Reason:  term.ReasonDevicePrompt,
		}
	case !shellPrompt.MatchString(line) || percentage.MatchString(line):
		if w := Asks(line); w != nil {
			unknown = w
		}
		return &Obstacle{Waiting: unknown, What: fmt.Sprintf("the last line %q is no prompt", line), Passing: true}
	}
	return nil
}
