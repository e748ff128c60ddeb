package screen

import "unicode/utf8"

// resize changes the size. Lines of the main screen are wrapped again (reflow); a full-screen program
// draws the alternate screen itself, so its rows are only cut.
func (e *emulator) resize(cols, rows int) {
	if cols == e.cols && rows == e.rows {
		return
	}
	if e.main != nil {
		e.main = e.reflow(e.main, &e.saved[0], cols, rows)
		e.grid = cutGrid(e.grid, &e.cursor, cols, rows)
	} else {
		e.grid = e.reflow(e.grid, &e.cursor, cols, rows)
	}
	e.margins = e.all()
	if tabs := e.tabs; len(tabs) != cols {
		e.resetTabs()
		copy(e.tabs, tabs)
	}
	e.hold = hold{}
	for i := range e.saved {
		s := &e.saved[i]
		s.x, s.y = min(s.x, cols-1), min(s.y, rows-1)
	}
}

// A line is a row outside a grid.
type line struct {
	cells []cell
	info
}

// cutGrid returns g in another size. The row of the cursor stays visible.
func cutGrid(g *grid, c *cursor, cols, rows int) *grid {
	drop := max(0, c.y-rows+1)
	to := newGrid(cols, rows)
	for y := drop; y < min(g.rows, drop+rows); y++ {
		_, in := g.row(y)
		to.setRow(y-drop, line{g.at(y), *in})
	}
	c.widen(g.cols, cols)
	c.y -= drop
	return to
}

// widen brings the column of c from a width to another. Behind the last column there may be
// room now.
func (c *cursor) widen(from, to int) {
	if c.wrap && to > from {
		c.x++
	}
	c.x, c.wrap = min(c.x, to-1), c.wrap && to == from
}

// setRow fills row y, and cuts cells that do not fit.
func (g *grid) setRow(y int, l line) {
	row, in := g.row(y)
	n := copy(row, l.cells)
	clear(row[n:])
	*in = l.info
	in.used, in.double = uint16(n), false
	if n > 0 && row[n-1].isWide() { // its second half was cut
		row[n-1] = row[n-1].style().with(' ')
	}
	if len(l.cells) > n {
		in.wrapped = false
	}
}

// reflow returns the main screen g in another size. Lines above the prompt, those of the
// history included, are wrapped at the new width. The prompt and the rows below it stay as they
// are, because shells draw them again and would not find them otherwise; xterm.js does the
// same with the line of the cursor.
func (e *emulator) reflow(g *grid, c *cursor, cols, rows int) *grid {
	start := e.promptRow(g, c.y)
	above, onScreen := e.linesAbove(g, start)
	if cols != g.cols {
		above, onScreen = rewrap(above, onScreen, cols)
	}
	var below []line
	for y := start; y < g.rows; y++ {
		_, in := g.row(y)
		below = append(below, line{g.at(y), *in})
	}
	at := c.y - start // the cursor's row in below
	used := len(below)
	for used > at+1 && blankLine(below[used-1].cells) {
		used--
	}

	// Rows leave the screen at the top, never the cursor's. They come back only where the
	// screen is full to its last row.
	shown := onScreen
	if used == len(below) {
		shown = len(above)
	}
	shown = min(shown, max(0, rows-used))
	drop := min(max(0, used-rows), at)

	out := above[:len(above)-shown]
	e.history.clear()
	for _, l := range out {
		e.history.keep(l.cells, l.info, &e.clusters)
	}
	for _, l := range below[:drop] {
		e.history.keep(l.cells, l.info, &e.clusters)
	}
	to := newGrid(cols, rows)
	y := 0
	for _, l := range above[len(above)-shown:] {
		to.setRow(y, l)
		y++
	}
	c.widen(g.cols, cols)
	c.y = y + at - drop
	for _, l := range below[drop:min(used, drop+rows-y)] {
		to.setRow(y, l)
		y++
	}
	return to
}

// promptRow returns the first row of the prompt that the cursor is in: by the marks of the
// shell, else the first row of the cursor's line.
func (e *emulator) promptRow(g *grid, y int) int {
	if e.prompt == Prompt || e.prompt == Command {
		for p := y; p >= 0; p-- {
			if _, in := g.row(p); in.mark == Prompt {
				return p
			}
		}
	}
	for y > 0 {
		if _, in := g.row(y - 1); !in.wrapped {
			break
		}
		y--
	}
	return y
}

// linesAbove returns the rows of the history and those of the screen above row start. The
// last n of them are on the screen.
func (e *emulator) linesAbove(g *grid, start int) (rows []line, n int) {
	store := func(text []byte, style cell) cell {
		if id, _, ok := e.clusters.id(text); ok {
			return style.with(rune(firstCluster + id))
		}
		r, _ := utf8.DecodeRune(text)
		return style.with(r)
	}
	for i := range e.history.count {
		cells, in := unpack(nil, e.history.at(i), store)
		rows = append(rows, line{cells, in})
	}
	for y := range start {
		_, in := g.row(y)
		rows = append(rows, line{g.at(y), *in})
	}
	return rows, start
}

// rewrap wraps rows at another width. The last n rows are on the screen; it returns how many
// of the new ones are.
func rewrap(rows []line, n, cols int) (out []line, onScreen int) {
	for i := 0; i < len(rows); {
		first := rows[i].info
		var text []cell
		end := i
		for ; end < len(rows); end++ {
			l := rows[end]
			if end > i && l.mark != NoMark {
				break
			}
			text = append(text, l.cells...)
			first.wide = first.wide || l.wide
			if !l.wrapped {
				end++
				break
			}
			if k := len(text); k > 0 && text[k-1] == (cell{}) && end+1 < len(rows) &&
				len(rows[end+1].cells) > 0 && rows[end+1].cells[0].isWide() {
				text = text[:k-1] // it was too narrow for the wide character
			}
		}
		before := len(out)
		out = appendWrapped(out, text, first, cols)
		if on := end - max(i, len(rows)-n); on == end-i {
			onScreen += len(out) - before
		} else if on > 0 { // the line begins in the history
			onScreen += min(on, len(out)-before)
		}
		i = end
	}
	return out, onScreen
}

// appendWrapped appends the rows of one line of text.
func appendWrapped(out []line, text []cell, in info, cols int) []line {
	for len(text) > 0 && text[len(text)-1] == (cell{}) {
		text = text[:len(text)-1]
	}
	if cols == 1 { // no room for wide characters
		narrow := make([]cell, 0, len(text))
		for _, c := range text {
			if !c.isTail() {
				if c.isWide() {
					c = c.style().with(' ')
				}
				narrow = append(narrow, c)
			}
		}
		text = narrow
	}
	for {
		n := min(cols, len(text))
		if n == cols && len(text) > n && text[n-1].isWide() {
			n--
		}
		in.wrapped = n < len(text)
		out = append(out, line{text[:n:n], in})
		if text = text[n:]; len(text) == 0 {
			return out
		}
		in.mark = NoMark
	}
}

// blankLine reports whether cells show nothing.
func blankLine(cells []cell) bool {
	for _, c := range cells {
		if !c.empty() || c.bg() != 0 || c.attr()&Reverse != 0 {
			return false
		}
	}
	return true
}
