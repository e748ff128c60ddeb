package picture

import (
	"math"

	"ptyctl/screen"
)

// underline returns the line below the text of a cell that begins at the column x of the
// picture: patterns go on from cell to cell.
func underline(kind screen.Underline, x, w, h int) *mask {
	m := newMask(w, h)
	t := thickness(m.h)
	y := min(int(math.Round(float64(h)*baseline))+t+max(0, h/20-1), h-t)
	switch kind {
	case screen.Single:
		m.fill(0, y, w, y+t, full)
	case screen.Double:
		y = min(y, h-3*t)
		m.fill(0, y, w, y+t, full)
		m.fill(0, y+2*t, w, y+3*t, full)
	case screen.Curly:
		// A wave has the width of a column. It is a row of dots so near that they are a line.
		period := h / 2
		height := float64(max(2, h/10))
		middle := float64(h) - height/2 - float64(t)/2 - 0.5
		for i := range w {
			for sub := range 4 {
				at := float64((x+i)%period) + float64(sub)/4
				top := middle + height/2*math.Sin(2*math.Pi*at/float64(period)) - float64(t)/2
				m.smear(i, top, top+float64(t)+0.3)
			}
		}
	case screen.Dotted, screen.Dashed:
		on := 2 * t
		if kind == screen.Dashed {
			on = 3 * t
		}
		off := (on + 1) / 2
		if kind == screen.Dotted {
			on, off = t, t
		}
		for i := range w {
			if (x+i)%(on+off) < on {
				m.fill(i, y, i+1, y+t, full)
			}
		}
	}
	return m
}

// smear covers a part of a column, by as much of each pixel as is within it.
func (m *mask) smear(x int, from, to float64) {
	for y := int(from); y <= int(to); y++ {
		if part := min(to, float64(y+1)) - max(from, float64(y)); part > 0 {
			m.fill(x, y, x+1, y+1, uint8(part*full+0.5))
		}
	}
}
