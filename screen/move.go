package screen

// within reports whether the cursor is between the left and the right margin, and between
// the top and the bottom one.
func (e *emulator) within() bool {
	c, m := &e.cursor, &e.margins
	return m.left <= c.x && c.x <= m.right && m.top <= c.y && c.y <= m.bottom
}

// lastColumn returns the column before which text must stop. To the right of the margin that
// is the edge of the screen.
func (e *emulator) lastColumn() int {
	if e.cursor.x > e.margins.right {
		return e.cols - 1
	}
	return e.margins.right
}

// firstColumn is lastColumn on the left.
func (e *emulator) firstColumn() int {
	if e.cursor.x < e.margins.left {
		return 0
	}
	return e.margins.left
}

// move takes the cursor to a place on the screen.
func (e *emulator) move(x, y int) {
	c := &e.cursor
	c.x, c.y, c.wrap = max(0, min(x, e.cols-1)), max(0, min(y, e.rows-1)), false
}

// position is CUP: from the corner of the screen, or in origin mode from that of the margins,
// which the cursor then cannot leave.
func (e *emulator) position(x, y int) {
	if e.cursor.origin {
		m := &e.margins
		x, y = min(m.left+x, m.right), min(m.top+y, m.bottom)
	}
	e.move(x, y)
}

func (e *emulator) home() { e.position(0, 0) }

// column is CHA and HPA.
func (e *emulator) column(x int) {
	if e.cursor.origin {
		x = min(e.margins.left+x, e.margins.right)
	}
	e.move(x, e.cursor.y)
}

// line is VPA.
func (e *emulator) line(y int) {
	if e.cursor.origin {
		y = min(e.margins.top+y, e.margins.bottom)
	}
	e.move(e.cursor.x, y)
}

// moveBy is HPR and VPR: right and down, over margins that the origin mode does not forbid.
func (e *emulator) moveBy(x, y int) {
	c := &e.cursor
	x, y = c.x+x, c.y+y
	if c.origin {
		x, y = min(x, e.margins.right), min(y, e.margins.bottom)
	}
	e.move(x, y)
}

// up is CUU: it stops at the top margin if it begins below it.
func (e *emulator) up(n int) {
	limit := 0
	if e.cursor.y >= e.margins.top {
		limit = e.margins.top
	}
	e.move(e.cursor.x, max(limit, e.cursor.y-n))
}

// down is CUD.
func (e *emulator) down(n int) {
	limit := e.rows - 1
	if e.cursor.y <= e.margins.bottom {
		limit = e.margins.bottom
	}
	e.move(e.cursor.x, min(limit, e.cursor.y+n))
}

// right is CUF.
func (e *emulator) right(n int) {
	e.move(min(e.lastColumn(), e.cursor.x+n), e.cursor.y)
}

// left is CUB and BS. With reverse wrap (DECSET 45) it goes on in the row above if the text
// came from there; with its extension (DECSET 1045) always.
func (e *emulator) left(n int) {
	c := &e.cursor
	reverse := e.modes.has(autoWrap) && (e.modes.has(reverseWrap) || e.modes.has(reverseWrapAny))
	if !reverse {
		e.move(max(e.firstColumn(), c.x-n), c.y)
		return
	}
	if c.wrap { // the cursor is behind the last column
		c.wrap = false
		n--
	}
	for n = min(n, e.cols*e.rows); n > 0; {
		first := e.firstColumn()
		step := min(n, c.x-first)
		c.x -= step
		if n -= step; n == 0 {
			return
		}
		y := c.y - 1
		if c.y == e.margins.top || y < 0 {
			if !e.modes.has(reverseWrapAny) {
				return
			}
			y = e.margins.bottom
		}
		if _, above := e.row(y); !above.wrapped && !e.modes.has(reverseWrapAny) {
			return
		}
		c.x, c.y = e.margins.right, y
		n--
	}
}

// carriageReturn is CR: to the left margin, or to the edge if the cursor is left of it.
func (e *emulator) carriageReturn() {
	e.cursor.x, e.cursor.wrap = e.firstColumn(), false
}

// index is IND and LF: down, or scroll at the bottom margin.
func (e *emulator) index() {
	c, m := &e.cursor, &e.margins
	c.wrap = false
	switch {
	case c.y == m.bottom:
		if m.left <= c.x && c.x <= m.right {
			e.scrollUp(1)
		}
	case c.y < e.rows-1:
		c.y++
	}
}

// reverseIndex is RI: up, or scroll down at the top margin.
func (e *emulator) reverseIndex() {
	c, m := &e.cursor, &e.margins
	c.wrap = false
	switch {
	case c.y == m.top:
		if m.left <= c.x && c.x <= m.right {
			e.scroll(*m, -1, c.style.blank())
		}
	case c.y > 0:
		c.y--
	}
}

// forwardIndex is DECFI: right, or scroll left at the right margin.
func (e *emulator) forwardIndex() {
	c := &e.cursor
	switch {
	case c.x == e.margins.right && e.within():
		e.shiftRows(e.margins.left, -1)
	case c.x < e.cols-1:
		e.move(c.x+1, c.y)
	}
}

// backIndex is DECBI.
func (e *emulator) backIndex() {
	c := &e.cursor
	switch {
	case c.x == e.margins.left && e.within():
		e.shiftRows(e.margins.left, 1)
	case c.x > 0:
		e.move(c.x-1, c.y)
	}
}

// scrollUp scrolls the rows between the margins. What leaves the top of the main screen goes
// to the history.
func (e *emulator) scrollUp(n int) {
	m := &e.margins
	if m.top == 0 && e.main == nil && m.left == 0 && m.right == e.cols-1 {
		for y := range min(n, m.bottom+1) {
			_, in := e.row(y)
			e.history.push(e.at(y), *in, &e.clusters)
		}
	}
	e.scroll(*m, n, e.cursor.style.blank())
}

// resetTabs sets a tab stop at every eighth column.
func (e *emulator) resetTabs() {
	e.tabs = make([]bool, e.cols)
	for x := 8; x < e.cols; x += 8 {
		e.tabs[x] = true
	}
}

// tab is CHT and HT.
func (e *emulator) tab(n int) {
	x, last := e.cursor.x, e.lastColumn()
	for ; n > 0 && x < last; n-- {
		for x++; x < last && !e.tabs[x]; x++ {
		}
	}
	e.cursor.x = x // a pending wrap stays pending only in the last column
	if x < last {
		e.cursor.wrap = false
	}
}

// backTab is CBT. As in xterm, a pending wrap stays pending.
func (e *emulator) backTab(n int) {
	x, first := e.cursor.x, 0
	if e.cursor.origin {
		first = e.margins.left
	}
	for ; n > 0 && x > first; n-- {
		for x--; x > first && !e.tabs[x]; x-- {
		}
	}
	e.cursor.x = x
}
