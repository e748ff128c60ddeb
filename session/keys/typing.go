package keys

import (
	"bytes"
	"sync"
)

// MaxLine is the longest line that a terminal in canonical mode takes (termios(3), MAX_CANON, and Linux's N_TTY): it
// drops the rest silently, and the program gets the truncated line.
const MaxLine = 4095

// lineEnders are the characters that empty the line taken so far by a terminal in canonical mode: its ends, the end
// of file, the keys that signal, and the one that erases the line (termios(3), ICANON, ISIG and VKILL).
const lineEnders = "\r\n\x03\x04\x15\x1a\x1c"

// A Line counts the bytes of the line that is being typed. Its zero value is an empty line, and it may be used by any
// number of goroutines.
type Line struct {
	mu    sync.Mutex // guards the following
	typed int        // bytes since the last line end
}

// Type adds data to the line, and returns the length of the longest line that data makes.
func (l *Line) Type(data []byte) (longest int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(data) > 0 {
		i := bytes.IndexAny(data, lineEnders)
		if i < 0 {
			l.typed += len(data)
			return max(longest, l.typed)
		}
		longest = max(longest, l.typed+i)
		l.typed, data = 0, data[i+1:]
	}
	return longest
}

// The brackets around pasted text, if the program has asked for them (xterm control sequences, "Bracketed Paste
// Mode").
const (
	PasteStart = "\x1b[200~"
	PasteEnd   = "\x1b[201~"
)

// Paste returns data as a terminal sends pasted text: line ends are CR, as the enter key's are. It is put between
// brackets if the program has asked for them (DECSET 2004), so that it is text and not keys. It returns false if data
// holds [PasteEnd] itself: the bytes after it would act as keys.
//
// split says that the program takes the lines one by one, each with enter.
func Paste(data []byte, bracketed bool) (out []byte, split, ok bool) {
	if bytes.Contains(data, []byte(PasteEnd)) {
		return nil, false, false
	}
	out = bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\r")), []byte("\n"), []byte("\r"))
	if bracketed {
		return append(append([]byte(PasteStart), out...), PasteEnd...), false, true
	}
	i := bytes.IndexByte(out, '\r')
	return out, i >= 0 && i < len(out)-1, true
}
