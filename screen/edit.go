package screen

// eraseInDisplay is ED, and DECSED with selective.
func (e *emulator) eraseInDisplay(what int, selective bool) {
	c := &e.cursor
	switch what {
	case 0:
		e.eraseInLine(0, selective)
		e.eraseRows(c.y+1, e.rows, selective)
	case 1:
		e.eraseRows(0, c.y, selective)
		e.eraseInLine(1, selective)
	case 2:
		e.eraseRows(0, e.rows, selective)
		c.wrap = false
	case 3:
		if !selective {
			e.history.clear()
		}
	}
}

func (e *emulator) eraseRows(from, to int, selective bool) {
	blank := e.cursor.style.blank()
	for y := from; y < to; y++ {
		if selective {
			e.eraseUnprotected(y, 0, e.cols, blank)
		} else {
			e.clearRow(y, blank)
		}
	}
}

// eraseInLine is EL, and DECSEL with selective. With a pending wrap the cursor counts as being
// behind the last column, so nothing is to its right: grep, for example, erases behind each
// match, and would lose a character. So do xterm.js, tmux and alacritty; xterm loses it.
func (e *emulator) eraseInLine(what int, selective bool) {
	c := &e.cursor
	from, to := 0, e.cols
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
		e.eraseUnprotected(c.y, from, to, c.style.blank())
		return
	}
	c.wrap = false
	e.erase(c.y, from, to, c.style.blank())
	if _, in := e.row(c.y); to == e.cols {
		in.wrapped = false
	}
}

// eraseChars is ECH.
func (e *emulator) eraseChars(n int) {
	c := &e.cursor
	c.wrap = false
	e.erase(c.y, c.x, min(c.x+n, e.cols), c.style.blank())
}

// insertChars is ICH. Outside the margins it does nothing.
func (e *emulator) insertChars(n int) {
	c := &e.cursor
	if c.wrap = false; e.margins.left <= c.x && c.x <= e.margins.right {
		e.shiftRight(c.y, c.x, e.margins.right+1, n, c.style.blank())
	}
}

// deleteChars is DCH.
func (e *emulator) deleteChars(n int) {
	c := &e.cursor
	if c.wrap = false; e.margins.left <= c.x && c.x <= e.margins.right {
		e.shiftRight(c.y, c.x, e.margins.right+1, -n, c.style.blank())
		_, in := e.row(c.y)
		in.wrapped = false
	}
}

// insertLines is IL, and DL with a negative n. Outside the margins it does nothing.
func (e *emulator) insertLines(n int) {
	if !e.within() {
		return
	}
	s := e.margins
	s.top = e.cursor.y
	e.scroll(s, -n, e.cursor.style.blank())
	e.carriageReturn()
}

// shiftRows moves the columns from x to the right margin, in all rows between the margins, to
// the right by n (DECIC, SR), or to the left by -n (DECDC, SL).
func (e *emulator) shiftRows(x, n int) {
	m := &e.margins
	for y := m.top; y <= m.bottom; y++ {
		e.shiftRight(y, x, m.right+1, n, e.cursor.style.blank())
		_, in := e.row(y)
		in.wrapped = false
	}
}
