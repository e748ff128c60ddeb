package screen_test

import (
	"fmt"

	"ptyctl/screen"
)

// A menu, as a full-screen program draws it: only a colour shows which entry is selected.
func Example() {
	s := screen.New(40, 6)
	s.Write([]byte("\x1b[?1049h\x1b]0;setup\x07\x1b[2;3HNew\x1b[3;3H\x1b[7mOpen\x1b[m\x1b[4;3HQuit\x1b[?25l"))

	snap := s.Snapshot()
	fmt.Println(snap.Title, snap.AltScreen)
	for row := range snap.Rows {
		if snap.Cell(row, 2).Attr&screen.Reverse != 0 {
			fmt.Println("selected:", snap.Row(row))
		}
	}
	// Output:
	// setup true
	// selected:   Open
}

// A reader that comes back gets the changes.
func ExampleScreen_Diff() {
	s := screen.New(40, 3)
	s.Write([]byte("one\r\ntwo\r\nthree"))
	first := s.Snapshot()

	s.Write([]byte("\r\nfour"))
	d := s.Diff(first.Version)
	fmt.Printf("rows %d to %d were from %d on\n", d.Moved.To, d.Moved.To+d.Moved.Rows-1, d.Moved.From)
	for _, row := range d.Changed {
		fmt.Printf("%d: %s\n", row, d.Row(row))
	}
	// Output:
	// rows 0 to 1 were from 1 on
	// 2: four
}
