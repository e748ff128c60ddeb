package vt

import (
	"slices"
	"unicode/utf8"
)

// The methods in this file change a line that has cells, or move its cursor. A move does not
// end the line; only drawing elsewhere does. A program may, for example, ask for the cursor's
// position elsewhere (ESC 7, CUP, DSR, ESC 8) in the middle of a line.

// puts draws s at the cursor. ascii has the meaning it has in write.
func (l *line) puts(s []byte, ascii bool) {
	for len(s) > 0 {
		n := len(s)
		if !ascii {
			n = leadingASCII(s)
		}
		if n > 0 && !l.insert {
			n = l.putASCII(s[:n])
		} else {
			var r rune
			r, n = utf8.DecodeRune(s)
			l.put(r)
		}
		s = s[n:]
	}
}

// putASCII draws the characters of s that fit into the row, and returns how many. It is the
// fast path of put.
func (l *line) putASCII(s []byte) int {
	if l.cols > 0 && l.at.col >= l.cols {
		l.at.row++
		l.at.col = 0
	}
	i := l.index()
	if i > l.size() {
		i = l.reach(i)
	}
	if i >= maxCells {
		l.pass()
		i = 0
	}
	n := min(len(s), maxCells-i)
	if l.cols > 0 {
		n = min(n, l.cols-l.at.col)
	}
	l.at.col += n
	s = s[:n]
	if !l.wide {
		over := l.text[i:min(i+n, len(l.text))]
		for j := 0; j < len(over) && !l.changed; j++ {
			l.changed = over[j] > ' ' && over[j] != s[j] // not void or blank
		}
		copy(over, s)
		l.text = append(l.text, s[len(over):]...)
		return n
	}
	if over := min(n, len(l.cells)-i); over > 0 {
		l.split(i)
		l.split(i + n)
		for j, c := range s[:over] {
			l.set(i+j, cell(c))
		}
		s = s[over:]
	}
	from := len(l.cells)
	l.cells = slices.Grow(l.cells, len(s))[:from+len(s)]
	end := l.cells[from:][:len(s)]
	for j, c := range s {
		end[j] = cell(c)
	}
	return n
}

// put draws r at the cursor, with the wrap at the right margin and the insert mode of a
// terminal.
func (l *line) put(r rune) {
	l.widen()
	w := columns(r)
	if w == 0 && l.mark(r) {
		return
	}
	w = max(1, w)
	if l.cols > 0 {
		w = min(w, l.cols)
		if l.at.col+w > l.cols {
			if i := l.index(); l.at.col < l.cols && i == len(l.cells) {
				l.cells = append(l.cells, spill)
			}
			l.at.row++
			l.at.col = 0
		}
	}
	if l.insert {
		l.insertBlanks(w)
	}
	i := l.reach(l.index())
	if i+w > maxCells {
		l.pass()
		i = 0
	}
	if n := i + w - len(l.cells); n > 0 {
		l.extend(n)
	}
	l.split(i)
	l.split(i + w)
	l.set(i, r)
	for j := i + 1; j < i+w; j++ {
		l.set(j, tail)
	}
	l.at.col += w
}

// set replaces cell i, and marks the line as changed if a visible character was there.
func (l *line) set(i int, c cell) {
	if old := l.cells[i]; old != c {
		l.changed = l.changed || old > 0 && old != ' '
		l.cells[i] = c
	}
}

// mark adds a combining character to the character before the cursor. It returns false
// without such a character.
func (l *line) mark(r rune) bool {
	i := l.index() - 1
	if i >= len(l.cells) {
		return false
	}
	for i >= 0 && l.cells[i] == tail {
		i--
	}
	if i < 0 || l.cells[i] <= 0 {
		return false
	}
	c := l.cells[i]
	if c < firstCluster {
		if len(l.clusters) == maxCells {
			return true
		}
		l.clusters = append(l.clusters, cluster{c, r})
		l.cells[i] = firstCluster + rune(len(l.clusters)-1)
		return true
	}
	marks := &l.clusters[c-firstCluster]
	for k := range marks {
		if marks[k] == 0 {
			marks[k] = r
			break
		}
	}
	return true
}

// reach fills the gap between the end of the line and the cell i of the cursor, and returns
// the cursor's index. Without enough spare blanks it moves the cursor back, to leave one
// blank only.
func (l *line) reach(i int) int {
	gap := i - l.size()
	if gap > 1 && !l.spare.spend(gap) {
		gap = 1
		i = l.size() + 1
		l.at.col = i
		if l.cols > 0 {
			l.at.row, l.at.col = l.top.row+i/l.cols, i%l.cols
		}
	}
	if gap = min(gap, maxCells-l.size()); gap > 0 {
		l.extend(gap)
	}
	return i
}

// extend appends n void cells.
func (l *line) extend(n int) {
	if !l.wide {
		l.text = slices.Grow(l.text, n)[:len(l.text)+n]
		clear(l.text[len(l.text)-n:])
		return
	}
	l.cells = slices.Grow(l.cells, n)[:len(l.cells)+n]
	clear(l.cells[len(l.cells)-n:])
}

// split replaces a wide character or tab that spans the front of cell i by blanks.
func (l *line) split(i int) {
	if i >= len(l.cells) || l.cells[i] != tail {
		return
	}
	head := i - 1
	for l.cells[head] == tail {
		head--
	}
	l.set(head, ' ')
	for j := head + 1; j < len(l.cells) && l.cells[j] == tail; j++ {
		l.cells[j] = ' '
	}
}

