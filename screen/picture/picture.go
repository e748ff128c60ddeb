package picture

import (
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"

	"ptyctl/screen"
)

// The limits of a picture.
const (
	MaxCols = 200
	MaxRows = 60

	MinHeight     = 10 // pixels of a row
	MaxHeight     = 32
	DefaultHeight = 20
)

// Options choose how a screen is drawn. The zero value draws all of it, dark, with its cursor.
type Options struct {
	// Theme is the name of the colours that a program does not choose itself; see Themes. ""
	// is the first of them.
	Theme string
	// Height is the pixels of a row, from MinHeight to MaxHeight; 0 is DefaultHeight. A column
	// has half as many.
	Height int
	// Part is the columns and rows to draw, from 0; columns and rows outside the screen are left out.
	// The zero value is the whole screen.
	Part image.Rectangle
	// HideCursor leaves out the cursor. One that the program hides is never drawn.
	HideCursor bool
}

// A Picture is the image of a screen.
type Picture struct {
	// Image is an *image.Paletted, or an *image.RGBA if it has more than 256 colours.
	image.Image
	// Part is the columns and rows of the screen that are drawn.
	Part image.Rectangle
	// Cut is true if Part is less than Options asked for, because that had more than MaxCols
	// columns or MaxRows rows. A line below the picture says so too.
	Cut bool
}

// Draw returns the image of a screen. To draw rows that left the screen, put their Lines into a Snapshot with a
// hidden cursor.
//
// A screen with more than MaxCols columns or MaxRows rows is cut to the part that has the
// cursor, or to the first if that is hidden. An error is about the options.
func Draw(s *screen.Snapshot, o Options) (*Picture, error) {
	d, err := newDrawing(s, o)
	if err != nil {
		return nil, err
	}
	for row := d.part.Min.Y; row < d.part.Max.Y; row++ {
		for col := d.part.Min.X; col < d.part.Max.X; col++ {
			d.cell(row, col)
		}
	}
	if d.cut {
		d.notice()
	}
	return &Picture{Image: d.canvas.image(), Part: d.part, Cut: d.cut}, nil
}

// Encode writes the picture as PNG.
func (p *Picture) Encode(w io.Writer) error {
	e := png.Encoder{CompressionLevel: png.DefaultCompression}
	return e.Encode(w, p.Image)
}

// Encode draws a screen and writes it as PNG.
func Encode(w io.Writer, s *screen.Snapshot, o Options) error {
	p, err := Draw(s, o)
	if err != nil {
		return err
	}
	return p.Encode(w)
}

// choose returns the part of the screen to draw, and whether it is less than o asks for.
func choose(s *screen.Snapshot, o Options) (part image.Rectangle, cut bool, err error) {
	all := image.Rect(0, 0, s.Cols, s.Rows)
	part = all
	if all.Empty() {
		return part, false, errors.New("there is no row to draw")
	}
	if o.Part != (image.Rectangle{}) {
		if part = o.Part.Intersect(all); part.Empty() {
			return part, false, fmt.Errorf("no column and row of the part %v is on the screen, which has %d columns and %d rows",
				o.Part, s.Cols, s.Rows)
		}
	}
	wanted, at := part, s.Cursor
	if at.Hidden { // it is anywhere
		at.Row, at.Col = 0, 0
	}
	part.Min.X, part.Max.X = window(part.Min.X, part.Max.X, MaxCols, at.Col)
	part.Min.Y, part.Max.Y = window(part.Min.Y, part.Max.Y, MaxRows, at.Row)
	return part, part != wanted, nil
}

// window returns at most most numbers between from and to: the first, or those that end with
// at if that is further on.
func window(from, to, most, at int) (int, int) {
	if to-from <= most {
		return from, to
	}
	to = min(max(from+most, at+1), to)
	return to - most, to
}
