package screen

import (
	"slices"
	"strings"
)

// Mask covers parts of the text, for example secrets, before the lines are read or drawn.
// find gets each line with the rows that it wraps over joined, and returns the bytes to cover
// as pairs of a beginning and an end. Rows that show something in their last column are joined
// with the next, because programs wrap lines, too. Each column covered becomes an asterisk
// without link, so the length stays visible. Links in which find finds something are dropped.
func (l *Lines) Mask(find func(line []byte) [][2]int) {
	var text []byte
	var at []int32 // the cell of each byte of text
	for y := 0; y < len(l.rows); y++ {
		for x := l.rows[y].from; x < l.rows[y].to; x++ {
			if c := l.cells[x]; !c.isTail() {
				text = appendChar(text, c, l.clusters)
			}
			for len(at) < len(text) {
				at = append(at, x)
			}
		}
		if (l.rows[y].wrapped || l.full(y)) && y+1 < len(l.rows) {
			continue
		}
		for _, part := range find(text) {
			for i := max(0, part[0]); i < min(part[1], len(text)); i++ {
				l.cover(at[i])
			}
		}
		text, at = text[:0], at[:0]
	}
	for i, s := range l.extras {
		if len(s) > 4 && len(find([]byte(s[4:]))) > 0 {
			l.extras[i] = s[:4]
		}
	}
}

// Mask is Lines.Mask, and covers parts of the title and of the folder's URI, too.
func (s *Snapshot) Mask(find func(text []byte) [][2]int) {
	s.Lines.Mask(find)
	s.Title, s.Dir = MaskText(s.Title, find), MaskText(s.Dir, find)
}

// MaskText returns s with an asterisk for each byte that find finds in it.
func MaskText(s string, find func(text []byte) [][2]int) string {
	if s == "" {
		return ""
	}
	b := []byte(s)
	for _, part := range find([]byte(s)) {
		for i := max(0, part[0]); i < min(part[1], len(b)); i++ {
			b[i] = '*'
		}
	}
	return strings.ToValidUTF8(string(b), "*")
}

// cover makes a cell, and its second half, an asterisk.
func (l *Lines) cover(i int32) {
	c := l.cells[i]
	if c.isWide() && int(i)+1 < len(l.cells) {
		l.cells[i+1] = c.masked()
	}
	l.cells[i] = c.masked()
}

// masked returns an asterisk in the style of c, without a link.
func (c cell) masked() cell {
	return cell{c.style().lo & (1<<extra - 1) &^ (uint64(secret) << shift), c.hi}.with('*')
}

// full reports whether a row shows something in its last column. A program that wraps its text
// itself leaves no other sign of that.
func (l *Lines) full(y int) bool {
	r := l.rows[y]
	return int(r.to-r.from) == l.Cols && !l.cells[r.to-1].empty()
}

// secretMask stands for a secret within a control string. It has one length, however long the
// secret is.
const secretMask = "********"

// WriteSecret is Write for a part of the output that must not be read, for example the echo of
// a password. What it draws is an asterisk in all that the screen returns, wherever it goes
// from there. Within a control string, for example a title, asterisks take its place. Questions in it get no answer.
func (s *Screen) WriteSecret(p []byte) {
	e := &s.emu
	if len(p) == 0 {
		return
	}
	if s.parser.InString() {
		_, _ = s.Write([]byte(secretMask))
		return
	}
	e.secret, e.secrets = uint64(secret)<<shift, true
	asked := len(e.replies.bytes)
	_, _ = s.Write(p)
	e.replies.bytes = e.replies.bytes[:asked]
	e.secret, e.last = 0, 0
}

// Hide covers, as Lines.Mask does, what find finds in all that the screen returns from now on, also beside what
// WriteSecret has drawn. nil: nothing more than that. Find must not use the screen.
func (s *Screen) Hide(find func(text []byte) [][2]int) { s.find = find }

// Cover makes secrets of what find finds, as if WriteSecret had drawn it. It is for a caller who is about to forget
// what to find. It drops the rows that have left the screen.
func (s *Screen) Cover(find func(text []byte) [][2]int) {
	e := &s.emu
	e.history.clear()
	for _, g := range []*grid{e.main, e.grid} {
		if g != nil {
			cover(e, g, find)
		}
	}
	if e.hold.frame != nil {
		e.hold.frame.Mask(find)
	}
	e.title.now, e.dir = MaskText(e.title.now, find), MaskText(e.dir, find)
	for i, t := range e.title.stack {
		e.title.stack[i] = MaskText(t, find)
	}
	if len(find([]byte(e.link))) > 0 {
		e.setExtra("", e.lineColor)
	}
}

// cover marks the cells of g, and takes links away in which find finds something.
func cover(e *emulator, g *grid, find func(text []byte) [][2]int) {
	var l Lines
	l.reset(g.cols, g.rows)
	for y := range g.rows {
		_, in := g.row(y)
		l.add(g.at(y), *in, &e.clusters, &e.extras)
	}
	before := slices.Clone(l.cells)
	l.Mask(find)
	for y := range g.rows {
		row, from := g.at(y), int(l.rows[y].from)
		for x := range row {
			if row[x].extra() != 0 && l.style(l.cells[from+x]).Link == "" {
				row[x].lo &= 1<<extra - 1
			}
			if l.cells[from+x] != before[from+x] {
				row[x].lo |= uint64(secret) << shift
				e.secrets = true
			}
		}
	}
}

// conceal makes asterisks of what WriteSecret has drawn.
func (l *Lines) conceal() {
	for i, c := range l.cells {
		if c.attr()&secret != 0 {
			l.cells[i] = c.masked()
		}
	}
}
