package picture

import (
	"math"

	"golang.org/x/image/vector"
)

// drawShape draws the characters that are made of lines and areas, and join with those in
// neighbouring cells: a font has them in one size, which is hardly ever that of the cell. It
// reports false for other characters.
func drawShape(m *mask, r rune) bool {
	switch {
	case r < 0x23ba:
		return false
	case r <= 0x23bd: // the scan lines of the DEC line drawing set
		t := thickness(m.h)
		y := [...]int{0, (m.h - t) / 4, 3 * (m.h - t) / 4, m.h - t}[r-0x23ba]
		m.fill(0, y, m.w, y+t, full)
	case r < 0x2500:
		return false
	case r < 0x2580:
		return drawLines(m, r)
	case r < 0x25a0:
		m.block(r)
	case 0x2800 <= r && r < 0x2900:
		m.braille(uint8(r))
	case 0xe0b0 <= r && r < 0xe0c0:
		m.powerline(r)
	case 0x1fb00 <= r && r < 0x1fb3c:
		m.sextants(r)
	case 0x1fb70 <= r && r < 0x1fb90:
		m.eighths(r)
	default:
		return false
	}
	return true
}

// part returns where n parts of size of the cell end, n of of.
func part(size, n, of int) int { return (size*n + of/2) / of }

// block draws a character of U+2580 to U+259F.
func (m *mask) block(r rune) {
	w, h := m.w, m.h
	switch n := int(r - 0x2580); {
	case n == 0:
		m.fill(0, 0, w, part(h, 4, 8), full)
	case n <= 8: // from the bottom
		m.fill(0, part(h, 8-n, 8), w, h, full)
	case n <= 0xf: // from the left
		m.fill(0, 0, part(w, 0x10-n, 8), h, full)
	case n == 0x10:
		m.fill(part(w, 4, 8), 0, w, h, full)
	case n <= 0x13: // shades: an even grey, which has no seams
		m.fill(0, 0, w, h, uint8((n-0x10)*full/4))
	case n == 0x14:
		m.fill(0, 0, w, part(h, 1, 8), full)
	case n == 0x15:
		m.fill(part(w, 7, 8), 0, w, h, full)
	default:
		// Which quarters of the cell are covered: 1 upper left, 2 upper right, 4 lower left,
		// 8 lower right.
		m.grid(int([...]uint8{4, 8, 1, 1 + 4 + 8, 1 + 8, 1 + 2 + 4, 1 + 2 + 8, 2, 2 + 4, 2 + 4 + 8}[n-0x16]), 2)
	}
}

// grid covers parts of the cell, which has two columns: bit 0 is the upper left, bit 1 the
// upper right, and so on.
func (m *mask) grid(bits, rows int) {
	for i := range 2 * rows {
		if bits>>i&1 != 0 {
			x, y := i%2, i/2
			m.fill(part(m.w, x, 2), part(m.h, y, rows), part(m.w, x+1, 2), part(m.h, y+1, rows), full)
		}
	}
}

// sextants draws a character of U+1FB00 to U+1FB3B. Nothing, the halves and the full block
// are not among them.
func (m *mask) sextants(r rune) {
	bits := int(r-0x1fb00) + 1
	for _, other := range []int{0b010101, 0b101010} {
		if bits >= other {
			bits++
		}
	}
	m.grid(bits, 3)
}

// eighths draws a character of U+1FB70 to U+1FB8F.
func (m *mask) eighths(r rune) {
	w, h := m.w, m.h
	column := func(n int) { m.fill(part(w, n, 8), 0, part(w, n+1, 8), h, full) }
	row := func(n int) { m.fill(0, part(h, n, 8), w, part(h, n+1, 8), full) }
	switch n := int(r - 0x1fb70); {
	case n < 6:
		column(n + 1)
	case n < 12:
		row(n - 5)
	case n < 16:
		column([...]int{0, 0, 7, 7}[n-12])
		row([...]int{7, 0, 0, 7}[n-12])
	case n == 16:
		row(0)
		row(7)
	case n == 17:
		row(0)
		row(2)
		row(4)
		row(7)
	case n < 23: // from the top
		m.fill(0, 0, w, part(h, [...]int{2, 3, 5, 6, 7}[n-18], 8), full)
	case n < 28: // from the right
		m.fill(part(w, 8-[...]int{2, 3, 5, 6, 7}[n-23], 8), 0, w, h, full)
	default: // half shades
		x0, y0, x1, y1 := 0, 0, w, h
		switch n {
		case 28:
			x1 = part(w, 1, 2)
		case 29:
			x0 = part(w, 1, 2)
		case 30:
			y1 = part(h, 1, 2)
		case 31:
			y0 = part(h, 1, 2)
		}
		m.fill(x0, y0, x1, y1, full/2)
	}
}

// braille draws dots. The bits of the lower six go down the columns; the last row was added
// later.
func (m *mask) braille(bits uint8) {
	d := max(1, m.w/4)
	for i, at := range [...][2]int{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {0, 3}, {1, 3}} {
		if bits>>i&1 != 0 {
			x, y := (2*at[0]+1)*m.w/4-d/2, (2*at[1]+1)*m.h/8-d/2
			m.fill(x, y, x+d, y+d, full)
		}
	}
}

// powerline draws a separator of status lines, U+E0B0 to U+E0BF: triangles, half circles and
// slopes, full or as a line.
func (m *mask) powerline(r rune) {
	w, h := float32(m.w), float32(m.h)
	n := int(r - 0xe0b0)
	var path []point
	toLeft := n&2 != 0
	switch {
	case n < 4:
		path = []point{{0, 0}, {w, h / 2}, {0, h}}
	case n < 8:
		const steps = 24
		for i := range steps + 1 {
			sin, cos := math.Sincos(math.Pi * float64(i) / steps)
			path = append(path, point{float32(sin) * w, h/2 - float32(cos)*h/2})
		}
	case n < 12: // the lower left and the lower right
		path = []point{{0, 0}, {w, h}, {0, h}}
	default: // the upper left and the upper right
		path = []point{{0, h}, {w, 0}, {0, 0}}
	}
	if toLeft {
		for i := range path {
			path[i].x = w - path[i].x
		}
	}
	if n&1 == 0 {
		m.polygon(path)
		return
	}
	if n >= 8 {
		path = path[:2]
	}
	m.stroke(path)
}

type point struct{ x, y float32 }

// polygon covers the inside of a path.
func (m *mask) polygon(path []point) {
	z := vector.NewRasterizer(m.w, m.h)
	z.MoveTo(path[0].x, path[0].y)
	for _, p := range path[1:] {
		z.LineTo(p.x, p.y)
	}
	z.ClosePath()
	m.rasterize(z)
}

// stroke covers a light line along a path.
func (m *mask) stroke(path []point) {
	half := float32(thickness(m.h)) * 0.6
	for i, p := range path[1:] {
		q := path[i]
		dx, dy := p.x-q.x, p.y-q.y
		length := float32(math.Hypot(float64(dx), float64(dy)))
		if length == 0 {
			continue
		}
		dx, dy = dx/length*half, dy/length*half
		m.polygon([]point{
			{q.x - dy - dx, q.y + dx - dy}, {q.x + dy - dx, q.y - dx - dy},
			{p.x + dy + dx, p.y - dx + dy}, {p.x - dy + dx, p.y + dx + dy},
		})
	}
}
