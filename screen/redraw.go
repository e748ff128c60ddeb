package screen

import (
	"slices"
	"strconv"
)

// Redraw appends output that brings any terminal of the same size into the state of s: its
// rows, and all that decides how the next output is drawn. It is for one who comes late, or
// comes back, and has not seen the output so far.
//
// The scrollback is not drawn again, and neither is the last complete frame while a program
// draws the next one (DECSET 2026).
func (s *Screen) Redraw(dst []byte) []byte {
	e := &s.emu
	d := redrawer{e: e, dst: dst}
	d.str("\x1b[?1049l\x1b[!p\x1b[?5;9;12;1000;1002;1003;1004;1005;1006;1016;2004;2026;2027;2031;2048l\x1b[20l")
	d.str("\x0f\x1b[r\x1b[m\x1b]8;;\x1b\\\x1b]2;").str(shownTitle(e.title.now)).str("\x1b\\")
	if e.dir != "" {
		d.str("\x1b]7;").str(e.dir).str("\x1b\\")
	}
	if e.modes.has(clustered) {
		d.mode(2027, true)
	}
	if e.main != nil {
		d.grid(e.main)
		d.cursor(&e.saved[0], e.main)
		d.mode(1049, true).str("\x1b[?6l\x1b(B\x1b)B\x1b*B\x1b+B\x0f")
		d.pen = nil
	}
	d.grid(e.grid)
	d.tabs()
	d.prompt()
	d.margins()
	if at := &e.saved[e.which()]; *at != (cursor{}) {
		d.cursor(at, e.grid)
		d.str("\x1b7")
	}
	d.cursor(&e.cursor, e.grid)
	d.modes()
	return d.dst
}

// A redrawer writes the output of Redraw.
type redrawer struct {
	e   *emulator
	dst []byte
	pen *cell // the style that is on; nil: not known
}

func (d *redrawer) str(s string) *redrawer {
	d.dst = append(d.dst, s...)
	return d
}

// csi appends a control sequence.
func (d *redrawer) csi(final string, params ...int) *redrawer {
	d.dst = append(d.dst, "\x1b["...)
	for i, p := range params {
		if i > 0 {
			d.dst = append(d.dst, ';')
		}
		d.dst = strconv.AppendInt(d.dst, int64(p), 10)
	}
	return d.str(final)
}

func (d *redrawer) mode(n int, on bool) *redrawer {
	final := "l"
	if on {
		final = "h"
	}
	d.dst = strconv.AppendInt(append(d.dst, "\x1b[?"...), int64(n), 10)
	return d.str(final)
}

// grid draws g. Rows that wrap are drawn as one line, so that they wrap again.
func (d *redrawer) grid(g *grid) {
	d.style(cell{}).str("\x1b[H\x1b[2J")
	joined := false
	for y := range g.rows {
		row := g.at(y)
		_, in := g.row(y)
		wraps := in.wrapped && y+1 < g.rows
		if len(row) == 0 && in.mark == NoMark && !wraps && !joined {
			continue
		}
		if !joined {
			d.csi("H", y+1, 1)
		} else if len(row) == 0 || row[0].empty() { // only a character makes the row above wrap
			d.style(cell{}).str(" \r")
		}
		switch in.mark {
		case Prompt:
			d.str("\x1b]133;A\x1b\\")
		case Output:
			d.str("\x1b]133;C\x1b\\")
		}
		if joined = wraps; wraps {
			row = slices.Clip(row)
			for end := g.cols - d.shortBy(g, y); len(row) < end; {
				row = append(row, cell{})
			}
		}
		d.cells(row)
	}
}

// shortBy returns how many columns of row y stay free because the next character, which has two, did not fit.
func (d *redrawer) shortBy(g *grid, y int) int {
	row, next := g.at(y), g.at(y+1)
	if len(next) > 0 && next[0].isWide() && (len(row) < g.cols || row[g.cols-1] == cell{}) {
		return 1
	}
	return 0
}

func (d *redrawer) cells(row []cell) {
	for _, c := range row {
		if c.isTail() {
			continue
		}
		d.style(c.style())
		if c.char() == 0 {
			d.str(" ")
			continue
		}
		d.dst = appendChar(d.dst, c, d.e.clusters.values)
	}
}

// style switches to a style, with the link and DECSCA that belong to it.
func (d *redrawer) style(to cell) *redrawer {
	if d.pen != nil && *d.pen == to {
		return d
	}
	from := cell{}
	if d.pen != nil {
		from = *d.pen
	}
	var link, before string
	var line Color
	if n := from.extra(); n != 0 {
		before, _ = readExtra(d.e.extras.values[n])
	}
	if n := to.extra(); n != 0 {
		link, line = readExtra(d.e.extras.values[n])
	}
	if link != before {
		d.str("\x1b]8;;").str(link).str("\x1b\\")
	}
	switch was, is := from.attr()&protected, to.attr()&protected; {
	case is != 0 && was == 0:
		d.str("\x1b[1\"q")
	case is == 0 && (was != 0 || d.pen == nil):
		d.str("\x1b[0\"q")
	}
	d.dst = Style{Fg: to.fg(), Bg: to.bg(), Attr: to.attr(), Underline: underline(to), Line: line}.appendSGR(d.dst)
	d.pen = &to
	return d
}

