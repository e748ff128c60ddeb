package prompt

import (
	"slices"
	"strings"

	"ptyctl/session/shell"
)

// A program may ask the terminal something and end before it reads the answer. Then the answer is typed at the prompt of
// the shell: as it is, as ^[[?62;22c in a shell without a line editor, or as a line editor changes it, mostly to
// 62;22c.

// maxUnread is how many bytes of answers are remembered.
const maxUnread = 1 << 10

// mostEnds is how many places in a line are tried as the end of a prompt. The far side chooses the line, and each costs
// dozens of regular expressions.
const mostEnds = 16

// Answered remembers an answer of ptyctl to a query, which is about to go out. The answer may appear in the last line
// until a line is entered or discarded.
func (h *History) Answered(p []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers = append(h.answers, p...)
	h.answers = h.answers[max(0, len(h.answers)-maxUnread):]
}

// Discard returns the keys to press before a command for the class is typed: they clear a line that may hold an
// answer which no program has read. Empty: no such answer.
func (h *History) Discard(class shell.Class) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case len(h.answers) == 0:
		return ""
	case class == shell.Cmd:
		return "\x1b"
	case class == shell.PowerShell:
		// Only some modes of PSReadLine know ctrl-u (about_PSReadLine, BackwardKillInput): others insert it. All know
		// backspace.
		return "\x15" + strings.Repeat("\x7f", len(h.answers)+1)
	case class.TakesMarker():
		// A line editor may have begun a search, at ESC P, ? or /: ctrl-g ends it in bash, ctrl-u and backspace in mksh,
		// ESC in zsh. Ctrl-u clears the line. In vi mode, where ESC leaves the insert mode, S clears the line and goes
		// back to it; elsewhere S is a character that the last ctrl-u clears. The ash of busybox drops up to 15 bytes
		// behind an ESC that begins no key.
		return "\a\x15\b\x1b" + strings.Repeat("\x15", 16) + "S\x15"
	}
	return "\x15"
}

// Bare returns the last line without the characters that an unread answer has left in it.
func (h *History) Bare(line string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bare(line)
}

// bare requires h.mu. The terminal itself echoes an answer that comes while a program runs, before the prompt. A line
// editor shows the characters of the answers in the same order, except those that it has taken for keys. The rest of
// the line must be a prompt. Text at its end that a caller has typed is no answer, even if it could be the rest of
// one.
func (h *History) bare(line string) string {
	typed := strings.TrimRight(h.typing.line, " ")
	switch {
	case len(h.answers) == 0 || line == "" || len(line) > maxPrompt+2*maxUnread || h.wasSeen(line):
		return line
	case typed != "" && h.typing.stands(line) && strings.HasSuffix(strings.TrimRight(line, " "), typed):
		return line
	}
	seen := strings.ReplaceAll(string(h.answers), "\x1b", "^[")
	rest := line[echoOf(line, seen):]
	if prompt, ok := h.recalled(rest, seen); ok {
		return prompt
	}
	if prompt, ok := h.behindMark(line, seen); ok {
		return prompt
	}
	if h.typing.line == "" && !h.typing.odd {
		prompts := slices.Clip(h.learned)
		if h.isFirst(h.first) {
			prompts = append(prompts, h.first)
		}
		if prompt := drawnOver(prompts, rest, seen, len(rest) < len(line)); prompt != "" {
			return prompt
		}
	}
	looks, ends := -1, 0
	for i := max(leftOf(rest, seen), 1); i <= min(len(rest), maxPrompt) && ends < mostEnds; i++ {
		within := i < len(rest) && rest[i]&0xc0 == 0x80 // a character
		if p := rest[:i]; within || !mayEnd(p) && p != h.first && !slices.Contains(h.learned, p) {
			continue
		}
		ends++
		switch {
		case h.wasSeen(rest[:i]):
			return rest[:i]
		case looks < 0 && endsLikePrompt(rest[:i]):
			looks = i
		}
	}
	if looks > 0 { // blanks behind it are not looked for in the answers: they are the prompt's
		return rest[:len(rest)-len(strings.TrimLeft(rest[looks:], " "))]
	}
	return line
}

// mayEnd reports whether a text can be like a prompt. One that ends in a letter or a digit must be the very same.
func mayEnd(text string) bool {
	c := text[len(text)-1]
	return !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == ';')
}

