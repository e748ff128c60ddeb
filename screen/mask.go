package screen

// Mask covers parts of the text, for example secrets, before the lines are read or drawn.
// find gets each line with the rows that it wraps over joined, and returns the bytes to cover
// as pairs of a beginning and an end. Each column of them becomes an asterisk without link, so
// the length stays visible.
func (l *Lines) Mask(find func(line []byte) [][2]int) {
	var text []byte
	var at []int32 // the cell of each byte of text
	for y := 0; y < len(l.rows); y++ {
		for x := l.rows[y].from; x < l.rows[y].to; x++ {
			if c := l.cells[x]; !c.isTail() {
				text = appendChar(text, c, l.clusters)
			}
			for len(at) < len(text) {
				at = append(at, x)
			}
		}
		if l.rows[y].wrapped && y+1 < len(l.rows) {
			continue
		}
		for _, part := range find(text) {
			for i := max(0, part[0]); i < min(part[1], len(text)); i++ {
				l.cover(at[i])
			}
		}
		text, at = text[:0], at[:0]
	}
}

// cover makes a cell, and its second half, an asterisk.
func (l *Lines) cover(i int32) {
	c := l.cells[i]
	if c.isWide() && int(i)+1 < len(l.cells) {
		l.cells[i+1] = cell{c.style().lo & (1<<extra - 1), c.hi}.with('*')
	}
	l.cells[i] = cell{c.style().lo & (1<<extra - 1), c.hi}.with('*')
}
