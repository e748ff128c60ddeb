package picture

import (
	"math"

	"golang.org/x/image/vector"
)

// boxLines is the characters from U+2500 to U+257F: the weights of the lines that go from the
// middle of the cell up, to the right, down and to the left.
//
//	0 none, 1 light, 2 heavy, 3 double
//
// A - is a dashed line, an arc or a diagonal.
const boxLines = "" +
	"0101 0202 1010 2020 ---- ---- ---- ---- ---- ---- ---- ---- 0110 0210 0120 0220 " +
	"0011 0012 0021 0022 1100 1200 2100 2200 1001 1002 2001 2002 1110 1210 2110 1120 " +
	"2120 2210 1220 2220 1011 1012 2011 1021 2021 2012 1022 2022 0111 0112 0211 0212 " +
	"0121 0122 0221 0222 1101 1102 1201 1202 2101 2102 2201 2202 1111 1112 1211 1212 " +
	"2111 1121 2121 2112 2211 1122 1221 2212 1222 2122 2221 2222 ---- ---- ---- ---- " +
	"0303 3030 0310 0130 0330 0013 0031 0033 1300 3100 3300 1003 3001 3003 1310 3130 " +
	"3330 1013 3031 3033 0313 0131 0333 1303 3101 3303 1313 3131 3333 ---- ---- ---- " +
	"---- ---- ---- ---- 0001 1000 0100 0010 0002 2000 0200 0020 0201 1020 0102 2010 "

// The directions of a line from the middle, in the order of boxLines.
const (
	up = iota
	right
	down
	left
)

const (
	none = iota
	light
	heavy
	double
)

// thickness returns the pixels of a light line in a row of the height h.
func thickness(h int) int { return max(1, (h+4)/14) }

// drawLines draws a character of box drawing. Lines end at the edges of the cell, in the same
// pixels for each character, so that they join.
func drawLines(m *mask, r rune) bool {
	if r < 0x2500 || r > 0x257f {
		return false
	}
	entry := boxLines[5*(r-0x2500):]
	if entry[0] != '-' {
		var weights [4]int
		for i := range weights {
			weights[i] = int(entry[i] - '0')
		}
		m.cross(weights)
		return true
	}
	switch {
	case r <= 0x250b:
		m.dashes(3+int(r-0x2504)/4, r&2 != 0, r&1 != 0)
	case r <= 0x254f:
		m.dashes(2, r&2 != 0, r&1 != 0)
	case r <= 0x2570:
		m.arc(r == 0x256d || r == 0x2570, r <= 0x256e)
	default:
		if r != 0x2572 {
			m.diagonal(0, m.h, m.w, 0)
		}
		if r != 0x2571 {
			m.diagonal(0, 0, m.w, m.h)
		}
	}
	return true
}

// span returns the pixels across a line of a weight. The line is centred in size.
func (m *mask) span(weight, size int) (from, to int) {
	t := thickness(m.h)
	from = (size - t) / 2
	switch weight {
	case none:
		return from, from + t
	case heavy:
		return from - (t+1)/2, from + t + (t+1)/2
	case double:
		return from - t, from + 2*t
	}
	return from, from + t
}

// cross draws lines from the middle. A double line is a broad line without its core, so that
// double lines open into each other.
func (m *mask) cross(weights [4]int) {
	outer, core := newMask(m.w, m.h), newMask(m.w, m.h)
	for d, weight := range weights {
		switch weight {
		case none:
		case double:
			m.arm(outer, d, weight, weights)
			core.bar(d, light, m.coreEnd(d, weights))
		default:
			m.arm(m, d, weight, weights)
		}
	}
	for i, a := range outer.a {
		if core.a[i] == 0 {
			m.a[i] = max(m.a[i], a)
		}
	}
}

// arm draws one line into on. It ends at the far side of the crossing line, so that a corner is complete.
func (m *mask) arm(on *mask, d, weight int, weights [4]int) {
	a, b := weights[(d+1)%4], weights[(d+3)%4]
	across := max(a, b)
	if across == none {
		across = light
	}
	length := m.w
	if d == up || d == down {
		length = m.h
	}
	from, to := m.span(across, length)
	if weight != double && a == double && b == double && weights[(d+2)%4] == none {
		// It meets a double line from one side: it must not go into its core.
		from, to = to-thickness(m.h), from+thickness(m.h)
	}
	end := to
	if d == right || d == down {
		end = from
	}
	on.bar(d, weight, end)
}

