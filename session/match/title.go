package match

import (
	"bytes"
	"strings"
)

// titled is how much of a typed line a title must begin to show, in characters.
const titled = 8

// hideTitles returns p with zeros in place of each control string that shows a typed line, as the window titles (OSC 0
// and 2) and command marks (OSC 133 and 633) that shells send do. The others stay. p itself is not changed.
func hideTitles(p []byte, e Echo) []byte {
	own := p
	for at := 0; ; {
		i := bytes.Index(p[at:], []byte("\x1b]"))
		if i < 0 {
			return own
		}
		begin := at + i + 2
		n := bytes.IndexAny(p[begin:], "\a\x1b\n")
		if n < 0 {
			n = len(p) - begin
		}
		at = begin + n
		if !e.shownIn(string(p[begin:at])) {
			continue
		}
		if &own[0] == &p[0] {
			own = bytes.Clone(p)
		}
		clear(own[begin:at])
	}
}

// shownIn reports whether the text shows one of the lines.
func (e Echo) shownIn(text string) bool {
	text = squeeze(text)
	for _, l := range e.lines {
		if strings.Contains(text, l[:min(len(l), titled)]) {
			return true
		}
	}
	return false
}
