package scene

import (
	"strings"

	"ptyctl/screen"
)

// A box is a window that a program has drawn with lines.
type box struct{ top, bottom, left, right int }

// The corners of boxes.
const (
	topLeft, topRight       = "┌╭╔┏", "┐╮╗┓"
	bottomLeft, bottomRight = "└╰╚┗", "┘╯╝┛"
)

// mostCorners is how many corners are tried: a screen that is full of them must not be costly.
const mostCorners = 200

// boxAround returns the outermost box around a place, or nil.
func boxAround(now *screen.Snapshot, row, col int) *box {
	tried := 0
	for top := range row {
		for left := range col {
			if !isCorner(now, top, left, topLeft) {
				continue
			}
			if tried++; tried > mostCorners {
				return nil
			}
			right := corner(now, top, left, topRight)
			if right <= col {
				continue
			}
			for bottom := row + 1; bottom < now.Rows; bottom++ {
				if isCorner(now, bottom, left, bottomLeft) && isCorner(now, bottom, right, bottomRight) {
					return &box{top, bottom, left, right}
				}
			}
		}
	}
	return nil
}

// corner returns the column of the next corner behind a column, or -1.
func corner(now *screen.Snapshot, row, col int, corners string) int {
	for x := col + 1; x < now.Cols; x++ {
		if isCorner(now, row, x, corners) {
			return x
		}
	}
	return -1
}

func isCorner(now *screen.Snapshot, row, col int, corners string) bool {
	return strings.ContainsRune(corners, now.Cell(row, col).Rune)
}

// has reports whether a place is in the box.
func (b *box) has(row, col int) bool {
	return row > b.top && row < b.bottom && col > b.left && col < b.right
}

// row returns the text of a row in the box.
func (b *box) row(now *screen.Snapshot, row int) string {
	if row <= b.top || row >= b.bottom {
		return ""
	}
	return clean(span(now, row, b.left, b.right+1))
}

// title returns the text in the upper edge.
func (b *box) title(now *screen.Snapshot) string { return clean(span(now, b.top, b.left, b.right+1)) }

// message returns the first text above a row of the box.
func (b *box) message(now *screen.Snapshot, above int) string {
	var text []string
	for y := b.top + 1; y < min(above, b.bottom); y++ {
		switch s := b.row(now, y); {
		case s != "":
			text = append(text, s)
		case len(text) > 0:
			return strings.Join(text, " ")
		}
	}
	return strings.Join(text, " ")
}
