package screen

import (
	"unicode/utf8"

	"ptyctl/vt"
)

// text draws a run of characters.
func (p *pen) text(t *vt.Token) {
	s := t.Data
	if t.ASCII && p.cursor.charsets.plain() && !p.modes.has(insert) {
		p.ascii(s)
		return
	}
	for len(s) > 0 {
		if s[0] < utf8.RuneSelf {
			n := 1
			if p.cursor.charsets.plain() && !p.modes.has(insert) {
				for n < len(s) && s[n] < utf8.RuneSelf {
					n++
				}
				p.ascii(s[:n])
			} else {
				p.put(p.cursor.charsets.translate(s[0]), 1)
			}
			s = s[n:]
			continue
		}
		r, n := decode(s)
		s = s[n:]
		p.rune(r)
	}
}

// decode is utf8.DecodeRune with a short cut for most characters of three bytes: box drawing,
// kana, Han, Hangul.
func decode(s []byte) (rune, int) {
	if len(s) >= 3 && 0xe1 <= s[0] && s[0] <= 0xec && s[1]&0xc0 == 0x80 && s[2]&0xc0 == 0x80 {
		return rune(s[0]&0x0f)<<12 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), 3
	}
	r, n := utf8.DecodeRune(s)
	if r == utf8.RuneError && n == 1 {
		// The beginning of a character that does not go on is one sign, as in xterm (Unicode
		// 3.9, "maximal subpart").
		for n < len(s) && !utf8.FullRune(s[:n]) && !utf8.FullRune(s[:n+1]) {
			n++
		}
	}
	return r, n
}

// ascii draws printable ASCII. It is the path that most output takes.
func (p *pen) ascii(s []byte) {
	c := &p.cursor
	p.last = rune(s[len(s)-1])
	for len(s) > 0 {
		if c.wrap && p.modes.has(autoWrap) {
			p.wrapLine()
		}
		last := p.settle()
		row, in := p.row(c.y)
		n := min(len(s), last+1-c.x)
		if in.wide {
			p.split(row, in, c.x)
			p.split(row, in, c.x+n)
		}
		out := row[c.x : c.x+n]
		lo, hi := c.style.lo|p.secret, c.style.hi
		for i, b := range s[:n] {
			out[i] = cell{lo | uint64(b), hi}
		}
		if n < len(s) && !p.modes.has(autoWrap) { // text that does not fit overwrites the last column
			out[n-1] = cell{lo | uint64(s[len(s)-1]), hi}
			s = s[:n]
		}
		p.advance(in, n, last)
		s = s[n:]
	}
}

// advance moves the cursor to the right over n columns that were drawn.
func (p *pen) advance(in *info, n, last int) {
	c := &p.cursor
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
func (p *pen) wrapLine() {
	c := &p.cursor
	if _, in := p.row(c.y); p.lastColumn() == p.cols-1 {
		in.wrapped = true
	}
	c.x = p.firstColumn()
	p.index()
}

// rune draws a character that is not ASCII.
func (p *pen) rune(r rune) {
	if r < 0xa0 { // a C1 control in UTF-8, which xterm and tmux ignore
		return
	}
	w := width(r)
	if r > 0x1000 || w == 0 {
		switch {
		case r == 0x115f, r == 0x3164, r == 0xffa0: // Hangul fillers, which look like blanks
			r = ' '
		case !invisible(r):
		case w == 0:
			return
		default: // unassigned, but a program may count it as a column
			r = utf8.RuneError
		}
	}
	if p.modes.has(clustered) {
		if p.join(r) {
			return
		}
	} else if w == 0 {
		p.combine(r)
		return
	}
	p.put(r, max(w, 1))
}

// put draws one character of w columns.
func (p *pen) put(r rune, w int) {
	c := &p.cursor
	p.last = r
	auto := p.modes.has(autoWrap)
	if c.wrap && auto {
		p.wrapLine()
	}
	last := p.settle()
	if w == 2 && c.x == last {
		if !auto || last == p.firstColumn() { // a wide character finds no room in any row
			return
		}
		if p.modes.has(insert) {
			p.erase(c.y, c.x, c.x+1, c.style.blank())
		}
		p.wrapLine()
		if last = p.settle(); c.x == last {
			return
		}
	}
	if p.modes.has(insert) && p.margins.left <= c.x && c.x <= p.margins.right {
		p.shiftRight(c.y, c.x, last+1, w, c.style.blank())
	}
	row, in := p.row(c.y)
	p.split(row, in, c.x)
	p.split(row, in, c.x+w)
	head := c.style.with(r)
	head.lo |= p.secret
	if w == 2 {
		head.lo |= uint64(wide) << shift
		row[c.x+1] = cell{c.style.lo | p.secret | uint64(tail)<<shift, c.style.hi}
		in.wide = true
	}
	row[c.x] = head
	p.advance(in, w, last)
}

// repeat is REP. More than two rows would let a few bytes do the work of thousands.
func (p *pen) repeat(r rune, n int) {
	if r == 0 {
		return
	}
	w := max(1, width(r))
	p.work += 4 * min(n, 2*p.cols)
	for range min(n, 2*p.cols) {
		p.put(r, w)
	}
	p.last = 0
}
