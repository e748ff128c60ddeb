package picture

import (
	"fmt"
	"image"

	"ptyctl/screen"
)

// A drawing is a picture in the making.
type drawing struct {
	*canvas

	pen    *pen
	theme  *theme
	screen *screen.Snapshot
	part   image.Rectangle
	cut    bool
	cursor image.Point // column and row; outside the screen if it is not drawn
}

func newDrawing(s *screen.Snapshot, o Options) (*drawing, error) {
	theme, err := findTheme(o.Theme)
	if err != nil {
		return nil, err
	}
	h := o.Height
	if h == 0 {
		h = DefaultHeight
	}
	if h < MinHeight || h > MaxHeight {
		return nil, fmt.Errorf("a height of %d pixels is out of range: a row has %d to %d", h, MinHeight, MaxHeight)
	}
	part, cut, err := choose(s, o)
	if err != nil {
		return nil, err
	}
	rows := part.Dy()
	if cut {
		rows++ // for the notice
	}
	d := &drawing{
		canvas: newCanvas(part.Dx()*(h/2), rows*h), pen: newPen(h/2, h), theme: theme,
		screen: s, part: part, cut: cut, cursor: image.Pt(s.Cursor.Col, s.Cursor.Row),
	}
	if o.HideCursor || s.Cursor.Hidden {
		d.cursor = image.Pt(-1, -1)
	} else if s.Cell(s.Cursor.Row, s.Cursor.Col).Width == 0 {
		d.cursor.X-- // it is on the second half of a wide character
	}
	return d, nil
}

// cell draws a cell. The second half of a wide character is drawn with the first, and is a
// blank where that is not in the picture.
func (d *drawing) cell(row, col int) {
	c := d.screen.Cell(row, col)
	if c.Width == 0 && col > d.part.Min.X {
		return
	}
	w, h := d.pen.w*max(1, c.Width), d.pen.h
	x, y := (col-d.part.Min.X)*d.pen.w, (row-d.part.Min.Y)*h
	fg, bg := d.theme.colors(&c.Style, d.screen.Modes.ReverseScreen)
	here := d.cursor == image.Pt(col, row)
	if here && d.screen.Cursor.Shape <= 2 {
		fg, bg = bg, fg
		if fg == bg {
			bg = d.theme.fg
		}
	}
	d.fill(x, y, x+w, y+h, bg)
	if c.Attr&screen.Conceal == 0 && c.Width > 0 {
		d.text(x, y, &c, fg, bg)
	}
	if here {
		d.drawCursor(x, y, w, bg)
	}
}

// text draws the foreground.
func (d *drawing) text(x, y int, c *screen.Cell, fg, bg rgb) {
	w, h := d.pen.w*c.Width, d.pen.h
	t := thickness(h)
	if c.Underline != screen.NoUnderline {
		d.paint(x, y, underline(c.Underline, x, w, h), d.theme.resolve(c.Line, fg), bg)
	}
	if m := d.pen.of(c); m != nil {
		d.paint(x, y, m, fg, bg)
	}
	if c.Attr&screen.Overline != 0 {
		d.fill(x, y, x+w, y+t, fg)
	}
	if c.Attr&screen.Strike != 0 {
		at := y + h*11/20
		d.fill(x, at, x+w, at+t, fg)
	}
}

// drawCursor draws a cursor that is a line; a block is the cell with its colours exchanged.
func (d *drawing) drawCursor(x, y, w int, bg rgb) {
	t, color := max(2, d.pen.h/10), d.theme.fg
	if color == bg {
		color = d.theme.bg
	}
	switch d.screen.Cursor.Shape {
	case 3, 4:
		d.fill(x, y+d.pen.h-t, x+w, y+d.pen.h, color)
	case 5, 6:
		d.fill(x, y, x+t, y+d.pen.h, color)
	}
}

// notice says below the picture which part of the screen it shows.
func (d *drawing) notice() {
	text := fmt.Sprintf("cut: rows %d-%d of %d, columns %d-%d of %d",
		d.part.Min.Y+1, d.part.Max.Y, d.screen.Rows, d.part.Min.X+1, d.part.Max.X, d.screen.Cols)
	y := d.part.Dy() * d.pen.h
	fg, bg := d.theme.bg, d.theme.ansi[11]
	if d.theme.name == "light" {
		bg = d.theme.ansi[3]
	}
	d.fill(0, y, d.w, y+d.pen.h, bg)
	for i, r := range text {
		if m := d.pen.of(&screen.Cell{Rune: r, Width: 1}); m != nil {
			d.paint(i*d.pen.w, y, m, fg, bg)
		}
	}
}
