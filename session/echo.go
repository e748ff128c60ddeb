package session

import "bytes"

// lineEnds makes the LF of a stream, cut anywhere, out of the CR LF that a terminal's output processing
// (termios(3), ONLCR) put in its place. All other CRs stay.
type lineEnds struct {
	cr bool // a CR is held back: with the LF that may follow it is a line end
}

// convert appends p to out.
func (l *lineEnds) convert(out, p []byte) []byte {
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

// flush appends what was held back.
func (l *lineEnds) flush(out []byte) []byte {
	if l.cr {
		l.cr = false
		out = append(out, '\r')
	}
	return out
}

// maxEcho bounds what is held back as an echo: the line, and as much again for what a terminal puts between where
// the line wraps.
const maxEcho = 2 * maxTypedLine

// An echo takes the echo of a typed line out of the start of what comes back. If something else comes, it is
// passed on whole.
type echo struct {
	line []byte // what is still to come
	seen []byte // what came so far
	over bool   // the line came; a line end that follows is its own
}

// strip returns p without what belongs to the echo. Line ends are LF.
func (e *echo) strip(p []byte) []byte {
	for i, c := range p {
		switch {
		case len(e.line) == 0:
			if e.over && c == '\r' { // a line end is CR LF by now, if it was CR CR LF
				continue
			}
			if e.over && c == '\n' {
				i++
			}
			e.over = false
			return p[i:]
		case c == e.line[0]:
			e.line = e.line[1:]
			e.seen = append(e.seen, c)
			e.over = len(e.line) == 0
		case (c == '\r' || c == '\b' || c == ' ' || c == 0) && len(e.seen) > 0 && len(e.seen) < maxEcho: // the line wraps
			e.seen = append(e.seen, c)
		default:
			return append(e.flush(), p[i:]...)
		}
		if e.over {
			e.seen = nil
		}
	}
	return nil
}

// pending reports whether the echo may still come, or go on.
func (e *echo) pending() bool { return len(e.line) > 0 }

// flush returns what was held back for an echo that does not come any more.
func (e *echo) flush() []byte {
	seen := e.seen
	e.line, e.seen = nil, nil
	return seen
}
