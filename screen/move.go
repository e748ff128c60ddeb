package screen

// within reports whether the cursor is between the left and the right margin, and between
// the top and the bottom one.
func (p *pen) within() bool {
	c, m := &p.cursor, &p.margins
	return m.left <= c.x && c.x <= m.right && m.top <= c.y && c.y <= m.bottom
}

// lastColumn returns the column before which text must stop. To the right of the margin that
// is the edge of the screen.
func (p *pen) lastColumn() int {
	last := p.margins.right
	if p.cursor.x > last {
		last = p.cols - 1
	}
	if p.info[p.order[p.cursor.y]].double {
		last = min(last, max(0, p.cols/2-1))
	}
	return last
}

// settle returns lastColumn, after it has brought the cursor there if it is beyond it: the rows
// above and below may have more columns.
func (p *pen) settle() int {
	last := p.lastColumn()
	p.cursor.x = min(p.cursor.x, last)
	return last
}

// firstColumn is lastColumn on the left.
func (p *pen) firstColumn() int {
	if p.cursor.x < p.margins.left {
		return 0
	}
	return p.margins.left
}

// move takes the cursor to a place on the screen.
func (p *pen) move(x, y int) {
	c := &p.cursor
	c.x, c.y, c.wrap = max(0, min(x, p.cols-1)), max(0, min(y, p.rows-1)), false
	if p.info[p.order[c.y]].double {
		p.settle()
	}
}

// position is CUP: from the corner of the screen, or in origin mode from that of the margins,
// which the cursor then cannot leave.
func (p *pen) position(x, y int) {
	if p.cursor.origin {
		m := &p.margins
		x, y = min(m.left+x, m.right), min(m.top+y, m.bottom)
	}
	p.move(x, y)
}

func (p *pen) home() { p.position(0, 0) }

// column is CHA and HPA.
func (p *pen) column(x int) {
	if p.cursor.origin {
		x = min(p.margins.left+x, p.margins.right)
	}
	p.move(x, p.cursor.y)
}

// line is VPA.
func (p *pen) line(y int) {
	if p.cursor.origin {
		y = min(p.margins.top+y, p.margins.bottom)
	}
	p.move(p.cursor.x, y)
}

// moveBy is HPR, VPR and HPB: over margins that the origin mode does not forbid.
func (p *pen) moveBy(x, y int) {
	c := &p.cursor
	x, y = c.x+x, c.y+y
	if c.origin {
		m := &p.margins
		x, y = max(m.left, min(x, m.right)), max(m.top, min(y, m.bottom))
	}
	p.move(x, y)
}

// up is CUU: it stops at the top margin if it begins below it.
func (p *pen) up(n int) {
	limit := 0
	if p.cursor.y >= p.margins.top {
		limit = p.margins.top
	}
	p.move(p.cursor.x, max(limit, p.cursor.y-n))
}

// down is CUD.
func (p *pen) down(n int) {
	limit := p.rows - 1
	if p.cursor.y <= p.margins.bottom {
		limit = p.margins.bottom
	}
	p.move(p.cursor.x, min(limit, p.cursor.y+n))
}

// right is CUF.
func (p *pen) right(n int) {
	p.move(min(p.lastColumn(), p.cursor.x+n), p.cursor.y)
}

// left is CUB and BS. With reverse wrap (DECSET 45) it goes on in the row above if the text
// came from there; with its extension (DECSET 1045) always.
func (p *pen) left(n int) {
	c := &p.cursor
	reverse := p.modes.has(autoWrap) && (p.modes.has(reverseWrap) || p.modes.has(reverseWrapAny))
	if !reverse {
		p.move(max(p.firstColumn(), c.x-n), c.y)
		return
	}
	if c.wrap { // the cursor is behind the last column
		c.wrap = false
		n--
	}
	for n = min(n, p.cols*p.rows); n > 0; {
		p.work += 2
		first := p.firstColumn()
		step := min(n, c.x-first)
		c.x -= step
		if n -= step; n == 0 {
			return
		}
		y := c.y - 1
		if c.y == p.margins.top || y < 0 {
			if !p.modes.has(reverseWrapAny) {
				return
			}
			y = p.margins.bottom
		}
		if _, above := p.row(y); !above.wrapped && !p.modes.has(reverseWrapAny) {
			return
		}
		c.x, c.y = p.margins.right, y
		n--
	}
}

// carriageReturn is CR: to the left margin, or to the edge if the cursor is left of it.
func (p *pen) carriageReturn() {
	p.cursor.x, p.cursor.wrap = p.firstColumn(), false
}

// index is IND and LF: down, or scroll at the bottom margin.
func (p *pen) index() {
	c, m := &p.cursor, &p.margins
	c.wrap = false
	switch {
	case c.y == m.bottom:
		if m.left <= c.x && c.x <= m.right {
			p.scrollUp(1)
		}
	case c.y < p.rows-1:
		c.y++
	}
}

// reverseIndex is RI: up, or scroll down at the top margin.
func (p *pen) reverseIndex() {
	c, m := &p.cursor, &p.margins
	c.wrap = false
	switch {
	case c.y == m.top:
		if m.left <= c.x && c.x <= m.right {
			p.scroll(*m, -1, c.style.blank())
		}
	case c.y > 0:
		c.y--
	}
}

// forwardIndex is DECFI: right, or scroll left at the right margin.
func (p *pen) forwardIndex() {
	c := &p.cursor
	switch {
	case c.x == p.margins.right && p.within():
		p.shiftRows(p.margins.left, -1)
	case c.x < p.cols-1:
		p.move(c.x+1, c.y)
	}
}

// backIndex is DECBI.
func (p *pen) backIndex() {
	c := &p.cursor
	switch {
	case c.x == p.margins.left && p.within():
		p.shiftRows(p.margins.left, 1)
	case c.x > 0:
		p.move(c.x-1, c.y)
	}
}

// scrollUp scrolls the rows between the margins. Rows that leave the top of the main screen go to the history.
func (p *pen) scrollUp(n int) {
	m := &p.margins
	if m.top == 0 && p.main == nil && m.left == 0 && m.right == p.cols-1 {
		p.work += packWork * min(n, m.bottom+1)
		for y := range min(n, m.bottom+1) {
			_, in := p.row(y)
			p.history.push(p.at(y), *in, &p.clusters)
		}
	}
	p.scroll(*m, n, p.cursor.style.blank())
}

// resetTabs sets a tab stop at every eighth column.
func (p *pen) resetTabs() {
	if len(p.tabs) != p.cols {
		p.tabs = make([]bool, p.cols)
	}
	clear(p.tabs)
	for x := 8; x < p.cols; x += 8 {
		p.tabs[x] = true
	}
}

// tab is CHT and HT.
func (p *pen) tab(n int) {
	x, last := p.cursor.x, p.lastColumn()
	for ; n > 0 && x < last; n-- {
		for x++; x < last && !p.tabs[x]; x++ {
		}
	}
	p.cursor.x = x // a pending wrap stays pending only in the last column
	if x < last {
		p.cursor.wrap = false
	}
}

// backTab is CBT. As in xterm, a pending wrap stays pending.
func (p *pen) backTab(n int) {
	x, first := p.cursor.x, 0
	if p.cursor.origin {
		first = p.margins.left
	}
	for ; n > 0 && x > first; n-- {
		for x--; x > first && !p.tabs[x]; x-- {
		}
	}
	p.cursor.x = x
}