var attrParams = [...]struct {
	attr  Attr
	param string
}{
	{Bold, ";1"},
	{Faint, ";2"},
	{Italic, ";3"},
	{Blink, ";5"},
	{Reverse, ";7"},
	{Conceal, ";8"},
	{Strike, ";9"},
	{Overline, ";53"},
}

// appendSGR appends the sequence that switches to s.
func (s Style) appendSGR(dst []byte) []byte {
	dst = append(dst, "\x1b[0"...)
	for _, a := range attrParams {
		if s.Attr&a.attr != 0 {
			dst = append(dst, a.param...)
		}
	}
	switch s.Underline {
	case NoUnderline:
	case Single:
		dst = append(dst, ";4"...)
	default:
		dst = strconv.AppendInt(append(dst, ";4:"...), int64(s.Underline), 10)
	}
	dst = s.Fg.appendSGR(dst, 30)
	dst = s.Bg.appendSGR(dst, 40)
	dst = s.Line.appendSGR(dst, 50)
	return append(dst, 'm')
}

// appendSGR appends the parameters of a colour; base is 30 for the foreground, 40 for the background and 50 for
// underlines.
func (c Color) appendSGR(dst []byte, base int) []byte {
	n, isIndex := c.Index()
	r, g, b, isRGB := c.RGB()
	number := func(of ...int) {
		for _, n := range of {
			dst = strconv.AppendInt(append(dst, ';'), int64(n), 10)
		}
	}
	switch {
	case isIndex && n < 8 && base < 50:
		number(base + n)
	case isIndex && n < 16 && base < 50:
		number(base + 60 + n - 8)
	case isIndex:
		number(base+8, 5, n)
	case isRGB:
		number(base+8, 2, int(r), int(g), int(b))
	}
	return dst
}

// tabs sets the tab stops, unless they are the usual ones.
func (d *redrawer) tabs() {
	usual := true
	for x, on := range d.e.tabs {
		usual = usual && on == (x > 0 && x%8 == 0)
	}
	if usual {
		return
	}
	d.str("\x1b[3g")
	for x, on := range d.e.tabs {
		if on {
			d.csi("H", 1, x+1).str("\x1bH")
		}
	}
}

// prompt sets the last mark of the shell. Those of rows are set already.
func (d *redrawer) prompt() {
	switch p := d.e.prompt; p {
	case Command, Done:
		d.str("\x1b]133;").str(string('A' + rune(p-Prompt))).str("\x1b\\")
	case Prompt, Output:
		for y := d.e.rows - 1; y >= 0; y-- {
			if _, in := d.e.row(y); in.mark == p {
				d.csi("H", y+1, 1).str("\x1b]133;").str(string('A' + rune(p-Prompt))).str("\x1b\\")
				return
			}
		}
	}
}

func (d *redrawer) margins() {
	m := d.e.margins
	if d.e.modes.has(sideMargins) {
		d.mode(69, true)
		if m.left > 0 || m.right < d.e.cols-1 {
			d.csi("s", m.left+1, m.right+1)
		}
	}
	if m.top > 0 || m.bottom < d.e.rows-1 {
		d.csi("r", m.top+1, m.bottom+1)
	}
}

// cursor brings the cursor to the state of c, on g.
func (d *redrawer) cursor(c *cursor, g *grid) {
	x, y := c.x, c.y
	d.mode(6, c.origin)
	if c.origin {
		x, y = x-d.e.margins.left, y-d.e.margins.top
	}
	row := g.at(c.y)
	if c.wrap && c.x < len(row) { // only a character that is drawn there leaves the cursor behind it
		from := c.x
		if row[from].isTail() {
			from--
			x--
		}
		d.csi("H", y+1, x+1).cells(row[from : c.x+1])
	} else {
		d.csi("H", y+1, x+1)
	}
	for i, set := range c.charsets.g {
		if set != 0 {
			d.str("\x1b" + "()*+"[i:i+1] + string(rune(set)))
		} else if i < 2 {
			d.str("\x1b" + "()*+"[i:i+1] + "B")
		}
	}
	d.str([]string{"\x0f", "\x0e", "\x1bn", "\x1bo"}[c.charsets.left])
	d.style(c.style.style())
	if s := c.charsets.single; s != 0 {
		d.str("\x1b" + string(rune('N'+s-2)))
	}
}

// modeNumbers are the private modes that Redraw sets at its end.
var modeNumbers = [...]int{1, 5, 9, 12, 45, 1000, 1002, 1003, 1004, 1005, 1006, 1016, 1045, 2004, 2031, 2048}

func (d *redrawer) modes() {
	m := d.e.modes
	for _, n := range modeNumbers {
		if m.has(privateMode(n)) {
			d.mode(n, true)
		}
	}
	if m.has(appKeypad) {
		d.str("\x1b=")
	}
	if m.has(insert) {
		d.str("\x1b[4h")
	}
	if m.has(newLine) {
		d.str("\x1b[20h")
	}
	if !m.has(autoWrap) {
		d.mode(7, false)
	}
	if d.e.shape != 0 {
		d.csi(" q", d.e.shape)
	}
	d.mode(25, m.has(cursorShown))
}
