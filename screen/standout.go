package screen

import (
	"slices"
	"unicode"
)

// A Highlight is a part of a row that stands out from its surroundings: the selected entry of a
// menu, the button with the focus, a status line. Its columns From to To, To excluded.
type Highlight struct {
	Row, From, To int
	Style         Style
	Text          bool // by its text (bold, a colour, a line below), and not by its background
}

const (
	// tallHighlight is the most rows of one look that stand out; more are a window.
	tallHighlight = 3
	// mostHighlights is the most highlights of a row worth reporting; a row with more is a bar of keys or coloured
	// text.
	mostHighlights = 4
	// leastAlike is the least number of entries that make a list in which another one stands out.
	leastAlike = 3
	// leastEntry is the least number of columns of such an entry: the letters that are keys are often coloured.
	leastEntry = 2
	// edgeRows is how far from the top and the bottom of the screen its bars are.
	edgeRows = 3
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
// A part stands out if its background differs from that of the cells beside it, or it is as wide as the screen, and
// from that of the same columns some rows above and below. If no part does, a bold line between lines that are not
// bold stands out. If nothing stands out except bars at the top and the bottom, the only list entry with a different
// text style stands out as well.
func (s *Snapshot) Highlights() []Highlight { return s.highlights(&s.Lines) }

// highlights is Highlights for l, which is the Lines of s or [Lines.seen] of them.
func (s *Snapshot) highlights(l *Lines) []Highlight {
	all := l.standing()
	if len(all) == 0 {
		all = l.bold()
	}
	if h, ok := s.entry(l, all); ok {
		at, _ := slices.BinarySearchFunc(all, h.Row, func(h Highlight, y int) int { return h.Row - y })
		all = slices.Insert(all, at, h)
	}
	return all
}

// standing returns the parts that stand out by their background.
func (l *Lines) standing() []Highlight {
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
		a, b := l.trim(y, from, to)
		if a == b && block(row, from, to) {
			a, b = from, to
		}
		if a < b && row[from] != 0 && l.differs(looks, y, from, to) {
			if n := len(parts); n > 0 && l.joins(y, parts[n-1], from, row[parts[n-1].From] == row[from]) {
				parts[n-1].To = to
			} else {
				parts = append(parts, Highlight{Row: y, From: from, To: to, Style: l.style(l.at(y)[a])})
			}
		}
		from = to
	}
	return parts
}

// block reports whether the columns from, to are a single one between two that look the same. Such a column is a
// cursor that the program draws itself, or the mark of a check box. It stands out even without text. Wider parts
// without text are the shadows of windows.
func block(row []look, from, to int) bool {
	return to-from == 1 && from > 0 && (to == len(row) || row[from-1] == row[to])
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
			found = append(found, Highlight{Row: y, From: from, To: to, Style: l.style(l.at(y)[from]), Text: true})
		}
	}
	if 4*len(found) > max(lines, 8) {
		return nil
	}
	return found
}

// An ink is the look of a character besides its background.
type ink struct {
	color     Color
	attr      Attr
	underline Underline
}

func inkOf(c cell) ink {
	i := ink{c.fg(), c.attr() & (Bold | Faint | Italic | Blink | Strike | Overline), underline(c)}
	if c.attr()&Reverse != 0 {
		i.color = c.bg()
	}
	return i
}

// entry returns the only list entry with a text style that differs from the entries above and below it, for example
// in colour. This is the selected entry in programs that change no background. With several the cursor decides. On
// the main screen, where programs print lists of files in colours, the cursor must be in the row, or hidden. It
// returns no entry if a part other than a bar stands out by its background.
func (s *Snapshot) entry(l *Lines, standing []Highlight) (entry Highlight, ok bool) {
	middle := func(h Highlight) bool { return edgeRows <= h.Row && h.Row < l.Rows-edgeRows }
	if slices.ContainsFunc(standing, middle) {
		return Highlight{}, false
	}
	several, atCursor := false, false
	for y := range l.Rows - 1 { // the last row is for messages
		here := y == s.Cursor.Row && !s.Cursor.Hidden
		if !here && !s.AltScreen && !s.Cursor.Hidden {
			continue
		}
		h, top, bottom, odd := l.oddInk(y)
		if !odd || slices.ContainsFunc(standing, func(h Highlight) bool { return top-1 <= h.Row && h.Row <= bottom }) {
			continue
		}
		if here {
			atCursor = true
		} else if several = several || ok; atCursor {
			continue
		}
		entry, ok = h, true
	}
	return entry, ok && (atCursor || !several)
}

// oddInk returns the part of row y with a text style that differs from its neighbours, and the rows of the list
// around it.
func (l *Lines) oddInk(y int) (h Highlight, top, bottom int, odd bool) {
	row := l.at(y)
	for from := 0; from < len(row); {
		to := inkEnd(row, from)
		if a, b := l.trim(y, from, to); b-a >= leastEntry && begins(row, a) && word(row[a:b]) {
			if first, last, ok := l.alike(y, a, b); ok {
				if !odd {
					h = Highlight{Row: y, From: a, Style: l.style(row[a]), Text: true}
					top, bottom, odd = first, last, true
				}
				h.To = b
			}
		}
		from = to
	}
	return h, top, bottom, odd
}

// inkEnd returns where the text that begins in column from ends to have one look. Blanks have any.
func inkEnd(row []cell, from int) (to int) {
	var first ink
	text := false
	for to = from; to < len(row); to++ {
		if row[to].empty() {
			continue
		}
		if i := inkOf(row[to]); !text {
			first, text = i, true
		} else if i != first {
			break
		}
	}
	return to
}

// begins reports whether text begins in a column: behind a blank, a line of a box, or at the edge.
func begins(row []cell, x int) bool {
	return x < len(row) && !row[x].empty() && (x == 0 || row[x-1].empty() || fold(row[x-1].char()) != 0)
}

// word reports whether there is a letter or a digit in cells.
func word(cells []cell) bool {
	return slices.ContainsFunc(cells, func(c cell) bool {
		r := c.char()
		return r >= firstCluster || unicode.In(r, unicode.L, unicode.N)
	})
}

// alike reports whether the rows around y have text in the columns from, to that begins there, too, and
// has another look, the same in at least leastAlike rows. It returns the first and the last of these.
func (l *Lines) alike(y, from, to int) (top, bottom int, ok bool) {
	mine := inkOf(l.at(y)[from])
	var theirs ink
	n := 0
	ends := [2]int{y, y}
	for i, step := range []int{-1, 1} {
		for r := y + step; r >= 0 && r < l.Rows; r += step {
			row := l.at(r)
			row = row[:min(to, len(row))]
			if !begins(row, from) || inkEnd(row, from) < len(row) {
				break
			}
			look := inkOf(row[from])
			if n == 0 {
				theirs = look
			}
			if look == mine || look != theirs {
				if r == y+step { // a neighbour that is like it, or like nothing
					return 0, 0, false
				}
				break
			}
			n++
			ends[i] = r
		}
	}
	return ends[0], ends[1], n >= leastAlike
}
