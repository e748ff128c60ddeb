package screen

import "slices"

// secretMask stands for a secret within a control string. It has one length, however long the
// secret is.
const secretMask = "********"

// WriteSecret is Write for a part of the output that must not be read, for example the echo of
// a password. What it draws is an asterisk in all that the screen returns, wherever it goes
// from there. Within a control string, for example a title, asterisks take its place.
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
	_, _ = s.Write(p)
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
	e.title.now, e.dir = masked(e.title.now, find), masked(e.dir, find)
	for i, t := range e.title.stack {
		e.title.stack[i] = masked(t, find)
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
