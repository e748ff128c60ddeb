package redact

import (
	"bytes"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Drawn returns the output p with an asterisk for each column of the echoes in place of their masks, so that it looks on
// a screen as the bytes of the far side. The bytes of a terminal where a line wraps are kept, so that all that follows is
// drawn where it was. Without echoes it is p.
func Drawn(p []byte, echoes []Echo) []byte {
	if len(echoes) == 0 {
		return p
	}
	var out []byte
	at := 0
	for _, e := range echoes {
		out = covered(append(out, p[at:e.From]...), e)
		at = e.To
	}
	return append(out, p[at:]...)
}

// covered appends an echo, or a part of one, as a screen must show it.
func covered(dst []byte, e Echo) []byte {
	for echo := e.Text; len(echo) > 0; {
		switch c := echo[0]; {
		case c == '\x1b':
			n, _ := wrapping(echo)
			n = max(n, 1)
			switch {
			case n > 1 && e.escape:
				dst = append(dst, bytes.Repeat([]byte{'*'}, n-1)...)
			case n > 1:
				dst = append(dst, echo[:n]...)
			}
			echo = echo[n:]
		case c == ' ' && len(echo) > 1 && (echo[1] == '\r' || echo[1] == '\b'): // readline wraps so
			dst, echo = append(dst, ' '), echo[1:]
		case c < ' ' || c == 0x7f:
			dst, echo = append(dst, c), echo[1:]
		default:
			r, n := utf8.DecodeRune(echo)
			switch {
			case r != utf8.RuneError || n > 1:
				dst = append(dst, "**"[:max(0, min(displaywidth.Rune(r), 2))]...)
			case utf8.RuneStart(c): // the character was cut off, or is invalid
				dst = append(dst, '*')
			}
			echo = echo[n:]
		}
	}
	return dst
}
