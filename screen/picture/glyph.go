package picture

import (
	"cmp"
	"unicode"
	"unicode/utf8"

	"ptyctl/screen"
)

// A glyph names a shape that is drawn once for a picture.
type glyph struct {
	text   rune
	joined string // text and the characters joined to it, if any
	wide   bool
	bold   bool
	italic bool
}

// A pen draws glyphs in one size, and remembers them.
type pen struct {
	outliner

	drawn map[glyph]*mask
}

func newPen(w, h int) *pen {
	return &pen{outliner: outliner{w: w, h: h}, drawn: map[glyph]*mask{}}
}

// of returns the shape of a cell, nil if it shows nothing.
func (p *pen) of(c *screen.Cell) *mask {
	g := glyph{
		text: c.Rune, joined: c.Cluster, wide: c.Width == 2,
		bold: c.Attr&screen.Bold != 0, italic: c.Attr&screen.Italic != 0,
	}
	if g.joined == "" && (g.text <= ' ' || g.text == 0xa0) {
		return nil
	}
	m, ok := p.drawn[g]
	if !ok {
		m = p.draw(g)
		p.drawn[g] = m
	}
	return m
}

func (p *pen) draw(g glyph) *mask {
	w := p.w
	if g.wide {
		w *= 2
	}
	if m := newMask(w, p.h); drawShape(m, g.text) {
		return m
	}
	if flag(g.text) {
		return p.flag(g, w)
	}
	m, top := p.letter(g, g.text, w, 0)
	if m == nil {
		m = newMask(w, p.h)
		if visible(g.text) {
			frame(m)
		}
	}
	for i, r := range g.joined {
		if i == 0 || !overlaid(r) {
			continue
		}
		if mark, _ := p.letter(g, r, w, top); mark != nil {
			m.add(mark)
		}
	}
	return m
}

// letter draws one character, with the text font if that has it. If it is a mark, it goes
// above a letter that is higher than most by above. The second result is that of a letter.
func (p *pen) letter(g glyph, r rune, w int, above float32) (m *mask, higher float32) {
	face := regular()
	if g.bold {
		face = bold()
	}
	if i := p.glyph(face, r); i != 0 {
		m = newMask(w, p.h)
		top, bottom := p.extent(face, i)
		x := xHeight * float32(p.size()) / 64
		if bottom < x {
			above = 0
		}
		p.outliner.draw(m, face, i, g.italic, above)
		return m, max(0, top-x)
	}
	m = scaled(r, w, p.h, g.wide)
	if m != nil && g.bold {
		m.embolden()
	}
	if m != nil && g.italic {
		m.slant()
	}
	return m, 0
}

// flag reports whether r is one of the letters that make a flag.
func flag(r rune) bool { return 0x1f1e6 <= r && r <= 0x1f1ff }

// flag draws the letters of a flag: the code of a country is all that is shown of it.
func (p *pen) flag(g glyph, w int) *mask {
	m := newMask(w, p.h)
	x := 0
	for _, r := range cmp.Or(g.joined, string(g.text)) {
		if !flag(r) || x+p.w > w {
			continue
		}
		if l, _ := p.letter(glyph{}, r-0x1f1e6+'A', p.w, 0); l != nil {
			for y := range p.h {
				copy(m.a[y*w+x:y*w+x+p.w], l.a[y*p.w:])
			}
		}
		x += p.w
	}
	return m
}

// overlaid reports whether r is drawn over the character before it. A joiner, a choice between emoji
// and text, a colour of skin and the second person of a family are not.
func overlaid(r rune) bool {
	return unicode.Is(unicode.M, r) && !unicode.Is(unicode.Variation_Selector, r) || medial(r)
}

// medial reports whether r is a part of a Hangul syllable after the first.
func medial(r rune) bool { return 0x1160 <= r && r <= 0x11ff }

// visible reports whether a character that no font has deserves a frame in its place.
func visible(r rune) bool {
	return r != utf8.RuneError && !unicode.Is(unicode.M, r) && !unicode.Is(unicode.C, r) && !unicode.Is(unicode.Z, r) ||
		unicode.Is(unicode.Co, r)
}

// frame draws the frame for a character that no font has.
func frame(m *mask) {
	x0, y0, x1, y1 := m.w/8, m.h/8, m.w-m.w/8, m.h-m.h/8
	m.fill(x0, y0, x1, y1, full*2/3)
	m.clear(x0+1, y0+1, x1-1, y1-1)
}
