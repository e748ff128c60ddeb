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

// pasteOff is what line editors switch off when the line is entered (DECRST 2004).
const pasteOff = "\x1b[?2004l"

// An Echo removes the echo of a typed line with its line end, and the output of a line editor after it, from the start
// of the stream. If the stream begins with other text, that is passed on whole.
type Echo struct {
	line  []byte // the part of the line still to come
	seen  []byte // what came so far, of line or of pasteOff
	over  bool   // the line came: what follows may belong to it
	ended bool   // and its line end
}

// NewEcho expects the echo of a line.
func NewEcho(line string) Echo { return Echo{line: []byte(line)} }

// Strip returns p without what belongs to the echo. Line ends are LF.
func (e *Echo) Strip(p []byte) []byte {
	for i, c := range p {
		switch {
		case len(e.line) == 0:
			if e.over && e.tail(c) {
				continue
			}
			e.over = false
			return append(e.Flush(), p[i:]...)
		case c == e.line[0]:
			e.line = e.line[1:]
			e.seen = append(e.seen, c)
			e.over = len(e.line) == 0
		case (c == '\r' || c == '\b' || c == ' ' || c == 0) && len(e.seen) > 0 && len(e.seen) < maxEcho:
			// The line wraps.
			e.seen = append(e.seen, c)
		default:
			return append(e.Flush(), p[i:]...)
		}
		if e.over {
			e.seen = nil
		}
	}
	return nil
}

// tail reports whether c, behind the line, belongs to it.
func (e *Echo) tail(c byte) bool {
	n := len(e.seen)
	switch {
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
func (e *Echo) Pending() bool { return len(e.line) > 0 }

// Flush returns the bytes held back for an echo that does not come any more.
func (e *Echo) Flush() []byte {
	seen := e.seen
	if len(e.line) == 0 && len(seen) == len(pasteOff) {
		seen = nil
	}
	e.line, e.seen = nil, nil
	return seen
}
