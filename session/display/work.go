package display

import (
	"bytes"
	"time"
)

// Drawing is work, counted in cells. Each byte and each second allows some work; ordinary programs take less. If
// output has taken mostExcess more than that, which is about a quarter of a second of work, the output that follows
// is not drawn until time has made the excess smaller. So a far side that sends costly sequences without end, for
// example DECALN, cannot keep the machine busy with its screen.
const (
	workPerByte   = 128
	workPerSecond = 1 << 26
	mostExcess    = 1 << 26
)

// reset is RIS, and cleanPiece how much after it is drawn at once, in spite of the excess, as long as that is cheap. Its
// work counts like any other, and twice mostExcess is the end.
var reset = []byte("\x1bc")

const cleanPiece = 128

// can ends a control sequence that was begun (ECMA-48 section 8.3.6).
const can = 0x18

// A budget is the work that the output has taken so far, and whether output was skipped because it would have taken
// too much.
type budget struct {
	excess  int       // work beyond the allowance until counted
	counted time.Time // the zero time at first
	skipped bool      // the last output was not drawn
	partial bool      // some output was not drawn, and the program has not reset the terminal since
}

// write draws p as far as the budget allows. Requires d.mu.
func (d *Display) write(p []byte) {
	b, now := &d.budget, time.Now()
	b.excess = max(0, b.excess-int(min(now.Sub(b.counted).Seconds(), 1)*workPerSecond))
	b.counted = now
	piece := max(128, min(4<<10, 80<<20/(d.cols*d.rows))) // of the largest screen, a sequence may make a million
	clean := false                                        // p begins with a reset, or goes on after one at little cost
	for len(p) > 0 {
		if b.excess > mostExcess && b.excess <= 2*mostExcess && !clean { // nothing before the last reset counts any more
			if i := bytes.LastIndex(p, reset); i >= 0 {
				b.skipped, clean, p = true, true, p[i:]
			}
		}
		n := min(piece, len(p))
		if clean {
			n = min(n, cleanPiece)
		}
		switch {
		case b.excess <= mostExcess || clean:
			if b.skipped {
				_, _ = d.screen.Write([]byte{can})
			}
			resets := d.screen.Resets()
			_, _ = d.screen.Write(p[:n])
			work, again := d.screen.Work(), d.screen.Resets() != resets
			b.excess, b.skipped = b.excess+work, false
			b.partial = b.partial && !again
			clean = clean && (again || work <= workPerByte*n)
		default:
			b.partial, b.skipped = true, true
		}
		b.excess = max(0, b.excess-workPerByte*n)
		p = p[n:]
	}
}
