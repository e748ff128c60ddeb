package picture

import (
	"image"
	"image/color"
)

// A canvas is a picture while it is drawn. Its pixels are numbers of colours, so that a
// picture with few of them becomes a small file.
type canvas struct {
	w, h    int
	pix     []uint32
	colors  []color.RGBA
	numbers map[rgb]uint32
	inks    map[[2]rgb]*ink
}

// An ink is the numbers of the colours between a background, at 0, and a foreground, at
// full, plus 1. 0 is a colour that was not used yet.
type ink [full + 1]uint32

func newCanvas(w, h int) *canvas {
	return &canvas{w: w, h: h, pix: make([]uint32, w*h), numbers: map[rgb]uint32{}, inks: map[[2]rgb]*ink{}}
}

// number returns the number of a colour.
func (c *canvas) number(v rgb) uint32 {
	n, ok := c.numbers[v]
	if !ok {
		n = uint32(len(c.colors))
		c.colors = append(c.colors, v.color())
		c.numbers[v] = n
	}
	return n
}

// fill paints a rectangle.
func (c *canvas) fill(x0, y0, x1, y1 int, v rgb) {
	n := c.number(v)
	for y := max(y0, 0); y < min(y1, c.h); y++ {
		row := c.pix[y*c.w : (y+1)*c.w]
		for x := max(x0, 0); x < min(x1, c.w); x++ {
			row[x] = n
		}
	}
}

// paint draws a shape in the colour fg on the colour bg.
func (c *canvas) paint(x0, y0 int, m *mask, fg, bg rgb) {
	in := c.inks[[2]rgb{fg, bg}]
	if in == nil {
		in = new(ink)
		c.inks[[2]rgb{fg, bg}] = in
	}
	for y := range min(m.h, c.h-y0) {
		row := c.pix[(y0+y)*c.w : (y0+y+1)*c.w]
		for x, a := range m.a[y*m.w : (y+1)*m.w] {
			if a == 0 || x0+x >= c.w {
				continue
			}
			if in[a] == 0 {
				in[a] = c.number(bg.blend(fg, a)) + 1
			}
			row[x0+x] = in[a] - 1
		}
	}
}

// image returns the picture, with a palette if it has few colours.
func (c *canvas) image() image.Image {
	bounds := image.Rect(0, 0, c.w, c.h)
	if len(c.colors) > 256 {
		img := image.NewRGBA(bounds)
		for i, n := range c.pix {
			v := c.colors[n]
			img.Pix[4*i], img.Pix[4*i+1], img.Pix[4*i+2], img.Pix[4*i+3] = v.R, v.G, v.B, v.A
		}
		return img
	}
	palette := make(color.Palette, len(c.colors))
	for i, v := range c.colors {
		palette[i] = v
	}
	img := image.NewPaletted(bounds, palette)
	for i, n := range c.pix {
		img.Pix[i] = uint8(n)
	}
	return img
}
