package paced

import "unicode/utf8"

// An echo finds the echo of a line in the output that follows it. The far side may
//
//   - expand tabs and abbreviations ("int g0/1" comes back as "interface GigabitEthernet0/1"),
//   - wrap the line at the right edge, with or without a line end,
//   - scroll it, as IOS does: the line begins anew with "$" and what fits of its end,
//   - show its prompt before it, or report something first.
//
// In all of these the characters of the line, without blanks, come back in their order within one row, or within rows
// that are full.
type echo struct {
	want []rune // the characters of the line, without blanks
	cols int    // of the terminal; 0: unknown

	n     int  // characters that have come back
	row   int  // characters in the row so far
	seen  bool // all have come back
	ended bool // and the row with them has ended
	size  int  // bytes up to the end of that row
	esc   escape
}

// newEcho expects the echo of a line.
func newEcho(line string, cols int) *echo {
	e := &echo{cols: cols}
	for _, r := range line {
		if !blank(r) {
			e.want = append(e.want, fold(r))
		}
	}
	e.seen = len(e.want) == 0
	return e
}

func blank(r rune) bool { return r <= ' ' || r == 0x7f }

// fold makes letters equal that differ in case only: an expanded abbreviation may begin with a capital.
func fold(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

// has reports whether the beginning of the line has come back.
func (e *echo) has(beginning string) bool {
	n := 0
	for _, r := range beginning {
		if !blank(r) {
			n++
		}
	}
	return e.seen || e.n >= n
}

// feed looks at more of the output.
func (e *echo) feed(p []byte) {
	for len(p) > 0 && !e.ended {
		r, n := utf8.DecodeRune(p)
		p = p[n:]
		e.size += n
		switch {
		case e.esc.skips(r):
		case r == '\n':
			e.newline()
		case blank(r):
			if r == ' ' || r == '\t' {
				e.row++
			}
		default:
			e.row++
			if !e.seen && fold(r) == e.want[e.n] {
				e.n++
				e.seen = e.n == len(e.want)
			}
		}
	}
}

// newline ends a row. What it has of the line is no echo, unless the row is full or has all of it.
func (e *echo) newline() {
	switch {
	case e.seen:
		e.ended = true
	case e.cols > 0 && e.row >= e.cols-1:
	default:
		e.n = 0
	}
	e.row = 0
}

// An escape is the state within an escape sequence (ECMA-48), whose characters are not shown.
type escape byte

const (
	escNone escape = iota
	escBegun
	escCSI
	escString     // OSC, DCS and the like, until BEL or ST
	escStringEnds // an ESC in it
)

// skips reports whether r belongs to an escape sequence.
func (s *escape) skips(r rune) bool {
	const esc, bel = 0x1b, 0x07
	switch *s {
	case escNone:
		if r != esc {
			return false
		}
		*s = escBegun
	case escBegun:
		switch {
		case r == '[':
			*s = escCSI
		case r == ']' || r == 'P' || r == '^' || r == '_' || r == 'X':
			*s = escString
		case r >= ' ' && r <= '/': // an intermediate byte
		default:
			*s = escNone
		}
	case escCSI:
		if r >= '@' && r <= '~' || r < ' ' {
			*s = escNone
		}
	case escString:
		switch r {
		case bel:
			*s = escNone
		case esc:
			*s = escStringEnds
		}
	case escStringEnds:
		*s = escNone
	}
	return true
}
