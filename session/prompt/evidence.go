package prompt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ptyctl/session/shell"
	"ptyctl/term"
)

// This file has the evidence beyond the looks of the last line: the typed text, and the output before it.

// fullScreen is the obstacle of a terminal on its alternate screen. Where the last line is known to be a shell's
// prompt, the program is gone. Requires h.mu.
func (h *History) fullScreen(v View) *Obstacle {
	if h.isBack(v) {
		return &Obstacle{
			Waiting: &term.Waiting{Kind: Command, Text: v.Line},
			What:    fmt.Sprintf("a full-screen program has left its screen on, and the last line %q is the prompt", v.Line),
			Reason:  term.ReasonFullScreen,
		}
	}
	return FullScreen(v.asks())
}

// FullScreen returns the obstacle of a program that has the whole screen and waits for w.
func FullScreen(w *term.Waiting) *Obstacle {
	o := &Obstacle{
		Waiting: w, What: "a full-screen program has the terminal, or has left its screen on",
		Reason: term.ReasonFullScreen,
	}
	if strings.TrimSpace(w.Text) != "" {
		o.What = fmt.Sprintf("a full-screen program has the terminal, or has left its screen on, which shows %q", w.Text)
	}
	return o
}

// isBack reports whether the last line is the very prompt that was there before, or is proven to be one. Requires h.mu.
func (h *History) isBack(v View) bool {
	shellInFront := v.Front.Program == "" || shell.Named(v.Front.Program).Class.TakesMarker()
	return h.proven(v) || !isContinuation(v.Line) && shellInFront &&
		(v.Line == h.first && h.isFirst(v.Line) || slices.Contains(h.learned, v.Line))
}

// halfTyped reports whether typed text that was not entered is in the last line. Requires h.mu.
func (h *History) halfTyped(line string) bool {
	return h.typing.stands(line) && strings.TrimSpace(h.typing.at) != "" &&
		len(strings.TrimRight(line, " ")) > len(strings.TrimRight(h.typing.at, " "))
}

// continues reports whether the last line surely asks for the rest of a command: by its words, as those of zsh, or
// because the lines that were typed are no whole command. Requires h.mu.
func (h *History) continues(v View) bool {
	switch {
	case v.AtPrompt && v.Prompts > h.marks, !h.typed || h.ready:
		return false
	case v.Shell.Class == shell.Posix && h.typing.open != "":
		return v.Line != ""
	case v.Shell.Class == shell.Fish && strings.TrimSpace(v.Line) == "": // it shows nothing there
		return h.typing.open != "" && !strings.Contains(h.typing.open, "\nend")
	case bareContinuation(v.Line):
		return h.typing.open != ""
	}
	return named(v.Line)
}

// certain reports whether a line that is also the form of a continuation is the prompt of the shell that edits a line
// in front of the terminal: the shell has shown it as its prompt before, and only whole commands were entered since.
// Requires h.mu.
func (h *History) certain(v View) bool {
	return v.Marked && bareContinuation(v.Line) && (v.Line == h.first || slices.Contains(h.learned, v.Line)) && !h.typing.tricky &&
		!h.typing.stands(v.Line) && v.Front.Edits && shell.Named(v.Front.Program).Class.TakesMarker()
}

// beganWith returns how long a line without the form of a prompt must be unchanged to count as the prompt with which a
// login shell begins; 0: it never does. Requires h.mu.
func (h *History) beganWith(v View) time.Duration {
	line := strings.TrimRight(v.Line, " ")
	switch {
	case h.typed, v.Shell.Name == "", line == v.Line, Asks(v.Line) != nil, percentage.MatchString(v.Line):
		return 0
	}
	if words := wordsOf(formOf(line).stem); len(words) > 0 && isProgress(formOf(line), words) {
		return 0
	}
	return signQuiet
}

// Doubtful reports whether the programs in front of the terminal tell more of a line than its looks.
func Doubtful(line string) bool { return bareContinuation(line) }

// Waiting returns the question that the last line seems to ask, or nil. It knows more than Waits.
func (h *History) Waiting(v View) *term.Waiting {
	h.mu.Lock()
	defer h.mu.Unlock()
	v.Marked = true
	switch {
	case v.AltScreen && h.isBack(v):
		return &term.Waiting{Kind: Command, Text: v.Line}
	case v.AltScreen:
		return v.asks()
	case h.continues(v):
		return &term.Waiting{Kind: Continuation, Text: v.Line}
	case h.certain(v):
		return nil
	}
	if w := Waits(v.Line, v.Pagers); w != nil {
		return w
	}
	if w := Asks(v.Line); w != nil && !h.isFirst(v.Line) {
		return w
	}
	return nil
}
