package paced

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// An echo finds the echo of a line in the output that follows it. The far side may
//
//   - expand tabs and abbreviations ("int g0/1" comes back as "interface GigabitEthernet0/1"),
//   - wrap the line at the right edge, with or without a line end,
//   - scroll it, as IOS does: a row with "$" and as much of the line's end as fits,
//   - show its prompt before it, or report something first,
//   - show signs in place of a secret.
//
// So a row is the echo if it has the characters of the line in their order, blanks aside; or a "$" and an end of the
// line; or if it is the row that the line was typed in, begins like it, and has as many characters.
type echo struct {
	line  []rune // without the blanks at its end
	want  []rune // the characters of the line, without blanks
	cols  int    // of the terminal; 0: unknown
	start int    // the column at which the line was typed

	n     int    // characters of want that have come back
	row   []rune // as a person sees it
	col   int
	most  int  // the rightmost column so far
	first bool // it is the row in which the line was typed, behind a prompt
	begin int  // where the row begins, in bytes of the output
	seen  bool // all have come back
	ended bool // and the row with them has ended
	size  int  // bytes up to the end of that row
	esc   escape
}

// longestRow bounds the kept part of a row.
const longestRow = 4 << 10

// newEcho expects the echo of a line that is typed behind other text. ready says that this is a prompt: the echo begins
// there.
func newEcho(line, before string, ready bool, cols int) *echo {
	e := &echo{line: []rune(strings.TrimRight(line, " \t")), cols: cols, start: utf8.RuneCountInString(before), first: ready}
	e.col, e.most = e.start, e.start
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
	return e.seen || e.n >= n || e.first && e.most-e.start >= utf8.RuneCountInString(beginning)
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
		case r == '\r':
			e.col = 0
		case r == '\b':
			e.col = max(e.col-1, 0)
		case r == '\t':
			e.move(e.col/8*8 + 8)
		case r == ' ':
			e.put(r)
		case blank(r):
		default:
			e.put(r)
			if !e.seen && fold(r) == e.want[e.n] {
				e.n++
				e.seen = e.n == len(e.want)
			}
		}
	}
}

// put shows a character at the cursor.
func (e *echo) put(r rune) {
	if e.col < longestRow {
		for len(e.row) <= e.col {
			e.row = append(e.row, ' ')
		}
		e.row[e.col] = r
	}
	e.move(e.col + 1)
}

func (e *echo) move(col int) {
	e.col = col
	e.most = max(e.most, col)
}

// newline ends a row. The part of the line in it is no echo, unless the row is full or has the whole line.
func (e *echo) newline() {
	switch {
	case e.seen, e.replaced(), e.scrolled():
		e.seen, e.ended = true, true
		return
	case e.cols > 0 && e.most >= e.cols-1:
	default:
		e.n = 0
		e.begin = e.size
	}
	e.row, e.col, e.most, e.first = e.row[:0], 0, 0, false
}

// replaced reports whether the row begins like the line and has as many characters: those of a secret are often shown
// as others.
func (e *echo) replaced() bool {
	if !e.first || e.most-e.start < len(e.line) || len(e.row) < e.start {
		return false
	}
	n := min(leastStart, len(e.line))
	return slices.EqualFunc(e.row[e.start:min(e.start+n, len(e.row))], e.line[:n], func(a, b rune) bool { return fold(a) == fold(b) })
}

// leastStart and leastEnd are how much of a line distinguishes it from another.
const (
	leastStart = 4
	leastEnd   = 8
)

// scrolled reports whether the row has the end of the line behind the sign of a line editor that has scrolled it.
func (e *echo) scrolled() bool {
	row := []rune(strings.TrimRight(string(e.row), " "))
	for i, r := range row {
		if end := row[i+1:]; r == '$' && len(end) >= leastEnd && len(end) <= len(e.line) &&
			slices.Equal(end, e.line[len(e.line)-len(end):]) {
			return true
		}
	}
	return false
}

// An escape is the state within an escape sequence (ECMA-48). Its characters are not shown.
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
