package frame

import (
	"strconv"
	"strings"

	"ptyctl/screen"
)

// A style is the part of a screen.Style that the page draws.
type style struct {
	fg, bg, line screen.Color
	attr         screen.Attr
	underline    screen.Underline
}

func styleOf(s *screen.Style) style {
	return style{s.Fg, s.Bg, s.Line, s.Attr & (screen.Bold | screen.Faint | screen.Italic | screen.Reverse |
		screen.Strike | screen.Overline), s.Underline}
}

// String returns the style in words separated by blanks: letters for attributes, u and a number for an underline, and
// F, B and L with the number or #rrggbb of the colours of the text, its background and its line. The default is "".
func (s style) String() string {
	if s == (style{}) {
		return ""
	}
	var words []string
	for _, a := range []struct {
		bit  screen.Attr
		word string
	}{
		{screen.Bold, "b"}, {screen.Faint, "f"}, {screen.Italic, "i"}, {screen.Reverse, "r"}, {screen.Strike, "s"},
		{screen.Overline, "o"},
	} {
		if s.attr&a.bit != 0 {
			words = append(words, a.word)
		}
	}
	if s.underline != screen.NoUnderline {
		words = append(words, "u"+strconv.Itoa(int(s.underline)))
	}
	for _, c := range []struct {
		letter string
		color  screen.Color
	}{{"F", s.fg}, {"B", s.bg}, {"L", s.line}} {
		if n, ok := c.color.Index(); ok {
			words = append(words, c.letter+strconv.Itoa(n))
		} else if r, g, b, ok := c.color.RGB(); ok {
			words = append(words, c.letter+"#"+hex(r)+hex(g)+hex(b))
		}
	}
	return strings.Join(words, " ")
}

func hex(b uint8) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[b>>4], digits[b&15]})
}
