package scene

import (
	"strings"

	"ptyctl/screen"
)

// Line returns the line at the cursor, with the rows that it wraps over, up to the cursor and behind it. It reports
// false if the beginning has left the screen.
func Line(now *screen.Snapshot) (left, right string, ok bool) {
	at := now.Cursor
	first, last := at.Row, at.Row
	for first > 0 && now.Wrapped(first-1) {
		first--
	}
	if first == 0 && now.ScrolledUp > 0 && last > 0 && now.Wrapped(0) {
		return "", "", false
	}
	for last < now.Rows-1 && now.Wrapped(last) {
		last++
	}
	col := at.Col
	if at.Wrap { // the cursor is behind the last column
		col++
	}
	for y := first; y < at.Row; y++ {
		left += span(now, y, 0, now.Cols)
	}
	left += span(now, at.Row, 0, col)
	right = span(now, at.Row, col, now.Cols)
	for y := at.Row + 1; y <= last; y++ {
		right += span(now, y, 0, now.Cols)
	}
	return left, strings.TrimRight(right, " "), true
}

// span returns the text of some columns of a row, with its blanks.
func span(now *screen.Snapshot, row, from, to int) string {
	var b []byte
	for x := from; x < to; x++ {
		switch c := now.Cell(row, x); {
		case c.Width == 0: // the second column of a wide character
		case c.Cluster != "":
			b = append(b, c.Cluster...)
		default:
			b = append(b, string(c.Rune)...)
		}
	}
	return string(b)
}
