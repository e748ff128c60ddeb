package screen

import (
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

const (
	// mostCluster is the most bytes of a character and those joined to it. The longest emoji
	// sequences have 35.
	mostCluster = 48
	// mostMarks is the most bytes of a character with combining marks: five or more.
	mostMarks = 16
)

// width returns the columns of a character by itself, as wcwidth does. The blocks that come
// first are frequent in the output of programs.
func width(r rune) int {
	switch {
	case r < 0x300: // Latin; a soft hyphen has a column too
		return 1
	case 0x2500 <= r && r < 0x25fd: // box drawing, blocks, shapes
		return 1
	case 0x2800 <= r && r < 0x2900: // braille
		return 1
	case 0x3001 <= r && r < 0x302a, 0x3041 <= r && r < 0x3097, 0x30a0 <= r && r < 0x3100, 0x3400 <= r && r < 0xa48d,
		0xac00 <= r && r < 0xd7a4, 0xff01 <= r && r < 0xff61: // CJK punctuation, kana, Han, Hangul, full width
		return 2
	case 0x1160 <= r && r < 0x1200: // medial and final jamo
		return 0
	case 0x1f1e6 <= r && r <= 0x1f1ff: // a half of a flag
		return 1
	}
	return displaywidth.Rune(r)
}

// invisible reports whether r, which has no columns, has no visible form either. Such
// characters can only hide text from a reader, or change its direction. U+200D, U+FE0E and
// U+FE0F are not among them: they are in honest emoji.
func invisible(r rune) bool {
	switch {
	case control(r), r == 0x200b, r == 0x200c, r == 0xfeff, 0x180b <= r && r <= 0x180f:
		return true
	}
	return 0x2060 <= r && r <= 0x206f || 0xfe00 <= r && r <= 0xfe0d || 0xfff9 <= r && r <= 0xfffb ||
		0xe0000 <= r && r <= 0xe0fff
}

// before returns the column of the character that the cursor is behind.
func (p *pen) before() (x int, ok bool) {
	c := &p.cursor
	x = c.x
	if !c.wrap {
		x--
	}
	if x < 0 {
		return 0, false
	}
	row, _ := p.row(c.y)
	if row[x].isTail() && x > 0 {
		x--
	}
	return x, true
}

// combine adds a mark to the character before the cursor. A mark without a character, or for
// which there is no room, is dropped.
func (p *pen) combine(r rune) {
	x, ok := p.before()
	if !ok {
		return
	}
	row, in := p.row(p.cursor.y)
	var buf [mostCluster + utf8.UTFMax]byte
	b := p.appendText(buf[:0], row[x])
	if len(b)+utf8.RuneLen(r) > mostMarks {
		return
	}
	p.setCluster(row, in, x, utf8.AppendRune(b, r))
}

// join adds r to the character before the cursor if both are one grapheme cluster (mode
// 2027), and reports whether it did.
func (p *pen) join(r rune) bool {
	x, ok := p.before()
	if !ok {
		return width(r) == 0
	}
	c := &p.cursor
	row, in := p.row(c.y)
	if row[x].char() == 0 {
		return width(r) == 0
	}
	var buf [mostCluster + utf8.UTFMax]byte
	b := utf8.AppendRune(p.appendText(buf[:0], row[x]), r)
	g := displaywidth.BytesGraphemes(b)
	if !g.Next() || len(g.Value()) != len(b) {
		return width(r) == 0 // a mark that joins nothing is dropped
	}
	if len(b) > mostCluster || !p.setCluster(row, in, x, b) {
		return true
	}
	if g.Width() == 2 && !row[x].isWide() && !c.wrap && c.x == x+1 { // for example an emoji by U+FE0F
		p.split(row, in, c.x+1)
		row[x].lo |= uint64(wide) << shift
		row[c.x] = cell{row[x].style().lo | uint64(tail)<<shift, row[x].hi}
		in.wide = true
		p.advance(in, 1, p.lastColumn())
	}
	return true
}

// setCluster makes b the text of a cell.
func (p *pen) setCluster(row []cell, in *info, x int, b []byte) bool {
	id, full, ok := p.clusters.id(b)
	if full {
		p.clusters.sweep(p.live(&p.clusters, func(c cell) (uint32, bool) {
			return uint32(c.char() - firstCluster), c.char() >= firstCluster
		}))
		id, _, ok = p.clusters.id(b)
	}
	if !ok {
		return false
	}
	row[x].lo = row[x].lo&^charMask | uint64(firstCluster+id) | p.secret
	in.used = max(in.used, uint16(x+1))
	return true
}

// appendText appends the text of c.
func (p *pen) appendText(dst []byte, c cell) []byte {
	return appendChar(dst, c, p.clusters.values)
}

// appendChar appends the text of c, which is blank if it has none.
func appendChar(dst []byte, c cell, clusters []string) []byte {
	switch r := c.char(); {
	case r >= firstCluster:
		return append(dst, clusters[r-firstCluster]...)
	case r == 0:
		return append(dst, ' ')
	default:
		return utf8.AppendRune(dst, r)
	}
}

// live returns which texts of t the cells still name.
func (p *pen) live(t *texts, id func(cell) (uint32, bool)) []bool {
	live := make([]bool, len(t.values))
	mark := func(c cell) {
		if n, ok := id(c); ok {
			live[n] = true
		}
	}
	for _, g := range []*grid{p.grid, p.main} {
		if g == nil {
			continue
		}
		for _, c := range g.cells {
			mark(c)
		}
	}
	for _, c := range []cell{p.cursor.style, p.saved[0].style, p.saved[1].style} {
		mark(c)
	}
	return live
}
