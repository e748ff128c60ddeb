package screen

import (
	"unicode/utf8"

	"ptyctl/vt"
)

// text draws a run of characters.
func (e *emulator) text(t *vt.Token) {
	s := t.Data
	if t.ASCII && e.cursor.charsets.plain() && !e.modes.has(insert) {
		e.ascii(s)
		return
	}
	for len(s) > 0 {
		if s[0] < utf8.RuneSelf {
			n := 1
			if e.cursor.charsets.plain() && !e.modes.has(insert) {
				for n < len(s) && s[n] < utf8.RuneSelf {
					n++
				}
				e.ascii(s[:n])
			} else {
				e.put(e.cursor.charsets.translate(s[0]), 1)
			}
			s = s[n:]
			continue
		}
		r, n := decode(s)
		s = s[n:]
		e.rune(r)
	}
}

// decode is utf8.DecodeRune with a short cut for most characters of three bytes: box drawing,
// kana, Han, Hangul.
func decode(s []byte) (rune, int) {
	if len(s) >= 3 && 0xe1 <= s[0] && s[0] <= 0xec && s[1]&0xc0 == 0x80 && s[2]&0xc0 == 0x80 {
		return rune(s[0]&0x0f)<<12 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), 3
	}
	return utf8.DecodeRune(s)
}

// ascii draws printable ASCII. It is the path that most output takes.
func (e *emulator) ascii(s []byte) {
	c := &e.cursor
	e.last = rune(s[len(s)-1])
	for len(s) > 0 {
		if c.wrap && e.modes.has(autoWrap) {
			e.wrapLine()
		}
		last := e.lastColumn()
		row, in := e.row(c.y)
		n := min(len(s), last+1-c.x)
		if in.wide {
			e.split(row, in, c.x)
			e.split(row, in, c.x+n)
		}
		out := row[c.x : c.x+n]
		lo, hi := c.style.lo, c.style.hi
		for i, b := range s[:n] {
			out[i] = cell{lo | uint64(b), hi}
		}
		if n < len(s) && !e.modes.has(autoWrap) { // what does not fit overwrites the last column
			out[n-1] = c.style.with(rune(s[len(s)-1]))
			s = s[:n]
		}
		e.advance(in, n, last)
		s = s[n:]
	}
}

// advance moves the cursor to the right over n columns that were drawn.
func (e *emulator) advance(in *info, n, last int) {
	c := &e.cursor
	c.x += n
	if c.x > int(in.used) {
		in.used = uint16(c.x)
	}
	if c.x > last {
		c.x, c.wrap = last, true
		in.wrapped = false
	}
}

// wrapLine begins the next row for text that did not fit.
func (e *emulator) wrapLine() {
	c := &e.cursor
	if _, in := e.row(c.y); e.lastColumn() == e.cols-1 {
		in.wrapped = true
	}
	c.x = e.firstColumn()
	e.index()
}

// rune draws a character that is not ASCII.
func (e *emulator) rune(r rune) {
	if r < 0xa0 { // a C1 control in UTF-8
		e.c1(r)
		return
	}
	w := width(r)
	if w == 0 && invisible(r) {
		return
	}
	if e.modes.has(clustered) {
		if e.join(r) {
			return
		}
	} else if w == 0 {
		e.combine(r)
		return
	}
	e.put(r, max(w, 1))
}

// c1 applies the C1 controls that are no beginning of a sequence; xterm obeys them in UTF-8
// too.
func (e *emulator) c1(r rune) {
	switch r {
	case 0x84: // IND
		e.index()
	case 0x85: // NEL
		e.index()
		e.carriageReturn()
	case 0x88: // HTS
		e.tabs[e.cursor.x] = true
	case 0x8d: // RI
		e.reverseIndex()
	}
}

// put draws one character of w columns.
func (e *emulator) put(r rune, w int) {
	c := &e.cursor
	e.last = r
	auto := e.modes.has(autoWrap)
	if c.wrap && auto {
		e.wrapLine()
	}
	last := e.lastColumn()
	if w == 2 && c.x == last {
		if !auto || last == e.firstColumn() { // a wide character finds no room in any row
			return
		}
		if e.modes.has(insert) {
			e.erase(c.y, c.x, c.x+1, c.style.blank())
		}
		e.wrapLine()
		if last = e.lastColumn(); c.x == last {
			return
		}
	}
	if e.modes.has(insert) && e.margins.left <= c.x && c.x <= e.margins.right {
		e.shiftRight(c.y, c.x, last+1, w, c.style.blank())
	}
	row, in := e.row(c.y)
	e.split(row, in, c.x)
	e.split(row, in, c.x+w)
	head := c.style.with(r)
	if w == 2 {
		head.lo |= uint64(wide) << shift
		row[c.x+1] = cell{c.style.lo | uint64(tail)<<shift, c.style.hi}
		in.wide = true
	}
	row[c.x] = head
	e.advance(in, w, last)
}

// repeat is REP.
func (e *emulator) repeat(r rune, n int) {
	if r == 0 {
		return
	}
	w := max(1, width(r))
	for range min(n, e.cols*e.rows) {
		e.put(r, w)
	}
	e.last = 0
}
