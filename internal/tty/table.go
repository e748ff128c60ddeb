package tty

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// TableWidth is the width in columns of a table that no terminal shows.
const TableWidth = 120

const (
	leastCell = 8 // columns that a cell keeps, however narrow the terminal is
	columnGap = 2
)

// Table writes rows of printable text as a table that is no wider than width, if that leaves leastCell for each
// cell: the widest column is cut first, so that a long reason or name costs the others nothing. Where that is not
// enough, columns are left out, in the order of drop; the first row has the names.
func Table(b *strings.Builder, rows [][]string, width int, drop ...string) {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	if i := slices.Index(rows[0], append(drop, "")[0]); i >= 0 && least(widths) > width {
		left := make([][]string, len(rows))
		for n, r := range rows {
			left[n] = slices.Delete(slices.Clone(r), i, i+1)
		}
		Table(b, left, width, drop[1:]...)
		return
	}
	for total(widths) > width && slices.Max(widths) > leastCell {
		widths[slices.Index(widths, slices.Max(widths))]--
	}
	for _, r := range rows {
		var line strings.Builder
		for i, cell := range r {
			if n := utf8.RuneCountInString(cell); n > widths[i] {
				cell = string([]rune(cell)[:widths[i]-1]) + "…"
			}
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+columnGap))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// least returns how narrow a table can become.
func least(widths []int) int {
	cut := make([]int, len(widths))
	for i, w := range widths {
		cut[i] = min(w, leastCell)
	}
	return total(cut)
}

func total(widths []int) (sum int) {
	for _, w := range widths {
		sum += w + columnGap
	}
	return sum - columnGap
}