// recalled returns the prompt of a line in which a line editor has taken characters of the answers for keys: ESC P
// recalls an earlier line in zsh, and asks for its beginning in bash, and in vi mode most characters are commands.
// Callers have typed nothing there, so all text behind the prompt comes from the answers. Requires h.mu.
func (h *History) recalled(line, seen string) (prompt string, ok bool) {
	if h.typing.line != "" || h.typing.odd {
		return "", false
	}
	esc := strings.Contains(seen, "^[P")
	if rest, ok := strings.CutPrefix(line, ":"); ok && esc && leftOf(rest, seen) == 0 {
		prompt = h.lastPrompt(line)
		return prompt, prompt != line
	}
	for _, p := range append(slices.Clip(h.learned), h.first) {
		bare := strings.TrimRight(p, " ") // the blank may be overwritten
		if esc {
			bare = p
		} else if len(bare) < leastNamed {
			continue
		}
		if strings.HasPrefix(line, bare) && len(p) > len(prompt) && h.wasSeen(p) {
			prompt = p
		}
	}
	return prompt, prompt != ""
}

// leastNamed is the least length of a prompt that no other line begins with by chance.
const leastNamed = 3

// behindMark returns the prompt at the end of a line that has the mark of zsh or fish before it, for an unfinished line of
// output: here that is the terminal's own echo of an answer. Requires h.mu.
func (h *History) behindMark(line, seen string) (prompt string, ok bool) {
	for _, p := range append(slices.Clip(h.learned), h.first) {
		at := strings.LastIndex(line, p)
		if len(p) < 2 || at < 0 || !strings.HasSuffix(line[:at], "   ") || !h.wasSeen(p) {
			continue
		}
		rest := line[at+len(p):]
		if leftOf(rest, seen) == 0 || len(strings.TrimRight(p, " ")) >= leastNamed && h.typing.line == "" && !h.typing.odd {
			return p, true
		}
	}
	return "", false
}

// drawnOver returns the prompt that a line begins with, except for parts from the terminal's own echo of the answers;
// empty: no prompt. Bash assumes that its prompt is at the beginning of the row, and already drawn where it only
// moves the cursor over it. The answers must also be visible elsewhere: before the line (echoed), or behind the
// prompt. The prompt of another host may differ from a known one by less.
func drawnOver(prompts []string, line, seen string, echoed bool) (prompt string) {
	for _, p := range prompts {
		end := strings.TrimRight(p, " ")
		if len(end) < leastNamed || len(line) < len(end) || len(p) <= len(prompt) {
			continue
		}
		begin, rest := line[:len(end)], strings.TrimPrefix(line[len(end):], p[len(end):])
		if mostlyThe(begin, end, seen) && leftOf(rest, seen) == 0 && (echoed || rest != "") {
			prompt = p
		}
	}
	return prompt
}

// leastDrawn is the least number of bytes of an answer within a prompt: a number in a host name has fewer.
const leastDrawn = 3

// mostlyThe reports whether a text is as another of its length in most of its bytes and in the last, and each run of
// other bytes is a part of seen, of leastDrawn bytes or more.
func mostlyThe(text, other, seen string) bool {
	n := len(text)
	if text[n-1] != other[n-1] {
		return false
	}
	same := 0
	for i := 0; i < n; {
		j := i
		for j < n && text[j] != other[j] {
			j++
		}
		if j == i {
			same, i = same+1, i+1
			continue
		}
		if j-i < leastDrawn || !strings.Contains(seen, text[i:j]) {
			return false
		}
		i = j
	}
	return 2*same > n
}

// wasSeen reports whether a line is a prompt that was seen before. Requires h.mu.
func (h *History) wasSeen(line string) bool { return h.isKnown(line) || h.isFirst(line) }

// echoOf returns how much of line's start is the terminal's own echo of text.
func echoOf(line, text string) (n int) {
	for strings.HasPrefix(line[n:], "^[") {
		most := 0
		for at := 0; ; at += 2 {
			i := strings.Index(text[at:], "^[")
			if i < 0 {
				break
			}
			at += i
			same := 0
			for same < len(line)-n && at+same < len(text) && line[n+same] == text[at+same] {
				same++
			}
			most = max(most, same)
		}
		if most < len("^[x") {
			break
		}
		n += most
	}
	return n
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

// leftOf returns where the longest end of line begins that has all its characters in text, in that order.
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
