// Package screentest holds the part that the tests of screens and of recordings share.
package screentest

import (
	"fmt"
	"strings"

	"ptyctl/screen"
)

// Looks returns the visible part of a screen as text: the cursor, the title, the rows and their styles.
func Looks(s *screen.Snapshot) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v title %q alt %v\n", s.Cursor, s.Title, s.AltScreen)
	for y := range s.Rows {
		fmt.Fprintf(&b, "%2d %q", y, s.Row(y))
		for x := range s.Cols {
			if c := s.Cell(y, x); c.Style != (screen.Style{}) {
				fmt.Fprintf(&b, " %d:%+v", x, c.Style)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
