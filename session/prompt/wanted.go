package prompt

import (
	"strings"
	"time"

	"ptyctl/term"
)

// How long the last line must be unchanged.
const (
	// LeastRest is how long a line must be unchanged that is known to be a prompt: until then it may be the start of
	// a longer one.
	LeastRest = 50 * time.Millisecond

	// likelyPrompt is the same for a line that has the form of a shell's or a device's prompt, and for a question that
	// is known.
	likelyPrompt = 150 * time.Millisecond

	// possiblePrompt is the same for a line that merely ends as prompts do, or has the form of a question.
	possiblePrompt = 500 * time.Millisecond
)

// A Sight is the meaning of the last line to a reader that waits for a prompt.
type Sight struct {
	Prompt   bool
	Question *term.Waiting // it asks something, and no prompt comes before the answer; nil: it does not

	// Rest is how long the line must be unchanged to count as that.
	Rest time.Duration

	// Guessed says that only the looks of the line tell. The programs in front may show that none of them reads.
	Guessed bool
}

// Sight judges the last line for a reader that waits until something waits for the next line: a shell, a device or an
// interpreter. Unlike Judge it does not ask whether a command may be typed there. v.Marked has no effect.
func (h *History) Sight(v View) Sight {
	h.mu.Lock()
	defer h.mu.Unlock()
	v.Marked = true
	line := v.Line
	switch {
	case v.AltScreen && !h.isBack(v):
		return Sight{}
	case h.entered >= 0 && v.End <= h.entered: // the line may be about to go
		return Sight{}
	case v.Prompt != nil && v.Prompt.MatchString(line):
		return Sight{Prompt: true, Rest: LeastRest}
	case strings.TrimSpace(line) == "", h.halfTyped(line):
		return Sight{}
	case h.continues(v):
		return Sight{Question: &term.Waiting{Kind: Continuation, Text: line}, Rest: likelyPrompt}
	case h.isLearned(line), h.isFirst(line), h.proven(v), h.certain(v):
		return Sight{Prompt: true, Rest: LeastRest}
	}
	if w := Waits(line, v.Pagers); w != nil && w.Kind == REPL {
		return Sight{Prompt: true, Rest: likelyPrompt}
	} else if w != nil {
		return Sight{Question: w, Rest: likelyPrompt}
	}
	if w := Asks(line); w != nil {
		return Sight{Question: w, Rest: possiblePrompt}
	}
	s := Sight{Prompt: true, Guessed: true}
	switch {
	case percentage.MatchString(line):
		return Sight{}
	case isNested(line), isDevice(line) && !strings.HasPrefix(line, "["): // "[OK]" is a report too
		s.Rest = likelyPrompt
	case shellPrompt.MatchString(line):
		s.Rest = possiblePrompt
	case endsLikePrompt(line):
		s.Rest = signQuiet
	default:
		return Sight{}
	}
	if v.Prompt != nil { // the prompt that is expected is another one
		s.Rest = signQuiet
	}
	return s
}
