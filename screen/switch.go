package screen

// saveCursor is DECSC. Each screen has its own place for it.
func (e *emulator) saveCursor() { e.saved[e.which()] = e.cursor }

// restoreCursor is DECRC; without DECSC before it the cursor goes home, in plain style.
func (e *emulator) restoreCursor() {
	e.cursor = e.saved[e.which()]
	c, m := &e.cursor, e.all()
	if c.origin {
		m = e.margins
	}
	c.x, c.y = max(m.left, min(c.x, m.right)), max(m.top, min(c.y, m.bottom))
}

// switchScreen shows the alternate screen or the main one. The numbers differ in this:
//
//	47    does nothing else
//	1047  erases the alternate screen when it is left
//	1049  saves the cursor before, erases the alternate screen; restores the cursor, also
//	      when the main screen is shown already, as xterm does
//
// The alternate screen is allocated while it is shown, so it is blank each time, also with 47.
func (e *emulator) switchScreen(number int, alternate bool) {
	if alternate && number == 1049 {
		e.saveCursor()
	}
	switch {
	case alternate && e.main != nil:
		if number == 1049 {
			e.eraseRows(0, e.rows, false)
		}
	case !alternate && e.main == nil:
	case alternate:
		e.main, e.grid = e.grid, lendGrid(e.cols, e.rows)
	default:
		e.main.work += e.grid.work
		spare.Put(e.grid)
		e.grid, e.main = e.main, nil
		e.hold.frame = nil
		if e.hold.on { // its frame is of a screen that is gone
			e.hold.on = false
		}
	}
	if !alternate && number == 1049 {
		e.restoreCursor()
	}
	e.cursor.x, e.cursor.y = min(e.cursor.x, e.cols-1), min(e.cursor.y, e.rows-1)
}
