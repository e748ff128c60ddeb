package screen

// A Highlight is a part of a row that stands out from its surroundings: the selected entry of a
// menu, the button with the focus, a status line. Its columns From to To, To excluded.
type Highlight struct {
	Row, From, To int
	Style         Style
}

const (
	// tallHighlight is the most rows of one look that stand out; more are a window.
	tallHighlight = 3
	// mostHighlights is the most parts of a row that are worth being told; a row with more is
	// a bar of keys or coloured text.
	mostHighlights = 4
)

// look is the appearance of a cell besides its character: the background after Reverse.
// The foreground is not part of it, because colours of text say more than the selection.
type look uint64

func lookOf(c cell) look {
	if c.attr()&Reverse == 0 {
		return look(c.bg())
	}
	return 1<<32 | look(c.fg())
}

// Highlights returns the parts of the rows that stand out, from top to bottom.
//
// A part stands out if its background differs from that of the cells beside it, or it is as
// wide as the screen, and from that of the same columns some rows above and below. Where
// nothing does, a line in bold between lines that are not stands out.
func (l *Lines) Highlights() []Highlight {
	looks := make([]look, l.Rows*l.Cols)
	for y := range l.Rows {
		for x, c := range l.at(y) {
			looks[y*l.Cols+x] = lookOf(c)
		}
	}
	var all []Highlight
	for y := range l.Rows {
		row := l.parts(looks, y)
		if len(row) <= mostHighlights {
			all = append(all, row...)
		}
	}
	if len(all) == 0 {
		return l.bold()
	}
	return all
}

// parts returns the parts of row y that stand out.
func (l *Lines) parts(looks []look, y int) (parts []Highlight) {
	row := looks[y*l.Cols:][:l.Cols]
	for from := 0; from < l.Cols; {
		to := from + 1
		for to < l.Cols && row[to] == row[from] {
			to++
		}
		if a, b := l.trim(y, from, to); a < b && row[from] != 0 && l.differs(looks, y, from, to) {
			if n := len(parts); n > 0 && l.joins(y, parts[n-1], from, row[parts[n-1].From] == row[from]) {
				parts[n-1].To = to
			} else {
				parts = append(parts, Highlight{y, from, to, l.style(l.at(y)[a])})
			}
		}
		from = to
	}
	return parts
}

// joins reports whether the part that begins at from continues h: it has the same look, and
// only few blanks are between them.
func (l *Lines) joins(y int, h Highlight, from int, same bool) bool {
	a, b := l.trim(y, h.To, from)
	return same && a >= b && from-h.To <= 4
}

// trim returns the columns from, to without blank ones at both ends.
func (l *Lines) trim(y, from, to int) (int, int) {
	cells := l.at(y)
	for to = min(to, len(cells)); from < to && cells[to-1].empty(); to-- {
	}
	for from < to && cells[from].empty() {
		from++
	}
	return from, to
}

// differs reports whether the columns from, to of row y look otherwise than those of the rows
// above and below, at most tallHighlight rows away. The edge of the screen differs from all.
func (l *Lines) differs(looks []look, y, from, to int) bool {
	same := func(row int) bool {
		a, b := looks[y*l.Cols:], looks[row*l.Cols:]
		equal := 0
		for x := from; x < to; x++ {
			if a[x] == b[x] {
				equal++
			}
		}
		return 2*equal > to-from
	}
	top, bottom := y, y
	for top > 0 && y-top < tallHighlight && same(top-1) {
		top--
	}
	for bottom < l.Rows-1 && bottom-y < tallHighlight && same(bottom+1) {
		bottom++
	}
	return bottom-top < tallHighlight && bottom-top < l.Rows-1
}

// bold returns the lines in bold between lines that are not, if they are few: many are
// headings.
func (l *Lines) bold() []Highlight {
	lines, found := 0, []Highlight(nil)
	weight := func(y int) (from, to int, bold, ok bool) {
		if y < 0 || y >= l.Rows {
			return 0, 0, false, false
		}
		from, to = l.trim(y, 0, l.Cols)
		for x := from; x < to; x++ {
			if c := l.at(y)[x]; !c.empty() && !c.isTail() && c.attr()&Bold == 0 {
				return from, to, false, true
			}
		}
		return from, to, from < to, from < to
	}
	for y := range l.Rows {
		from, to, bold, ok := weight(y)
		if !ok {
			continue
		}
		lines++
		_, _, above, okAbove := weight(y - 1)
		_, _, below, okBelow := weight(y + 1)
		if bold && (okAbove || okBelow) && !(okAbove && above) && !(okBelow && below) {
			found = append(found, Highlight{y, from, to, l.style(l.at(y)[from])})
		}
	}
	if 4*len(found) > max(lines, 8) {
		return nil
	}
	return found
}
