package session

import (
	"bytes"
	"fmt"

	"ptyctl/session/keys"
)

// maxCookedLine is what a terminal in canonical mode takes of a line (termios(3), MAX_CANON, and Linux's N_TTY): it
// drops the rest silently, and the program gets what is left.
const maxCookedLine = 4095

// hazards warns of what is about to be typed and is probably not what the caller means. It is typed as given.
// Of sensitive data, no more than an escape at its end is repeated.
func (s *Session) hazards(data []byte, sensitive bool) (warnings []string) {
	if w := keys.Spelled(string(data), sensitive); w != "" {
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
