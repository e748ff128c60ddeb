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
func (l *Lines) Mask(find func(line []byte) [][2]int) { l.mask(find) }

// mask is Mask, and reports whether it has covered text that was no secret before.
func (l *Lines) mask(find func(line []byte) [][2]int) (fresh bool) {
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
				fresh = l.cover(at[i]) || fresh
			}
		}
		text, at = text[:0], at[:0]
	}
	for i, s := range l.extras {
		if len(s) > 4 && len(find([]byte(s[4:]))) > 0 {
			l.extras[i] = s[:4]
		}
	}
	return fresh
}

// Mask is Lines.Mask, and covers parts of the title and of the folder's URI, too.
func (s *Snapshot) Mask(find func(text []byte) [][2]int) { s.mask(find) }

func (s *Snapshot) mask(find func(text []byte) [][2]int) (fresh bool) {
	fresh = s.Lines.mask(find)
	s.Title, s.Dir = MaskText(s.Title, find), MaskText(s.Dir, find)
	return fresh
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

// cover makes a cell, and its second half, an asterisk. It reports whether the cell was neither a secret nor one before.
func (l *Lines) cover(i int32) (fresh bool) {
	c := l.cells[i]
	if c.isWide() && int(i)+1 < len(l.cells) {
		l.cells[i+1] = c.masked()
	}
	l.cells[i] = c.masked()
	return c.attr()&secret == 0 && c.char() != '*'
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

// secretMask replaces a secret within a control string. It has the same length for every secret.
const secretMask = "********"

// WriteSecret is Write for a part of the output that must not be read, for example the echo of
// a password. Each of its characters is an asterisk in all that the screen returns, wherever it goes
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

// Hide covers, as Lines.Mask does, the matches of find in all that the screen returns from now on, in addition to the
// text that WriteSecret has drawn. nil: only that text is covered. Find must not use the screen.
//
// Text that it has found once stays covered, wherever the cells go: a program may move or erase the rest of a secret later,
// and a resize wrap it at another column.
func (s *Screen) Hide(find func(text []byte) [][2]int) { s.find = find }

// Cover turns the matches of find into secrets, as if WriteSecret had drawn them. It is for a caller that is about to
// forget the values. It drops the rows that have left the screen, and a title or a link that has begun and not ended.
func (s *Screen) Cover(find func(text []byte) [][2]int) {
	e := &s.emu
	e.dropString = s.parser.InString()
	e.coverAll(find) // also secrets that begin in a row that has left
	e.history.clear()
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

// coverAll is Cover for a caller that keeps looking: the rows that have left the screen stay.
func (e *emulator) coverAll(find func(text []byte) [][2]int) {
	if e.main != nil {
		cover(e, e.main, e.history.count, find)
		cover(e, e.grid, 0, find)
	} else {
		cover(e, e.grid, e.history.count, find)
	}
}

// cover marks the cells of g, and of that many rows above it, and takes links away in which find finds something.
func cover(e *emulator, g *grid, above int, find func(text []byte) [][2]int) {
	var l Lines
	l.reset(g.cols, above+g.rows)
	var old []line
	if above > 0 {
		old, _ = e.linesAbove(g, 0)
	}
	first := len(old) - above
	for _, row := range old[first:] {
		l.add(row.cells, row.info, &e.clusters, &e.extras)
	}
	for y := range g.rows {
		_, in := g.row(y)
		l.add(g.at(y), *in, &e.clusters, &e.extras)
	}
	before := slices.Clone(l.cells)
	if !l.mask(find) && len(l.extras) == 0 {
		return
	}
	mark := func(y int, row []cell) (changed bool) {
		from := int(l.rows[y].from)
		for x := range row {
			if n := row[x].extra(); n != 0 && l.style(l.cells[from+x]).Link == "" {
				if link, _ := readExtra(e.extras.values[n]); link != "" {
					row[x].lo &= 1<<extra - 1
				}
			}
			if l.cells[from+x] != before[from+x] {
				row[x].lo |= uint64(secret) << shift
				e.secrets, changed = true, true
			}
		}
		return changed
	}
	changed := false
	for y, row := range old[first:] {
		changed = mark(y, row.cells) || changed
	}
	for y := range g.rows {
		mark(above+y, g.at(y))
	}
	if changed {
		e.history.clear()
		for _, row := range old {
			e.history.keep(row.cells, row.info, &e.clusters)
		}
	}
}

// goesOn counts the rows above the main screen that its first row continues, at most mostJoined.
func (e *emulator) goesOn() (n int) {
	if e.main != nil {
		return 0
	}
	for n < min(e.history.count, mostJoined) {
		cells, in := unpack(nil, e.history.at(e.history.count-1-n), func(_ []byte, style cell) cell { return style.with('x') })
		if !in.wrapped && (len(cells) < e.cols || cells[len(cells)-1].empty()) {
			break
		}
		n++
	}
	return n
}

// mostJoined is how many rows above the screen are looked at with it.
const mostJoined = 32

// conceal replaces the text that WriteSecret has drawn with asterisks.
func (l *Lines) conceal() {
	for i, c := range l.cells {
		if c.attr()&secret != 0 {
			l.cells[i] = c.masked()
		}
	}
}
