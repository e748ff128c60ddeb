package picture

// A mask is the shape of a glyph: how much of each pixel it covers, from 0 to full.
type mask struct {
	w, h int
	a    []uint8
}

// full is a pixel that is covered completely. Few levels of grey look the same as many, and
// leave room for more colours in a palette of 256.
const full = 15

func newMask(w, h int) *mask { return &mask{w, h, make([]uint8, w*h)} }

// fill covers a rectangle, as far as it is inside, by at least level.
func (m *mask) fill(x0, y0, x1, y1 int, level uint8) {
	for y := max(y0, 0); y < min(y1, m.h); y++ {
		for x := max(x0, 0); x < min(x1, m.w); x++ {
			m.a[y*m.w+x] = max(m.a[y*m.w+x], level)
		}
	}
}

// clear uncovers a rectangle.
func (m *mask) clear(x0, y0, x1, y1 int) {
	for y := max(y0, 0); y < min(y1, m.h); y++ {
		for x := max(x0, 0); x < min(x1, m.w); x++ {
			m.a[y*m.w+x] = 0
		}
	}
}

// add also covers the pixels of other, which has the same size.
func (m *mask) add(other *mask) {
	for i, a := range other.a {
		m.a[i] = max(m.a[i], a)
	}
}

// slant leans the shape to the right, as far as letters of a text font do.
func (m *mask) slant() {
	for y := range m.h {
		row := m.a[y*m.w : (y+1)*m.w]
		by := (m.h/2 - y) / 5
		moved := make([]uint8, m.w)
		for x, a := range row {
			if to := x + by; to >= 0 && to < m.w {
				moved[to] = a
			}
		}
		copy(row, moved)
	}
}

// embolden makes strokes one pixel wider.
func (m *mask) embolden() {
	for y := range m.h {
		row := m.a[y*m.w : (y+1)*m.w]
		for x := m.w - 1; x > 0; x-- {
			row[x] = max(row[x], row[x-1])
		}
	}
}
