package session

import (
	"bytes"
	"fmt"

	"ptyctl/session/keys"
)

// maxCookedLine is what a terminal in canonical mode takes of a line (termios(3), MAX_CANON, and Linux's N_TTY): it
// drops the rest silently, and the program gets what is left.
const maxCookedLine = 4095

// warnings warns of what is about to be typed and is probably not what the caller means. It is typed as given.
// Of sensitive data, no more than an escape at its end is repeated.
func (out *writer) warnings(data []byte, sensitive bool) (warnings []string) {
	s := out.s
	if text := keys.Spelled(string(data), sensitive); text != "" {
		warnings = append(warnings, text)
	}
	// A line editor, or a full-screen program, takes lines of any length.
	n, m := s.input.line(data), s.screen.modes()
	if n > maxCookedLine && !m.BracketedPaste && !m.AltScreen {
		warnings = append(
			warnings,
			fmt.Sprintf(
				"a line of %d bytes: unless the program reads keys one by one, the terminal takes %d bytes of a line and silently drops the rest; "+
					"send shorter lines%s",
				n,
				maxCookedLine,
				s.execs.beside(", or pass long data as stdin of a command in the channel lane"),
			),
		)
	}
	return warnings
}

// line counts what is typed since the last line end, and returns the length of the longest line that data makes.
func (l *inputLog) line(data []byte) (longest int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(data) > 0 {
		i := bytes.IndexAny(data, lineEnders)
		if i < 0 {
			l.lineTyped += len(data)
			return max(longest, l.lineTyped)
		}
		longest = max(longest, l.lineTyped+i)
		l.lineTyped, data = 0, data[i+1:]
	}
	return longest
}

// lineEnders are what empties the line that a terminal in canonical mode has taken so far: its ends, the end of file,
// the keys that signal, and the one that erases the line (termios(3), ICANON, ISIG and VKILL).
const lineEnders = "\r\n\x03\x04\x15\x1a\x1c"
