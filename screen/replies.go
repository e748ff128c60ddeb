package screen

import (
	"fmt"
	"strconv"

	"ptyctl/vt"
)

// mostReplies is the most bytes of answers kept for the owner of the screen. Programs ask
// few questions at a time; a program that asks more loses the answers.
const mostReplies = 1 << 10

// replies collects the answers of a terminal to questions. All answers are fixed or numbers: no
// text of the far side is in them, because it would be typed into whatever reads next. So
// there are no answers to a request for the title (CSI 21 t), the clipboard (OSC 52) or the
// checksum of an area (DECRQCRA).
type replies struct{ bytes []byte }

// add appends one answer, if there is room.
func (r *replies) add(format string, args ...any) {
	if len(r.bytes) < mostReplies {
		r.bytes = fmt.Appendf(r.bytes, format, args...)
	}
}

// primary answers DA1: a VT220 with colours.
func (r *replies) primary() { r.add("\x1b[?62;22c") }

// secondary answers DA2.
func (r *replies) secondary() { r.add("\x1b[>1;10;0c") }

// version answers XTVERSION.
func (r *replies) version() { r.add("\x1bP>|ptyctl\x1b\\") }

// keyboard answers the kitty keyboard protocol: no extension is on.
func (r *replies) keyboard() { r.add("\x1b[?0u") }

// size answers XTWINOPS 18.
func (r *replies) size(cols, rows int) { r.add("\x1b[8;%d;%dt", rows, cols) }

// color answers OSC 10 and 11 with the usual colours of a dark terminal. As in xterm, the answer ends as the question
// did: a program that ends its question with BEL may wait for a BEL.
func (r *replies) color(number string, bell bool) {
	value := "0000/0000/0000"
	if number == "10" {
		value = "e5e5/e5e5/e5e5"
	}
	end := "\x1b\\"
	if bell {
		end = "\a"
	}
	r.add("\x1b]%s;rgb:%s%s", number, value, end)
}

// mode answers DECRQM.
func (r *replies) mode(private byte, number, state int) {
	if private == '?' {
		r.add("\x1b[?%d;%d$y", number, state)
	} else {
		r.add("\x1b[%d;%d$y", number, state)
	}
}

// statusReport answers DSR 5 and 6, and DECXCPR.
func (e *emulator) statusReport(t *vt.Token) {
	c := &e.cursor
	x, y := c.x+1, c.y+1
	if c.origin {
		x, y = x-e.margins.left, y-e.margins.top
	}
	switch n := t.Param(0, 0); {
	case n == 5 && t.Private == 0:
		e.replies.add("\x1b[0n")
	case n == 6 && t.Private == 0:
		e.replies.add("\x1b[%d;%dR", y, x)
	case n == 6: // a VT220 has no pages to name
		e.replies.add("\x1b[?%d;%dR", y, x)
	}
}

// dcs applies a device control string: DECRQSS, the request for a setting.
func (e *emulator) dcs(t *vt.Token) {
	request, ok := cutString(t.Data, "$q")
	if !ok {
		return
	}
	switch request {
	case "m":
		e.replies.add("\x1bP1$r%sm\x1b\\", e.sgrParameters())
	case "r":
		e.replies.add("\x1bP1$r%d;%dr\x1b\\", e.margins.top+1, e.margins.bottom+1)
	case "s":
		e.replies.add("\x1bP1$r%d;%ds\x1b\\", e.margins.left+1, e.margins.right+1)
	case `"q`:
		on := 0
		if e.cursor.style.attr()&protected != 0 {
			on = 1
		}
		e.replies.add("\x1bP1$r%d\"q\x1b\\", on)
	case " q":
		e.replies.add("\x1bP1$r%d q\x1b\\", e.shape)
	default:
		e.replies.add("\x1bP0$r\x1b\\")
	}
}

// cutString returns the text after prefix in a short string.
func cutString(s []byte, prefix string) (rest string, ok bool) {
	if len(s) > len(prefix)+2 || len(s) < len(prefix) || string(s[:len(prefix)]) != prefix {
		return "", false
	}
	return string(s[len(prefix):]), true
}

// sgrParameters returns the parameters of an SGR that sets the style of the cursor.
func (e *emulator) sgrParameters() []byte {
	s := e.cursor.style
	b := []byte{'0'}
	for p, a := range switchOn {
		if a != 0 && s.attr()&a != 0 && p != 6 {
			b = append(b, ';')
			b = strconv.AppendInt(b, int64(p), 10)
		}
	}
	switch u := underline(s); u {
	case NoUnderline:
	case Single:
		b = append(b, ";4"...)
	default:
		b = fmt.Appendf(b, ";4:%d", u)
	}
	b = appendColor(b, 30, s.fg())
	return appendColor(b, 40, s.bg())
}

// appendColor appends the parameters of a colour; base is 30 or 40.
func appendColor(b []byte, base int, c Color) []byte {
	if n, ok := c.Index(); ok {
		switch {
		case n < 8:
			return fmt.Appendf(b, ";%d", base+n)
		case n < 16:
			return fmt.Appendf(b, ";%d", base+60+n-8)
		}
		return fmt.Appendf(b, ";%d:5:%d", base+8, n)
	}
	if red, green, blue, ok := c.RGB(); ok {
		return fmt.Appendf(b, ";%d:2::%d:%d:%d", base+8, red, green, blue)
	}
	return b
}

func underline(c cell) Underline { return Underline(c.attr() & underlineMask >> underlineShift) }
