package session

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// maxCookedLine is what a terminal in canonical mode takes of a line (termios(3), MAX_CANON, and Linux's N_TTY): it
// drops the rest silently, and the program gets what is left.
const maxCookedLine = 4095

// hazards warns of what is about to be typed and is probably not what the caller means. It is typed as given.
// Of sensitive data, no more than an escape at its end is repeated.
func (s *Session) hazards(data []byte, sensitive bool) (warnings []string) {
	if w := spelledKey(string(data), sensitive); w != "" {
		warnings = append(warnings, w)
	}
	if n := s.cookedLine(data); n > maxCookedLine {
		warnings = append(
			warnings,
			fmt.Sprintf(
				"a line of %d bytes: unless the program reads keys one by one, the terminal takes %d bytes of a line and silently drops the rest; "+
					"send shorter lines%s",
				n,
				maxCookedLine,
				s.beside(", or pass long data as stdin of a command in the channel lane"),
			),
		)
	}
	return warnings
}

// cookedLine counts what is typed since the last line end, and returns the length of the longest line that data
// makes; 0 if a line editor or a full-screen program is at work, which take lines of any length.
func (s *Session) cookedLine(data []byte) (longest int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(data) > 0 {
		i := bytes.IndexAny(data, lineEnders)
		if i < 0 {
			s.lineTyped += len(data)
			longest = max(longest, s.lineTyped)
			break
		}
		longest = max(longest, s.lineTyped+i)
		s.lineTyped, data = 0, data[i+1:]
	}
	if m := s.tracker.Modes(); m.BracketedPaste || m.AltScreen {
		return 0
	}
	return longest
}

// lineEnders are what empties the line that a terminal in canonical mode has taken so far: its ends, the end of file,
// the keys that signal, and the one that erases the line (termios(3), ICANON, ISIG and VKILL).
const lineEnders = "\r\n\x03\x04\x15\x1a\x1c"

var (
	// spelled is a control character or sequence written out, as in a program's source.
	spelled = regexp.MustCompile(
		`^(?:\\x[0-9a-fA-F]{2}|\\u00[0-9a-fA-F]{2}|\\[0-3]?[0-7]{2}|\\[abefnrtv]|\^[@-_?]|\[[0-9;]*[A-Z~]|O[A-Z])+$`,
	)

	// spelledEnd is one line end or control character written out at the end of a text.
	spelledEnd = regexp.MustCompile(
		`(?:^|[^\\])((?:\\x[01][0-9a-fA-F]|\\x7[fF]|\\u00[01][0-9a-fA-F]|\\0[0-3][0-7]|\\[rn])+)$`,
	)

	// spelledOne is the first of them.
	spelledOne = regexp.MustCompile(`^(?:\\x[0-9a-fA-F]{2}|\\u00[0-9a-fA-F]{2}|\\[0-3]?[0-7]{2}|\\[abefnrtv]|\^[@-_?])`)

	// spelledName is a key by a name that is no word: with a modifier, or between brackets.
	spelledName = regexp.MustCompile(
		`^(?:(?i:ctrl|control|alt|meta|shift|arrow|page)[-+_][a-zA-Z_\\^@\]]+|[CM]-[a-z\\]|<[A-Za-z][A-Za-z0-9_+-]*>|\{[A-Z][A-Z0-9]*\})$`,
	)
)

// spelledKey says which key to use in place of text that spells one; empty: it spells none.
func spelledKey(text string, sensitive bool) string {
	body := strings.TrimRight(text, "\r\n")
	if len(body) < 2 {
		return ""
	}
	if len(body) <= 32 && !sensitive {
		if key := wholeKey(body); key != "" {
			return fmt.Sprintf(
				"the text is the characters %s, sent as given, not a key; to press the key pass key %q in place of text",
				body,
				key,
			)
		}
	}
	end := spelledEnd.FindStringSubmatch(body[max(0, len(body)-16):])
	if end == nil || body != text { // there is a line end: what stands before it is text
		return ""
	}
	if key := keyThatSends(unspell(spelledOne.FindString(end[1]))); key != "" && key != "enter" {
		return fmt.Sprintf(
			"the text ends in the characters %s, sent as given, not in a key; to press the key pass key %q in a write of its own",
			end[1],
			key,
		)
	}
	return fmt.Sprintf(
		"the text ends in the characters %s, sent as given, not in a line end; in JSON a line end is \\r with one backslash, or press key \"enter\"",
		end[1],
	)
}

// wholeKey returns the key that all of text spells.
func wholeKey(text string) string {
	if spelledName.MatchString(text) {
		return SimilarKey(text)
	}
	if !spelled.MatchString(text) {
		return ""
	}
	return keyThatSends(unspell(text))
}

// unspell decodes what spelled matches.
func unspell(text string) string {
	var b strings.Builder
	for text != "" {
		one := spelledOne.FindString(text)
		if one == "" {
			b.WriteByte(text[0])
			text = text[1:]
			continue
		}
		text = text[len(one):]
		switch {
		case one[0] == '^':
			b.WriteByte(one[1] ^ 0x40)
		case one[1] == 'x' || one[1] == 'u':
			n, _ := strconv.ParseUint(one[2:], 16, 8)
			b.WriteByte(byte(n))
		case one[1] >= '0' && one[1] <= '7':
			n, _ := strconv.ParseUint(one[1:], 8, 8)
			b.WriteByte(byte(n))
		default:
			b.WriteByte("\a\b\x1b\f\n\r\t\v"[strings.IndexByte("abefnrtv", one[1])])
		}
	}
	return b.String()
}
