package screen

import (
	"bytes"
	"unicode/utf8"

	"ptyctl/vt"
)

// Skip looks for output that no reader can see any more: a beginning of p that the rest of p scrolls away, as in a
// long log. It brings the screen to the state after that beginning without drawing it, and returns its length, or 0.
// The caller draws the rest, then or later, by Write. The scrollback then has no earlier line.
//
// It knows lines of text, also in colours. All other output has to be drawn.
func (s *Screen) Skip(p []byte) int {
	e := &s.emu
	// Of the lines kept, as many as the screen has bring the cursor to its bottom, as many let all that is there leave
	// the screen, and as many are scrollback.
	cut := lastLines(p, 3*e.rows)
	if cut == 0 || !s.parser.Between() || !skippable(e) {
		return 0
	}
	r := newRun(e)
	if !r.lines(p[:cut]) {
		return 0
	}
	x, y, scrolled, colours := r.x, r.y, r.scrolled, r.colours
	if !r.lines(p[cut:bytes.LastIndexByte(p, '\n')+1]) || r.scrolled-scrolled < uint64(e.rows) {
		return 0
	}
	if colours >= 0 {
		e.colours(p[colours:cut])
	}
	c := &e.cursor
	c.x, c.y, c.wrap = min(x, e.cols-1), y, false
	e.last = 0
	for y := range e.rows {
		e.clearRow(y, cell{})
	}
	if e.main == nil {
		e.history.clear()
		e.history.total += scrolled
		e.history.ignore = e.rows
	}
	return cut
}

// lastLines returns where the last n lines of p begin; 0: it has no more than those.
func lastLines(p []byte, n int) int {
	const block = 1 << 10 // to count in blocks is much faster than to look at each byte from the end
	for at := len(p); at > 0; {
		from := max(0, at-block)
		have := bytes.Count(p[from:at], []byte{'\n'})
		if have > n {
			for ; have > n; have-- {
				from += bytes.IndexByte(p[from:], '\n') + 1
			}
			return from
		}
		n, at = n-have, from
	}
	return 0
}

// skippable reports whether a line feed at the bottom scrolls the whole screen, and text goes from its left to its
// right edge.
func skippable(e *emulator) bool {
	return e.margins == e.all() && !e.anyDouble() && !e.hold.on && e.cursor.charsets.plain() && e.modes.has(autoWrap) &&
		!e.modes.has(insert) && !e.modes.has(clustered)
}

// A run is the movement of the cursor by lines of text.
type run struct {
	x, y     int // x is cols while a wrap is pending
	scrolled uint64
	colours  int // where the SGRs begin that count at the end: the first, or the last that resets all; -1: none do

	cols, bottom int
	tabs         []bool
	newLine      bool
}

// newRun returns one that begins at the cursor.
func newRun(e *emulator) run {
	r := run{
		x: e.cursor.x, y: e.cursor.y, colours: -1, cols: e.cols, bottom: e.rows - 1, tabs: e.tabs, newLine: e.modes.has(newLine),
	}
	if e.cursor.wrap {
		r.x = r.cols
	}
	return r
}

// lines moves over p. It reports false if p has anything else than lines of text in colours.
func (r *run) lines(p []byte) bool {
	for i := 0; i < len(p); {
		switch c := p[i]; {
		case c == '\r':
			r.x, i = 0, i+1
		case c == '\n':
			r.x = min(r.x, r.cols-1)
			if r.newLine {
				r.x = 0
			}
			r.down(1)
			i++
		case c == '\t':
			if i++; r.x < r.cols-1 {
				for r.x++; r.x < r.cols-1 && !r.tabs[r.x]; r.x++ {
				}
			}
		case c == 0x1b:
			n := colour(p[i:])
			if n == 0 {
				return false
			}
			if reset := n == 3 || n == 4 && p[i+2] == '0'; p[i+n-1] == 'm' && (reset || r.colours < 0) {
				r.colours = i
			}
			i += n
		case c < 0x20 || c == 0x7f:
			return false
		default:
			n, ascii := vt.Printable(p[i:])
			text := p[i : i+n]
			i += n
			switch {
			case ascii:
				r.ascii(n)
			case r.x+n <= r.cols && i < len(p) && p[i] == '\r': // no character has more columns than bytes
				if !drawable(text) {
					return false
				}
			case !r.text(text):
				return false
			}
		}
	}
	return true
}

// ascii moves over n characters of one column.
func (r *run) ascii(n int) {
	if r.x += n; r.x > r.cols {
		wraps := (r.x - 1) / r.cols
		r.x -= wraps * r.cols
		r.down(wraps)
	}
}

// drawable reports whether p is UTF-8 without C1 controls.
func drawable(p []byte) bool {
	if !utf8.Valid(p) {
		return false
	}
	for at := 0; ; at++ {
		i := bytes.IndexByte(p[at:], 0xc2)
		if i < 0 {
			return true
		}
		if at += i; p[at+1] < 0xa0 {
			return false
		}
	}
}

// text moves over text in UTF-8.
func (r *run) text(p []byte) bool {
	for len(p) > 0 {
		c, n := decode(p)
		if p = p[n:]; c >= utf8.RuneSelf && c < 0xa0 || c == utf8.RuneError {
			return false
		}
		w := width(c)
		if w == 2 && r.cols < 2 {
			return false
		}
		if w > 0 && r.x+w > r.cols {
			r.x = 0
			r.down(1)
		}
		r.x += w
	}
	return true
}

// down moves n rows down, or scrolls.
func (r *run) down(n int) {
	r.y += n
	if r.y > r.bottom {
		r.scrolled += uint64(r.y - r.bottom)
		r.y = r.bottom
	}
}

// colour returns the length of an SGR, or an EL, with which p begins; 0: it does not.
func colour(p []byte) int {
	if len(p) < 3 || p[1] != '[' {
		return 0
	}
	for i := 2; i < len(p); i++ {
		switch c := p[i]; {
		case '0' <= c && c <= ';':
		case c == 'm', c == 'K':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// colours applies the SGRs in p.
func (e *emulator) colours(p []byte) {
	var parser vt.Parser
	for {
		i := bytes.IndexByte(p, 0x1b)
		if i < 0 {
			return
		}
		var t *vt.Token
		if t, p = parser.Next(p[i:]); t == nil {
			return
		}
		if t.Kind == vt.CSI && t.Final == 'm' && t.Private == 0 && t.Inter[0] == 0 {
			e.sgr(t)
		}
	}
}