// coreEnd returns where the core of a double line ends: in the middle if the line goes on as
// a double one, else at the line that closes it.
func (m *mask) coreEnd(d int, weights [4]int) int {
	length := m.w
	if d == up || d == down {
		length = m.h
	}
	from, to := m.span(light, length)
	if d == right || d == down {
		return from
	}
	return to
}

// bar covers a line from an edge of the cell to end.
func (m *mask) bar(d, weight, end int) {
	switch d {
	case up, down:
		x0, x1 := m.span(weight, m.w)
		if d == up {
			m.fill(x0, 0, x1, end, full)
		} else {
			m.fill(x0, end, x1, m.h, full)
		}
	default:
		y0, y1 := m.span(weight, m.h)
		if d == left {
			m.fill(0, y0, end, y1, full)
		} else {
			m.fill(end, y0, m.w, y1, full)
		}
	}
}

// dashes draws a line in n pieces, with equal gaps across the edges of cells.
func (m *mask) dashes(n int, vertical, thick bool) {
	weight := light
	if thick {
		weight = heavy
	}
	size := m.w
	if vertical {
		size = m.h
	}
	gap := max(1, size/(4*n))
	for i := range n {
		from, to := i*size/n+gap/2, (i+1)*size/n-(gap-gap/2)
		if vertical {
			x0, x1 := m.span(weight, m.w)
			m.fill(x0, from, x1, to, full)
		} else {
			y0, y1 := m.span(weight, m.h)
			m.fill(from, y0, to, y1, full)
		}
	}
}

// arc draws a line that bends from one side to the top or the bottom.
func (m *mask) arc(toRight, toBottom bool) {
	x0, x1 := m.span(light, m.w)
	y0, y1 := m.span(light, m.h)
	// The edges of the line that are inside the bend, and the directions that it goes in.
	innerX, innerY, sx, sy := x1, y1, 1, 1
	r := m.w - x1
	if !toRight {
		innerX, sx, r = x0, -1, x0
	}
	if toBottom {
		r = min(r, m.h-y1)
	} else {
		innerY, sy, r = y0, -1, min(r, y0)
	}
	cx, cy := innerX+sx*r, innerY+sy*r
	z := vector.NewRasterizer(m.w, m.h)
	const steps = 16
	for i := range 2*steps + 2 {
		radius, step := float64(r+x1-x0), i
		if i > steps {
			radius, step = float64(r), 2*steps+1-i
		}
		sin, cos := math.Sincos(float64(step) * math.Pi / 2 / steps)
		x, y := float32(float64(cx)-float64(sx)*radius*cos), float32(float64(cy)-float64(sy)*radius*sin)
		if i == 0 {
			z.MoveTo(x, y)
		} else {
			z.LineTo(x, y)
		}
	}
	z.ClosePath()
	m.rasterize(z)
	if toBottom {
		m.fill(x0, cy, x1, m.h, full)
	} else {
		m.fill(x0, 0, x1, cy, full)
	}
	if toRight {
		m.fill(cx, y0, m.w, y1, full)
	} else {
		m.fill(0, y0, cx, y1, full)
	}
}

// diagonal draws a line from corner to corner.
func (m *mask) diagonal(x0, y0, x1, y1 int) {
	t := float64(thickness(m.h)) * 1.2
	length := math.Hypot(float64(m.w), float64(m.h))
	// Half of the line's width along the edges of the cell. It begins and ends beyond them,
	// so that lines join at the corners.
	dx := float32(t / 2 * length / float64(m.h))
	z := vector.NewRasterizer(m.w, m.h)
	ax, ay, bx, by := float32(x0), float32(y0), float32(x1), float32(y1)
	ax, bx = ax-(bx-ax)/4, bx+(bx-ax)/4
	ay, by = ay-(by-ay)/4, by+(by-ay)/4
	z.MoveTo(ax-dx, ay)
	z.LineTo(ax+dx, ay)
	z.LineTo(bx+dx, by)
	z.LineTo(bx-dx, by)
	z.ClosePath()
	m.rasterize(z)
}
