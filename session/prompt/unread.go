package prompt

import (
	"bytes"
	"strings"

	"ptyctl/session/shell"
)

// A program may ask the terminal something and end before it reads the answer. Then the answer is typed at the prompt of
// the shell: as it is, as ^[[?62;22c in a shell without a line editor, or as what a line editor makes of it, which is
// mostly 62;22c.

// maxUnread is how many bytes of answers are remembered.
const maxUnread = 1 << 10

// Answered remembers an answer of ptyctl to a query, which is about to go out. It may stand in the last line until a
// line is entered or discarded.
func (h *History) Answered(p []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers = append(h.answers, p...)
	h.answers = h.answers[max(0, len(h.answers)-maxUnread):]
}

// Discard returns the keys to press before a command for the class is typed: they clear a line in which an answer may
// stand that no program has read. Empty: there is none.
func (h *History) Discard(class shell.Class) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case len(h.answers) == 0:
		return ""
	case class == shell.Cmd:
		return "\x1b"
	case class.TakesMarker():
		// Ctrl-G ends a search that a line editor has begun at ESC P, and ctrl-u clears the line. In vi mode, the ESC has
		// left the insert mode, where ctrl-u works: i goes back to it, or is a character that the second ctrl-u clears.
		return "\a\x15i\x15"
	}
	return "\x15"
}

// Bare returns the last line without what an unread answer has left in it.
func (h *History) Bare(line string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bare(line)
}

// bare requires h.mu. What a line editor has left of the answers is their characters in the same order, as far as it
// has not taken them for keys. The line before it must be a prompt.
func (h *History) bare(line string) string {
	if len(h.answers) == 0 || line == "" || h.isKnown(line) {
		return line
	}
	seen := strings.ReplaceAll(string(h.answers), "\x1b", "^[")
	if rest, ok := strings.CutPrefix(line, ":"); ok && bytes.Contains(h.answers, []byte("\x1bP")) && leftOf(rest, seen) == 0 {
		return h.lastPrompt(line) // the search of a line editor has taken the place of the prompt
	}
	from, looks := leftOf(line, seen), -1
	for i := from; i < len(line); i++ {
		switch {
		case i > 0 && line[i-1]&0xc0 == 0xc0, line[i]&0xc0 == 0x80: // within a character
		case h.isKnown(line[:i]) || h.isFirst(line[:i]):
			return line[:i]
		case looks < 0 && endsLikePrompt(line[:i]):
			looks = i
		}
	}
	if looks > 0 {
		return line[:looks]
	}
	return line
}

// lastPrompt returns the prompt that is due, or line if none is known. Requires h.mu.
func (h *History) lastPrompt(line string) string {
	if n := len(h.learned); n > 0 {
		return h.learned[n-1]
	}
	if h.isFirst(h.first) {
		return h.first
	}
	return line
}

// leftOf returns where the longest end of line begins whose characters are all in text, in that order.
func leftOf(line, text string) int {
	i, j := len(line), len(text)
	for i > 0 {
		at := strings.LastIndexByte(text[:j], line[i-1])
		if at < 0 {
			break
		}
		i, j = i-1, at
	}
	return i
}
