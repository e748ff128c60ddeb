package picture_test

import (
	"bytes"
	"fmt"
	"image"

	"ptyctl/screen"
	"ptyctl/screen/picture"
)

// The picture of a menu, as a full-screen program draws it.
func Example() {
	s := screen.New(40, 6)
	s.Write([]byte("\x1b[?1049h\x1b[2;3HNew\x1b[3;3H\x1b[7mOpen\x1b[m\x1b[4;3HQuit\x1b[?25l"))

	var png bytes.Buffer
	if err := picture.Encode(&png, s.Snapshot(), picture.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", png.Bytes()[1:4])
	// Output:
	// "PNG"
}

// Rows that have left the screen have no cursor.
func ExampleDraw() {
	s := screen.New(40, 3)
	s.Write([]byte("one\r\ntwo\r\nthree\r\nfour\r\nfive"))

	gone := &screen.Snapshot{Lines: *s.Scrollback(), Cursor: screen.Cursor{Hidden: true}}
	p, err := picture.Draw(gone, picture.Options{Height: 16, Part: image.Rect(0, 0, 20, 100)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Part, p.Bounds().Size())
	// Output:
	// (0,0)-(20,2) (160,32)
}
