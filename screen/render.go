package screen

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Options select the output of Render. The zero value is right for most readers.
type Options struct {
	Attributes  bool // every change of colour or attribute, not only highlights
	Links       bool // the URIs of links
	BoxDrawing  bool // lines as they are; without it they are folded to + - and |
	First, Last int  // the rows shown, from 1; 0, 0 is all
}

// Render returns the difference as text, for a reader that sees no colours:
//
//	screen v17 80x24 alt cursor 12,4 title "setup" since v16
//	 5| > Open
//	<- reverse
//	12| < OK >    <Cancel>
//	<- 2-7 on blue
//	(3 empty)
//	16| Ready
//
// Rows and columns count from 1. Blanks at the end of a row are cut. An arrow below a row names its highlights:
// columns and style. Text of a program always follows the number of its row, so a program cannot forge a line without
// a number. Unchanged rows are not shown, unless the difference is Full; then (N empty) means rows without text. (N
// rows like it) replaces rows that look like the one above. Text that a person cannot see is blank unless Attributes
// are shown, and the arrow calls its columns concealed.
func (d *Diff) Render(o Options) string {
	b := d.header(nil)
	if d.Scrolled > 0 && !d.AltScreen {
		b = fmt.Appendf(b, "(%d left the top)\n", d.Scrolled)
	}
	if m := d.Moved; m.Rows > 0 {
		b = fmt.Appendf(b, "(rows %d-%d were rows %d-%d)\n", m.To+1, m.To+m.Rows, m.From+1, m.From+m.Rows)
	}
	r := rendering{text: b, width: len(strconv.Itoa(d.Rows))}
	lines := &d.Lines
	if !o.Attributes {
		lines = lines.seen()
	}
	highlights := d.highlights(lines)
	var row []byte
	for _, y := range d.Changed {
		if o.Last > 0 && (y+1 < o.First || y+1 > o.Last) {
			continue
		}
		row = lines.appendRow(row[:0], y, o)
		switch {
		case o.Attributes:
			row = lines.appendRuns(row, y)
		default:
			row = lines.appendMark(row, y, of(highlights, y))
			row = d.appendConcealed(row, y, noted(row))
		}
		if o.Links {
			row = lines.appendLinks(row, y)
		}
		if d.Full && len(row) == 0 {
			r.empty()
		} else {
			r.row(y, row)
		}
	}
	r.flush()
	return string(r.text)
}

// A rendering is the text of rows under way. Runs of rows without text, and of rows that are alike, are counted.
type rendering struct {
	text   []byte
	width  int // of the number of a row
	blanks int // rows without text that are not in text yet

	begun bool   // there is a last row
	last  int    // the last row
	shown []byte // its text
	alike int    // rows like it that are not in text yet
}

// empty adds a row without text.
func (r *rendering) empty() {
	if r.blanks == 0 {
		r.flush()
	}
	r.blanks++
}

// row adds the row y.
func (r *rendering) row(y int, text []byte) {
	if r.blanks == 0 && r.begun && y == r.last+1 && bytes.Equal(text, r.shown) {
		r.last, r.alike = y, r.alike+1
		return
	}
	r.flush()
	r.line(y, text)
	r.begun, r.last, r.shown = true, y, append(r.shown[:0], text...)
}

// line writes a row.
func (r *rendering) line(y int, text []byte) {
	r.text = fmt.Appendf(r.text, "%*d|", r.width, y+1)
	if len(text) > 0 {
		if text[0] != '\n' {
			r.text = append(r.text, ' ')
		}
		r.text = append(r.text, text...)
	}
	r.text = append(r.text, '\n')
}

// flush writes the counted rows.
func (r *rendering) flush() {
	const leastSaved = len("(100 rows like it)\n") // otherwise the rows themselves are as short
	switch {
	case r.blanks > 0:
		r.text = fmt.Appendf(r.text, "(%d empty)\n", r.blanks)
		r.begun = false
	case r.alike*(r.width+len("| \n")+len(r.shown)) > leastSaved:
		rows := "rows"
		if r.alike == 1 {
			rows = "row"
		}
		r.text = fmt.Appendf(r.text, "(%d %s like it)\n", r.alike, rows)
	default:
		for y := r.last - r.alike + 1; y <= r.last && r.alike > 0; y++ {
			r.line(y, r.shown)
		}
	}
	r.blanks, r.alike = 0, 0
}

