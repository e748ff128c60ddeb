package screen

import (
	"slices"
	"sync"
)

// A grid is the cells of one screen, the main or the alternate. Coordinates begin at 0, and
// ranges exclude their end.
type grid struct {
	cols, rows int
	cells      []cell
	order      []uint16 // order[y] is the slot of row y: to scroll is to move these numbers
	info       []info   // by slot
	work       int      // cells erased, moved and copied since it was last asked
}

// info describes a row of a grid.
type info struct {
	used    uint16 // the cells from here on are zero
	wide    bool   // may have wide characters
	wrapped bool   // the text goes on in the next row
	double  bool   // characters are twice as wide (DECDWL, DECDHL): half the columns are in use
	mark    Mark
}

// newGrid returns a blank grid.
func newGrid(cols, rows int) *grid {
	g := &grid{
		cols: cols, rows: rows,
		cells: make([]cell, cols*rows), order: make([]uint16, rows), info: make([]info, rows),
	}
	for y := range g.order {
		g.order[y] = uint16(y)
	}
	return g
}

// spare keeps grids of alternate screens, for the next program that wants one.
var spare sync.Pool

// lendGrid returns a blank grid, of spare if there is one of this size.
func lendGrid(cols, rows int) *grid {
	g, _ := spare.Get().(*grid)
	if g == nil || g.cols != cols || g.rows != rows {
		g = newGrid(cols, rows)
		g.work = cols * rows
		return g
	}
	g.work = 0
	for y := range rows {
		g.clearRow(y, cell{})
	}
	return g
}

// row returns the cells of row y and its info.
func (g *grid) row(y int) ([]cell, *info) {
	slot := int(g.order[y])
	from := slot * g.cols
	return g.cells[from : from+g.cols : from+g.cols], &g.info[slot]
}

// singleWidth is DECSWL for all rows.
func (g *grid) singleWidth() {
	for i := range g.info {
		g.info[i].double = false
	}
}

// anyDouble reports whether a row has characters of double width.
func (g *grid) anyDouble() bool {
	return slices.ContainsFunc(g.info, func(in info) bool { return in.double })
}

// at returns the row as it was drawn, without the blank cells at its end.
func (g *grid) at(y int) []cell {
	row, in := g.row(y)
	return row[:in.used]
}

// clearRow makes row y blank.
func (g *grid) clearRow(y int, blank cell) {
	row, in := g.row(y)
	g.work += 1 + int(in.used)
	clear(row[:in.used])
	*in = info{}
	if blank != (cell{}) {
		g.work += g.cols
		fill(row, blank)
		in.used = uint16(g.cols)
	}
}

// erase makes the cells from, to of row y blank, and the halves of wide characters that are
// left beside them.
func (g *grid) erase(y, from, to int, blank cell) {
	if from >= to {
		return
	}
	row, in := g.row(y)
	g.split(row, in, from)
	g.split(row, in, to)
	if blank == (cell{}) {
		to = min(to, int(in.used))
	}
	if from >= to {
		return
	}
	g.work += to - from
	fill(row[from:to], blank)
	if blank != (cell{}) {
		in.used = max(in.used, uint16(to))
	} else if to == int(in.used) {
		in.used = uint16(from)
	}
}

// split erases a wide character that begins before column x and ends in it.
func (g *grid) split(row []cell, in *info, x int) {
	if in.wide && 0 < x && x < len(row) && row[x].isTail() {
		row[x-1] = row[x-1].style().with(' ')
		row[x] = row[x].style().with(' ')
	}
}

// eraseUnprotected erases the cells from, to of row y except those with DECSCA.
func (g *grid) eraseUnprotected(y, from, to int, blank cell) {
	row := g.at(y)
	to = min(to, len(row))
	g.work += max(0, to-from)
	for x := from; x < to; x++ {
		if row[x].attr()&protected == 0 {
			g.erase(y, x, x+1, blank)
		}
	}
}

func fill(cells []cell, c cell) {
	if c == (cell{}) {
		clear(cells)
		return
	}
	for i := range cells {
		cells[i] = c
	}
}

// shiftRight moves the cells from, to of row y by n columns to the right; a negative n moves
// them to the left. The columns that become free are blank (ICH, DCH).
func (g *grid) shiftRight(y, from, to, n int, blank cell) {
	row, in := g.row(y)
	g.split(row, in, from)
	g.split(row, in, to)
	in.used = max(in.used, uint16(to))
	size := to - from
	g.work += size
	switch {
	case n >= size || -n >= size:
		fill(row[from:to], blank)
	case n > 0:
		g.split(row, in, to-n)
		copy(row[from+n:to], row[from:to-n])
		fill(row[from:from+n], blank)
	default:
		g.split(row, in, from-n)
		copy(row[from:to+n], row[from-n:to])
		fill(row[to+n:to], blank)
	}
}

// A span is a part of the screen that scrolls: rows top to bottom and columns left to right,
// all included.
type span struct{ top, bottom, left, right int }

// all returns the whole grid as a span.
func (g *grid) all() span { return span{0, g.rows - 1, 0, g.cols - 1} }

// scroll moves the rows of s up by n, or down by -n. Rows that become free are blank.
func (g *grid) scroll(s span, n int, blank cell) {
	size := s.bottom - s.top + 1
	n = max(-size, min(n, size))
	if n == 0 {
		return
	}
	if s.left > 0 || s.right < g.cols-1 {
		g.scrollPart(s, n, blank)
		return
	}
	rows := g.order[s.top : s.bottom+1]
	switch {
	case n == 1: // a line feed
		first := rows[0]
		copy(rows, rows[1:])
		rows[size-1] = first
	case n > 0:
		rotate(rows, n)
	default:
		rotate(rows, size+n)
	}
	free := s.bottom + 1 - n
	if n < 0 {
		free = s.top
	}
	for y := free; y < free+max(n, -n); y++ {
		g.clearRow(y, blank)
	}
	g.cut(s.top - 1)
	if n < 0 {
		g.cut(s.bottom)
	}
}

// cut ends the line of row y there, because the row that it went on in is another.
func (g *grid) cut(y int) {
	if y >= 0 {
		_, in := g.row(y)
		in.wrapped = false
	}
}

// rotate moves the first n elements of s to its end.
func rotate(s []uint16, n int) {
	slices.Reverse(s[:n])
	slices.Reverse(s[n:])
	slices.Reverse(s)
}

// scrollPart is scroll for a span that is not as wide as the grid.
func (g *grid) scrollPart(s span, n int, blank cell) {
	from, to := s.left, s.right+1
	g.work += (s.bottom - s.top + 1) * (to - from)
	move := func(y, source int) {
		row, in := g.row(y)
		g.split(row, in, from)
		g.split(row, in, to)
		if source < s.top || source > s.bottom {
			g.erase(y, from, to, blank)
			return
		}
		src, srcInfo := g.row(source)
		g.split(src, srcInfo, from)
		g.split(src, srcInfo, to)
		copy(row[from:to], src[from:to])
		in.used = max(in.used, uint16(to))
		in.wide = in.wide || srcInfo.wide
		in.wrapped = false
	}
	if n > 0 {
		for y := s.top; y <= s.bottom; y++ {
			move(y, y+n)
		}
		return
	}
	for y := s.bottom; y >= s.top; y-- {
		move(y, y+n)
	}
}
