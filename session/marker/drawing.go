package marker

import (
	"bytes"
	"strings"
	"unicode"

	"ptyctl/internal/lazyregexp"
	"ptyctl/vt"
)

// A drawing is the echo of a line as a line editor draws it: in pieces, more than once, in colours, or scrolled
// sideways so that the end alone is left. It ends where the editor switches bracketed paste off, and else with the line
// on the screen that shows the end of the typed text.
type drawing struct {
	line   string // that was typed
	before string // the last line before it
	cols   int    // of the window; 0: not known
	edited bool   // the editor takes bracketed paste
	on     bool   // the echo is a drawing
	held   []byte // the output so far
	looked int    // how much of held holds no end
	known  int    // how much of held is an echo in any case
}

// maxDrawing bounds the bytes held back: an editor that scrolls draws the row again for every few characters.
const maxDrawing = 128 << 10

const pasteOn = "\x1b[?2004h"

// entered matches the output of an editor behind pasteOff before the command runs: the line end, or a title and the
// normal colours, and a CR.
var entered = lazyregexp.New(`^(?:\x1b\][^\a\x1b]*(?:\a|\x1b\\)|\x1b\[[\d;]*m|\x1b\(B)*\r+`)

// find takes the next bytes, and returns where in d.held the echo ends. Without endFound, end is 0: no echo.
func (d *drawing) find(p []byte) (end int, v endVerdict) {
	d.held = append(d.held, p...)
	if len(d.held) <= maxDrawing { // the editor may say so late, behind the prompt
		d.edited = d.edited || bytes.Contains(d.held, []byte(pasteOn))
	}
	if end, v = d.findEntered(); v == endNone && !d.edited {
		end, v = d.findRow()
	} else if v == endNone {
		v = endPartial
	}
	if v == endPartial && len(d.held) > maxDrawing {
		return 0, endNone
	}
	return end, v
}

// findEntered looks for the place where the editor has switched bracketed paste off.
func (d *drawing) findEntered() (end int, v endVerdict) {
	i := bytes.Index(d.held, []byte(pasteOff))
	if !d.edited || i < 0 {
		return 0, endNone
	}
	lines := bytes.Count(d.held[:i], []byte("\n"))
	end = i + len(pasteOff)
	rest := d.held[end:]
	m := entered.Find(rest)
	switch {
	case m == nil && (len(rest) == 0 || rest[0] == '\x1b' && !bytes.ContainsAny(rest, "\r\n") && len(rest) < maxTitle):
		return 0, endPartial
	case m == nil:
		return end, endFound
	}
	end += len(m)
	switch {
	case end == len(d.held) && lines == 0: // the line end is still to come
		return 0, endPartial
	case end < len(d.held) && d.held[end] == '\n' && d.openAt(i):
		end++
	}
	return end, endFound
}

// openAt reports whether the line is not finished before held[i]: the line end is behind it.
func (d *drawing) openAt(i int) bool { return !bytes.HasSuffix(d.held[:i], []byte("\n")) }

// findRow looks for the finished line that shows the end of the typed text.
func (d *drawing) findRow() (end int, v endVerdict) {
	for {
		n := bytes.IndexByte(d.held[d.looked:], '\n')
		if n < 0 {
			return 0, endPartial
		}
		d.looked += n + 1
		drawn := d.held[:d.looked]
		c := vt.Cleaner{Cols: d.cols}
		text := string(bytes.TrimRight(c.Append(nil, append([]byte(d.lastRow()), drawn...)), "\n"))
		row, key := squeeze(text[strings.LastIndexByte(text, '\n')+1:]), squeeze(d.line)
		switch part := unscrolled(row); {
		case key == "":
			return 0, endNone
		case strings.HasSuffix(row, key), redrawn(drawn) && len(part) > 1 && strings.HasSuffix(key, part):
			return d.looked, endFound
		case redrawn(drawn) && part != "" && strings.Contains(squeeze(d.before)+key, part): // one row of several
		default:
			return 0, endNone
		}
	}
}

// lastRow returns the row of the window in which the cursor was: a line that scrolls sideways takes no other.
func (d *drawing) lastRow() string {
	columns := []rune(d.before)
	if d.cols > 0 {
		columns = columns[len(columns)/d.cols*d.cols:]
	}
	return string(columns)
}

// redrawn reports whether something was drawn over in p, or the cursor was moved.
func redrawn(p []byte) bool {
	return bytes.ContainsAny(p, "\b\x1b") || bytes.IndexByte(bytes.ReplaceAll(p, []byte("\r\n"), nil), '\r') >= 0
}

// unscrolled removes the signs with which line editors mark that a row does not show the whole line.
func unscrolled(row string) string {
	return strings.TrimLeft(strings.TrimRight(row, "<>*+"), "<>*+")
}

// squeeze removes the blanks of s, in which line editors differ.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
}