// Render returns the whole snapshot as text; see Diff.Render.
func (s *Snapshot) Render(o Options) string {
	d := Diff{Snapshot: s, Full: true, Changed: make([]int, s.Rows)}
	for y := range d.Changed {
		d.Changed[y] = y
	}
	return d.Render(o)
}

func (d *Diff) header(b []byte) []byte {
	b = fmt.Appendf(b, "screen v%d %dx%d", d.Version, d.Cols, d.Lines.Rows)
	if d.AltScreen {
		b = append(b, " alt"...)
	}
	b = fmt.Appendf(b, " cursor %d,%d", d.Cursor.Row+1, d.Cursor.Col+1)
	if d.Cursor.Hidden {
		b = append(b, " hidden"...)
	}
	if d.Title != "" {
		b = fmt.Appendf(b, " title %q", d.Title)
	}
	if d.Drawing {
		b = append(b, " drawing"...)
	}
	if !d.Full {
		b = fmt.Appendf(b, " since v%d", d.Since)
		if len(d.Changed) == 0 && d.Moved.Rows == 0 {
			b = append(b, " no row changed"...)
		}
	}
	return append(b, '\n')
}

// AppendFolded is AppendRow with the characters of lines and boxes folded to -, | and +, as in the result of Render.
func (l *Lines) AppendFolded(dst []byte, row int) []byte { return l.appendRow(dst, row, Options{}) }

// appendRow appends the text of a row, with lines folded unless o wants them.
func (l *Lines) appendRow(b []byte, y int, o Options) []byte {
	start := len(b)
	b = l.AppendRow(b, y)
	if o.BoxDrawing {
		return b
	}
	text := string(b[start:])
	if strings.IndexFunc(text, func(r rune) bool { return fold(r) != 0 }) < 0 {
		return b
	}
	b = b[:start]
	for _, r := range text {
		if f := fold(r); f != 0 {
			r = rune(f)
		}
		b = utf8.AppendRune(b, r)
	}
	return b
}

// fold returns the ASCII character in place of a line, 0 for any other character. A model
// pays three times as much for a character of a box.
func fold(r rune) byte {
	switch {
	case r < 0x2500 || r > 0x257f:
		return 0
	case r == '─', r == '━', r == '═', 0x2504 <= r && r <= 0x2505, 0x2508 <= r && r <= 0x2509, r == '╌', r == '╍',
		r == '╴', r == '╶', r == '╸', r == '╺', r == '╼', r == '╾':
		return '-'
	case r == '│', r == '┃', r == '║', 0x2506 <= r && r <= 0x2507, 0x250a <= r && r <= 0x250b, r == '╎', r == '╏',
		r == '╵', r == '╷', r == '╹', r == '╻', r == '╽', r == '╿':
		return '|'
	case 0x2571 <= r && r <= 0x2573:
		return `/\X`[r-0x2571]
	}
	return '+'
}

// of returns the highlights of row y.
func of(highlights []Highlight, y int) []Highlight {
	i, _ := slices.BinarySearchFunc(highlights, y, func(h Highlight, y int) int { return h.Row - y })
	last := i
	for last < len(highlights) && highlights[last].Row == y {
		last++
	}
	return highlights[i:last]
}

// appendArrow begins the line below a row, unless it is begun.
func appendArrow(b []byte, begun bool) []byte {
	if begun {
		return b
	}
	return append(b, "\n<-"...)
}

// noted reports whether the line below a row is begun. The row itself has no line feed.
func noted(row []byte) bool { return bytes.IndexByte(row, '\n') >= 0 }

// appendMark appends the line that names the highlights of row y, if it has any.
func (l *Lines) appendMark(b []byte, y int, highlights []Highlight) []byte {
	if len(highlights) == 0 {
		return b
	}
	return l.appendHighlights(appendArrow(b, false), y, highlights)
}

// appendConcealed appends the columns of the text of row y that no one sees; begun says that the row has an arrow.
func (l *Lines) appendConcealed(b []byte, y int, begun bool) []byte {
	for from, to := range l.concealed(y) {
		if begun {
			b = append(b, ',')
		}
		b = fmt.Appendf(appendArrow(b, begun), " %d-%d concealed", from+1, to)
		begun = true
	}
	return b
}

