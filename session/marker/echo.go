package marker

import "bytes"

// LineEnds makes the LF of a stream, cut anywhere, out of the CR LF that a terminal's output processing
// (termios(3), ONLCR) put in its place. All other CRs stay.
type LineEnds struct {
	cr bool // a CR is held back: with the LF that may follow it is a line end
}

// Convert appends p to out.
func (l *LineEnds) Convert(out, p []byte) []byte {
	for len(p) > 0 {
		if l.cr {
			l.cr = false
			if p[0] != '\n' {
				out = append(out, '\r')
			}
		}
		i := bytes.IndexByte(p, '\r')
		if i < 0 {
			return append(out, p...)
		}
		out = append(out, p[:i]...)
		p = p[i+1:]
		l.cr = true
	}
	return out
}

// Flush appends the bytes held back.
func (l *LineEnds) Flush(out []byte) []byte {
	if l.cr {
		l.cr = false
		out = append(out, '\r')
	}
	return out
}

// maxEcho bounds the bytes held back as an echo: the line, and as much again for the bytes that a terminal adds where
// the line wraps.
const maxEcho = 2 * maxTypedLine

// pasteOff switches bracketed paste off; line editors send it when the line is entered (DECRST 2004).
const pasteOff = "\x1b[?2004l"

// An Echo removes the echo of a typed line with its line end, and the output of a line editor after it, from the start
// of the stream. If the stream begins with other text, that is passed on whole.
//
// Most echoes are the line itself. A line editor may instead draw the line in pieces, redraw it, or scroll it sideways
// in a narrow window; see drawing.
type Echo struct {
	line  []byte // the part of the line still to come
	seen  []byte // the part of line or of pasteOff that has come
	over  bool   // the line came: further output may belong to it
	ended bool   // and its line end
	raw   []byte // the output so far, until the line end
	drawn drawing
}

// NewEcho expects the echo of a line behind the text before, in a window of so many columns; 0: not known. edited says
// that a line editor with bracketed paste reads the line.
func NewEcho(line, before string, cols int, edited bool) Echo {
	e := Echo{line: []byte(line), drawn: drawing{line: line, before: before, cols: cols, edited: edited}}
	e.drawn.on = edited
	return e
}

// Strip returns p without the echo. Line ends are LF.
func (e *Echo) Strip(p []byte) []byte {
	if e.drawn.on {
		return e.stripDrawing(p)
	}
	for i, c := range p {
		switch {
		case len(e.line) == 0:
			if e.over && e.tail(c) {
				if !e.ended {
					e.raw = append(e.raw, c)
				}
				continue
			}
			if e.over && !e.ended && redrawn(e.raw) { // the same text, but drawn again
				return e.draw(len(e.raw)-len(e.seen), p[i:])
			}
			e.over = false
			return append(e.Flush(), p[i:]...)
		case c == e.line[0]:
			e.line = e.line[1:]
			e.seen = append(e.seen, c)
			e.over = len(e.line) == 0
		case e.skipsBlank(c):
			e.line = e.line[2:]
			e.seen = append(e.seen, c)
			e.over = len(e.line) == 0
		case e.wraps(c):
			e.seen = append(e.seen, c)
		default:
			return e.draw(0, p[i:])
		}
		if e.over {
			e.seen = nil
		}
		e.raw = append(e.raw, c)
	}
	return nil
}

// draw takes the output so far, and p, for an echo that is drawn. The first known bytes of that output are an echo in
// any case.
func (e *Echo) draw(known int, p []byte) []byte {
	e.drawn.on, e.drawn.known = true, known
	p = append(e.raw, p...)
	e.line, e.seen, e.raw, e.over = nil, nil, nil, false
	return e.stripDrawing(p)
}

// stripDrawing is Strip for an echo that is drawn.
func (e *Echo) stripDrawing(p []byte) []byte {
	end, v := e.drawn.find(p)
	if v == endPartial {
		return nil
	}
	if v == endNone {
		return e.Flush()
	}
	rest := e.drawn.held[end:]
	*e = Echo{over: true, ended: true}
	return e.Strip(rest)
}

// wraps reports whether c, within the line, is added by a terminal where the line wraps.
func (e *Echo) wraps(c byte) bool {
	n := len(e.seen)
	return n > 0 && n < maxEcho && (c == '\r' || c == '\n' || c == '\b' || c == ' ' || c == 0)
}

// skipsBlank reports whether c begins a row behind a blank that is not shown, because the row before is full.
func (e *Echo) skipsBlank(c byte) bool {
	n := len(e.seen)
	return n > 1 && bytes.IndexByte(e.seen[n-2:], '\n') >= 0 && len(e.line) > 1 && e.line[0] == ' ' && c == e.line[1]
}

// tail reports whether c, behind the line, belongs to it.
func (e *Echo) tail(c byte) bool {
	n := len(e.seen)
	switch {
	case !e.ended && n == 0 && c == ' ', n == 1 && e.seen[0] == ' ' && c == '\b': // the line fills the row
		e.seen = append(e.seen, c)
	case n > 0 && e.seen[0] == ' ':
		if n == 1 || c != '\r' && c != '\n' {
			return false
		}
		e.seen = nil
		return e.tail(c)
	case n < len(pasteOff) && c == pasteOff[n]:
		e.seen = append(e.seen, c)
	case n > 0 && n < len(pasteOff):
		return false
	case c == '\r' && (n > 0 || !e.ended): // a line end is CR LF by now, if it was CR CR LF
		e.seen = nil
	case c == '\n' && !e.ended:
		e.ended, e.seen = true, nil
	default:
		e.seen = nil
		return false
	}
	return true
}

// Pending reports whether the echo may still come, or go on.
func (e *Echo) Pending() bool {
	if e.drawn.on {
		return bytes.IndexByte(e.drawn.held, '\n') < 0
	}
	return len(e.line) > 0 && bytes.IndexByte(e.raw, '\n') < 0
}

// Flush returns the bytes held back for an echo that does not come any more.
func (e *Echo) Flush() []byte {
	if d := e.drawn; d.on && d.edited { // the editor has not said when the line was entered
		*e = NewEcho(d.line, d.before, d.cols, false)
		return append(e.Strip(d.held), e.Flush()...)
	}
	seen := append(e.seen, e.drawn.held[min(e.drawn.known, len(e.drawn.held)):]...)
	if len(e.line) == 0 && len(seen) == len(pasteOff) && seen[0] == pasteOff[0] {
		seen = nil
	}
	*e = Echo{}
	return seen
}