// tab draws a tab at the end of the line; elsewhere it moves the cursor to the next tab stop.
func (l *line) tab() {
	n := tabStop - l.at.col%tabStop
	if l.cols > 0 {
		n = min(n, l.cols-1-l.at.col)
	}
	if n <= 0 {
		return
	}
	if l.here() && l.index() == l.size() {
		l.widen()
		if len(l.cells)+n > maxCells {
			l.pass()
		}
		l.cells = append(l.cells, tab)
		for range n - 1 {
			l.cells = append(l.cells, tail)
		}
	}
	l.column(l.at.col + n)
}

// column moves the cursor within its row. A column outside the row is moved to its nearest
// end.
func (l *line) column(col int) {
	l.lay()
	last := maxCells - 1
	if l.cols > 0 {
		last = l.cols - 1
	}
	l.at.col = max(0, min(col, last))
}

// right is CUF (ECMA-48 section 8.3.20).
func (l *line) right(n int) { l.lay(); l.column(l.at.col + n) }

// left is CUB (ECMA-48 section 8.3.18). A cursor beyond the last column first moves onto it:
// xterm's pending wrap is not a position.
func (l *line) left(n int) { l.lay(); l.column(l.at.col); l.column(l.at.col - n) }

// down moves the cursor by n rows, up if n is negative (CUD and CUU, ECMA-48 section 8.3.19).
// An absolute row is never above the first.
func (l *line) down(n int) {
	l.lay()
	l.column(l.at.col)
	l.at.row += n
	l.apart = false
	if l.at.absolute {
		l.at.row = max(1, l.at.row)
	}
}

// position moves to an absolute row; col counts from 0.
func (l *line) position(row, col int) {
	l.lay()
	l.at.row, l.at.absolute = row, true
	l.column(col)
	// A full-screen program that draws whole rows, one after the other, does not mean one line.
	l.apart = l.cols > 0 && l.at.absolute == l.top.absolute && l.rows() > 0 && l.rows()*l.cols == l.size()
}

// save is DECSC.
func (l *line) save() { l.lay(); l.saved = l.at }

// restore is DECRC.
func (l *line) restore() { l.lay(); l.at, l.apart = l.saved, false }

// erase makes cells[from:to] void, and shortens the line if they are its end.
func (l *line) erase(from, to int) {
	n := l.size()
	if from >= min(to, n) {
		return
	}
	l.widen()
	l.split(from)
	if to < n {
		l.split(to)
	}
	for i := from; i < min(to, n); i++ {
		l.set(i, void)
	}
	if to >= n {
		l.cells = l.cells[:from]
	}
}

// eraseInLine is EL (ECMA-48 section 8.3.41).
func (l *line) eraseInLine(mode int) {
	if !l.laid && (mode == 0 && !l.home || len(l.text) == 0) {
		return // the line has nothing right of the cursor
	}
	i := l.edit()
	from, to := l.row()
	switch mode {
	case 0:
		l.erase(i, to)
	case 1:
		l.erase(from, i+1)
	case 2:
		l.erase(from, to)
	}
	if mode != 1 {
		l.breakRow()
	}
}

// eraseInDisplay is ED (ECMA-48 section 8.3.39) on the line: other lines of the screen are
// already in the text.
func (l *line) eraseInDisplay(mode int) {
	if !l.laid && (mode == 0 && !l.home || len(l.text) == 0) {
		return
	}
	i := l.edit()
	switch mode {
	case 0:
		l.erase(i, l.size())
		l.breakRow()
	case 1:
		l.erase(0, i+1)
	case 2:
		l.leave()
	}
}

// breakRow ends the line if the cursor is at the start of a row that the line has wrapped
// into, and that is now empty. This is how a prompt of zsh or fish begins after output
// without a final line feed: the shell fills the row with blanks until it wraps, returns, and
// erases.
func (l *line) breakRow() {
	if l.cols > 0 && l.at.col == 0 && l.rows() > 0 && l.index() >= l.size() {
		l.leave()
	}
}

// insertBlanks is ICH (ECMA-48 section 8.3.64).
func (l *line) insertBlanks(n int) {
	i := l.edit()
	l.widen()
	_, to := l.row()
	if to = min(to, maxCells); i >= len(l.cells) || i >= to {
		return
	}
	n = min(n, to-i)
	if !l.spare.spend(n) {
		return
	}
	l.split(i)
	if to >= len(l.cells) {
		l.extend(min(n, to-len(l.cells)))
		to = len(l.cells)
	}
	l.split(to - n)
	copy(l.cells[i+n:to], l.cells[i:to])
	clear(l.cells[i : i+n])
	l.changed = true
}

// deleteChars is DCH (ECMA-48 section 8.3.26).
func (l *line) deleteChars(n int) {
	i := l.edit()
	l.widen()
	_, to := l.row()
	to = min(to, len(l.cells))
	if i >= to {
		return
	}
	n = min(n, to-i)
	l.split(i)
	l.split(i + n)
	copy(l.cells[i:to], l.cells[i+n:to])
	if to == len(l.cells) {
		l.cells = l.cells[:to-n]
	} else {
		clear(l.cells[to-n : to])
	}
	l.changed = true
}

// eraseChars is ECH (ECMA-48 section 8.3.38).
func (l *line) eraseChars(n int) {
	i := l.edit()
	_, to := l.row()
	l.erase(i, min(i+n, to))
}