// escaped returns a URI without characters that could end it: it is from the far side.
func escaped(uri string) string {
	var b []byte
	for _, c := range []byte(uri) {
		if c <= ' ' || c == 0x7f {
			b = fmt.Appendf(b, "%%%02X", c)
		} else {
			b = append(b, c)
		}
	}
	return strings.ToValidUTF8(string(b), "%EF%BF%BD")
}

// appendHighlights appends the columns of the highlights, and after those that look the same,
// their look. A row that is highlighted as a whole has no columns.
func (l *Lines) appendHighlights(b []byte, y int, highlights []Highlight) []byte {
	first, last := l.trim(y, 0, l.Cols)
	for i, h := range highlights {
		from, to := l.trim(y, h.From, h.To)
		if from == to { // a block without text
			from, to = h.From, h.To
		}
		if from > first || to < last {
			b = fmt.Appendf(b, " %d-%d", from+1, to)
		}
		look := appendLook(nil, h)
		if i+1 < len(highlights) {
			if bytes.Equal(look, appendLook(nil, highlights[i+1])) {
				continue
			}
			look = append(look, ',')
		}
		b = append(append(b, ' '), look...)
	}
	return b
}

// appendLook names the look of a highlight.
func appendLook(b []byte, h Highlight) []byte {
	s := h.Style
	switch {
	case h.Text:
		s.Bg, s.Attr = 0, s.Attr&^Reverse
		if names := s.names(); names != "" {
			return append(b, names[1:]...)
		}
	case s.Attr&Reverse != 0:
		return append(b, "reverse"...)
	case s.Bg != 0:
		return s.Bg.appendName(append(b, "on "...))
	}
	return append(b, "plain"...)
}

// appendRuns appends the style of each part of a row that has one, as [FROM-TO STYLE].
func (l *Lines) appendRuns(b []byte, y int) []byte {
	cells := l.at(y)
	for from := 0; from < len(cells); {
		style := l.style(cells[from])
		style.Link = ""
		to := from + 1
		for ; to < len(cells); to++ {
			next := l.style(cells[to])
			if next.Link = ""; next != style {
				break
			}
		}
		_, end := l.trim(y, from, to)
		if style != (Style{}) && (end > from || style.Bg != 0 || style.Attr&Reverse != 0) {
			b = fmt.Appendf(appendArrow(b, noted(b)), " [%d-%d%s]", from+1, to, style.names())
		}
		from = to
	}
	return b
}

var attrNames = [...]string{"bold", "faint", "italic", "blink", "reverse", "conceal", "strike", "overline"}

// names returns the names of the attributes that differ from plain, each with a blank before it.
func (s Style) names() string {
	var b []byte
	for i, name := range attrNames {
		if s.Attr&(1<<i) != 0 {
			b = append(append(b, ' '), name...)
		}
	}
	if s.Underline != NoUnderline {
		b = append(b, " underline"...)
	}
	if s.Fg != 0 {
		b = s.Fg.appendName(append(b, ' '))
	}
	if s.Bg != 0 {
		b = s.Bg.appendName(append(b, " on "...))
	}
	return string(b)
}

var colorNames = [...]string{"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"}

// appendName appends the name of a colour: red, bright-red, 208, #ff8700, default.
func (c Color) appendName(b []byte) []byte {
	if n, ok := c.Index(); ok {
		switch {
		case n < 8:
			return append(b, colorNames[n]...)
		case n < 16:
			return append(append(b, "bright-"...), colorNames[n-8]...)
		}
		return strconv.AppendInt(b, int64(n), 10)
	}
	if red, green, blue, ok := c.RGB(); ok {
		return fmt.Appendf(b, "#%02x%02x%02x", red, green, blue)
	}
	return append(b, "default"...)
}

// appendLinks appends the links of a row, as [FROM-TO URI].
func (l *Lines) appendLinks(b []byte, y int) []byte {
	cells := l.at(y)
	for from := 0; from < len(cells); {
		link := l.style(cells[from]).Link
		to := from + 1
		for to < len(cells) && l.style(cells[to]).Link == link {
			to++
		}
		if link != "" {
			b = fmt.Appendf(appendArrow(b, noted(b)), " [%d-%d %s]", from+1, to, escaped(link))
		}
		from = to
	}
	return b
}
