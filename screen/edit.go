package screen

// eraseInDisplay is ED, and DECSED with selective.
func (p *pen) eraseInDisplay(what int, selective bool) {
	c := &p.cursor
	switch what {
	case 0:
		if c.x == 0 && !selective { // the whole row: it is of single width again
			p.info[p.order[c.y]].double = false
		}
		p.eraseInLine(0, selective)
		p.eraseRows(c.y+1, p.rows, selective)
	case 1:
		p.eraseRows(0, c.y, selective)
		p.eraseInLine(1, selective)
	case 2:
		p.eraseRows(0, p.rows, selective)
		c.wrap = false
	case 3:
		if !selective {
			p.history.clear()
		}
	}
}

func (p *pen) eraseRows(from, to int, selective bool) {
	blank := p.cursor.style.blank()
	for y := from; y < to; y++ {
		if selective {
			p.eraseUnprotected(y, 0, p.cols, blank)
		} else {
			p.clearRow(y, blank)
		}
	}
}

// eraseInLine is EL, and DECSEL with selective. With a pending wrap the cursor counts as being
// behind the last column, so nothing is to its right, and the wrap stays pending: grep, for
// example, erases behind each match, and would lose a character. So do xterm.js, tmux and
// alacritty; xterm loses it.
func (p *pen) eraseInLine(what int, selective bool) {
	c := &p.cursor
	from, to := 0, p.cols
	switch what {
	case 0:
		if from = c.x; c.wrap {
			return
		}
	case 1:
		to = c.x + 1
	case 2:
	default:
		return
	}
	if selective {
		p.eraseUnprotected(c.y, from, to, c.style.blank())
		return
	}
	p.erase(c.y, from, to, c.style.blank())
	if _, in := p.row(c.y); to == p.cols {
		in.wrapped = false
	}
}

// eraseChars is ECH.
func (p *pen) eraseChars(n int) {
	c := &p.cursor
	c.wrap = false
	p.erase(c.y, c.x, min(c.x+n, p.cols), c.style.blank())
}

// insertChars is ICH. Outside the margins it does nothing.
func (p *pen) insertChars(n int) {
	c := &p.cursor
	if c.wrap = false; p.margins.left <= c.x && c.x <= p.margins.right {
		last := p.settle()
		p.shiftRight(c.y, c.x, last+1, n, c.style.blank())
	}
}

// deleteChars is DCH.
func (p *pen) deleteChars(n int) {
	c := &p.cursor
	if c.wrap = false; p.margins.left <= c.x && c.x <= p.margins.right {
		last := p.settle()
		p.shiftRight(c.y, c.x, last+1, -n, c.style.blank())
		_, in := p.row(c.y)
		in.wrapped = false
	}
}

// insertLines is IL, and DL with a negative n. Outside the margins it does nothing.
func (p *pen) insertLines(n int) {
	if !p.within() {
		return
	}
	s := p.margins
	s.top = p.cursor.y
	p.scroll(s, -n, p.cursor.style.blank())
	p.carriageReturn()
}

// shiftRows moves the columns from x to the right margin, in all rows between the margins, to
// the right by n (DECIC, SR), or to the left by -n (DECDC, SL).
func (p *pen) shiftRows(x, n int) {
	m := &p.margins
	for y := m.top; y <= m.bottom; y++ {
		p.shiftRight(y, x, m.right+1, n, p.cursor.style.blank())
		_, in := p.row(y)
		in.wrapped = false
	}
}
