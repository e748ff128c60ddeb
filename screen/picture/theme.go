package picture

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"ptyctl/screen"
)

// A theme is the colours that a program does not name itself.
type theme struct {
	name   string
	fg, bg rgb
	// contrast is the least ratio of brightness between a text and its background (WCAG 2.2,
	// 1.4.3), which is from 1 to 21. Programs choose their colours for the palette of a dark
	// terminal; in others cyan on blue cannot be read. 0 leaves all colours as they are.
	contrast float64
	ansi     [16]rgb
}

// rgb is a colour as 0xrrggbb.
type rgb uint32

func (c rgb) color() color.RGBA { return color.RGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 0xff} }

// blend returns a colour between c and other: c at 0, other at full.
func (c rgb) blend(other rgb, level uint8) rgb {
	var out rgb
	for _, shift := range []uint{16, 8, 0} {
		from, to := int(c>>shift&0xff), int(other>>shift&0xff)
		out |= rgb((from*(full-int(level))+to*int(level)+full/2)/full) << shift
	}
	return out
}

// themes are the choices; the first is the default.
var themes = [...]theme{
	{"dark", 0xe4e4e4, 0x16181c, 2.5, [16]rgb{
		0x2e3238, 0xe5534b, 0x5fbf63, 0xe5c04b, 0x3472d8, 0xc678dd, 0x4cd0d8, 0xd8dbe0,
		0x7f8792, 0xff7b72, 0x7ee787, 0xf7d774, 0x79b0ff, 0xe2a9f3, 0x7fe6ee, 0xffffff,
	}},
	{"light", 0x1f2328, 0xffffff, 3, [16]rgb{
		0x24292f, 0xcf222e, 0x2a9148, 0xb07d00, 0x0969da, 0x8e3fb5, 0x1a8a96, 0xc9ced6,
		0x6e7781, 0xe5484d, 0x3aa75d, 0xc69026, 0x3b8bfd, 0xb65fd6, 0x2fa3b1, 0xf3f5f7,
	}},
	{"xterm", 0xe5e5e5, 0x000000, 0, [16]rgb{
		0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
		0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff,
	}},
}

// Themes returns the names that Options.Theme may have, the default first.
func Themes() []string {
	var names []string
	for _, t := range themes {
		names = append(names, t.name)
	}
	return names
}

func findTheme(name string) (*theme, error) {
	if name == "" {
		return &themes[0], nil
	}
	for i := range themes {
		if themes[i].name == name {
			return &themes[i], nil
		}
	}
	return nil, fmt.Errorf("unknown theme %q: the themes are %s", name, strings.Join(Themes(), ", "))
}

// indexed returns a colour of the palette of 256. Its upper 240 colours are the same everywhere: a cube of 6 x 6 x 6,
// and 24 greys.
func (t *theme) indexed(n int) rgb {
	switch {
	case n < 16:
		return t.ansi[n]
	case n < 232:
		n -= 16
		return cube(n/36)<<16 | cube(n/6%6)<<8 | cube(n%6)
	default:
		return rgb(8+10*(n-232)) * 0x010101
	}
}

func cube(n int) rgb {
	if n == 0 {
		return 0
	}
	return rgb(55 + 40*n)
}

// resolve returns the colour c, or that of the default.
func (t *theme) resolve(c screen.Color, otherwise rgb) rgb {
	if n, ok := c.Index(); ok {
		return t.indexed(n)
	}
	if r, g, b, ok := c.RGB(); ok {
		return rgb(r)<<16 | rgb(g)<<8 | rgb(b)
	}
	return otherwise
}

// colors returns the colours of the text and the background of a cell.
func (t *theme) colors(s *screen.Style, reverseScreen bool) (fg, bg rgb) {
	c := s.Fg
	if n, ok := c.Index(); ok && n < 8 && s.Attr&screen.Bold != 0 {
		// As xterm does. Programs rely on it: bold black is their grey.
		fg = t.ansi[n+8]
	} else {
		fg = t.resolve(c, t.fg)
	}
	bg = t.resolve(s.Bg, t.bg)
	if (s.Attr&screen.Reverse != 0) != reverseScreen {
		fg, bg = bg, fg
	}
	fg = t.readable(fg, bg)
	if s.Attr&screen.Faint != 0 {
		fg = fg.blend(bg, full*2/5)
	}
	return fg, bg
}

// readable returns fg, or a colour nearer to white or black if fg is too near to bg. Text in
// the very colour of its background is not to be read.
func (t *theme) readable(fg, bg rgb) rgb {
	if fg == bg || t.contrast == 0 {
		return fg
	}
	below := bg.luminance()
	end := rgb(0xffffff)
	if contrast(below, 0) > contrast(below, 1) {
		end = 0
	}
	for level := range uint8(full) {
		if c := fg.blend(end, level); contrast(c.luminance(), below) >= t.contrast {
			return c
		}
	}
	return end
}

// contrast returns the ratio of two luminances.
func contrast(a, b float64) float64 { return (max(a, b) + 0.05) / (min(a, b) + 0.05) }

// luminance returns how bright a colour is, from 0 to 1.
func (c rgb) luminance() float64 {
	linear := func(v rgb) float64 {
		if s := float64(v&0xff) / 255; s > 0.04045 {
			return math.Pow((s+0.055)/1.055, 2.4)
		}
		return float64(v&0xff) / 255 / 12.92
	}
	return 0.2126*linear(c>>16) + 0.7152*linear(c>>8) + 0.0722*linear(c)
}
