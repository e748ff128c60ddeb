package screen

import "ptyctl/vt"

// sgr is SGR (ECMA-48 section 8.3.117): it changes the style of the next characters. Colours
// come in the forms of xterm and of ITU-T T.416: 38;5;N, 38;2;R;G;B, 38:5:N, 38:2:R:G:B and
// 38:2:SPACE:R:G:B.
func (e *emulator) sgr(t *vt.Token) {
	s := &e.cursor.style
	n := t.Len()
	if n == 0 {
		e.plain()
		return
	}
	for i := 0; i < n; i++ {
		if t.Sub(i) { // of an attribute that has none
			continue
		}
		switch p := t.Param(i, 0); {
		case p == 0:
			e.plain()
		case p == 4:
			form := Single
			if t.Sub(i + 1) {
				form = Underline(min(t.Param(i+1, 1), int(Dashed)))
			}
			s.setUnderline(form)
		case p == 21:
			s.setUnderline(Double)
		case p == 24:
			s.setUnderline(NoUnderline)
		case p < len(switchOn) && switchOn[p] != 0:
			s.lo |= uint64(switchOn[p]) << shift
		case p < len(switchOff) && switchOff[p] != 0:
			s.lo &^= uint64(switchOff[p]) << shift
		case 30 <= p && p <= 37:
			s.setFg(indexed | Color(p-30))
		case 40 <= p && p <= 47:
			s.setBg(indexed | Color(p-40))
		case 90 <= p && p <= 97:
			s.setFg(indexed | Color(p-90+8))
		case 100 <= p && p <= 107:
			s.setBg(indexed | Color(p-100+8))
		case p == 39:
			s.setFg(0)
		case p == 49:
			s.setBg(0)
		case p == 59:
			e.setExtra(e.link, 0)
		case p == 38, p == 48, p == 58:
			c, used, ok := color(t, i+1)
			i += used
			switch {
			case !ok:
			case p == 38:
				s.setFg(c)
			case p == 48:
				s.setBg(c)
			default:
				e.setExtra(e.link, c)
			}
		}
	}
}

// switchOn and switchOff are the attributes by parameter.
var (
	switchOn = [...]Attr{
		1: Bold, 2: Faint, 3: Italic, 5: Blink, 6: Blink, 7: Reverse, 8: Conceal, 9: Strike, 53: Overline,
	}
	switchOff = [...]Attr{
		22: Bold | Faint, 23: Italic, 25: Blink, 27: Reverse, 28: Conceal, 29: Strike, 55: Overline,
	}
)

// plain is SGR 0. It leaves the link and DECSCA.
func (e *emulator) plain() {
	s := &e.cursor.style
	s.lo &= uint64(protected) << shift
	s.hi = 0
	if e.link != "" {
		e.setExtra(e.link, 0)
	}
	e.lineColor = 0
}

// color reads a colour from parameter i on, behind the 38, and returns how many parameters
// it has.
func color(t *vt.Token, i int) (c Color, used int, ok bool) {
	component := func(j int) (Color, bool) {
		v := t.Param(j, 0)
		return Color(v), v <= 255
	}
	subs := 0
	for t.Sub(i + subs) {
		subs++
	}
	at := i + 1
	switch t.Param(i, 0) {
	case 5:
		used = 2
		if c, ok = component(at); ok {
			c |= indexed
		}
	case 2:
		used = 4
		if subs >= 5 {
			at++ // the colour space
		}
		r, ok1 := component(at)
		g, ok2 := component(at + 1)
		b, ok3 := component(at + 2)
		c, ok = rgb|r<<16|g<<8|b, ok1 && ok2 && ok3
	default:
		used = 1
	}
	if subs > 0 {
		used = subs
	}
	return c, used, ok
}

func (c *cell) setFg(v Color) { c.hi = c.hi&^charMask | uint64(v) }
func (c *cell) setBg(v Color) { c.hi = c.hi&charMask | uint64(v)<<shift }

func (c *cell) setUnderline(u Underline) {
	c.lo = c.lo&^(underlineMask<<shift) | uint64(u)<<(underlineShift+shift)
}

// setExtra makes the link and the underline's colour those of the next characters. If there
// is no room for them, the characters have neither.
func (e *emulator) setExtra(link string, line Color) {
	s := &e.cursor.style
	e.link, e.lineColor = link, line
	s.lo &= 1<<extra - 1
	if link == "" && line == 0 {
		return
	}
	var buf [64]byte
	b := append(buf[:0], byte(line>>24), byte(line>>16), byte(line>>8), byte(line))
	b = append(b, link...)
	if len(e.extras.values) == 0 {
		e.extras.values = append(e.extras.values, "none") // number 0 means neither
	}
	id, full, ok := e.extras.id(b)
	if full {
		live := e.live(&e.extras, func(c cell) (uint32, bool) { return c.extra(), true })
		live[0] = true
		e.extras.sweep(live)
		id, _, ok = e.extras.id(b)
	}
	if ok {
		s.lo |= uint64(id) << extra
	}
}

// readExtra returns the values that setExtra stored.
func readExtra(s string) (link string, line Color) {
	if len(s) < 4 {
		return "", 0
	}
	return s[4:], Color(s[0])<<24 | Color(s[1])<<16 | Color(s[2])<<8 | Color(s[3])
}
