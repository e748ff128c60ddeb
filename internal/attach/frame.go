package attach

import (
	"bytes"

	"ptyctl/vt"
)

// A frame makes a person's terminal show the same as the session's terminal, from the output that the server holds.
type frame struct {
	state []byte // brings the terminal to the state in which part begins
	part  []byte // of the output
}

// frameOf finds where to begin. A full-screen program is drawn from the point where it has taken the screen. Otherwise
// the last lines are enough; those from before such a program would only be scattered over the screen.
func frameOf(held []byte, rows int, input bool) frame {
	f := vt.Filter{Input: input}
	from, alt := 0, -1
	for at := 0; at < len(held); {
		next := len(held)
		if i := bytes.IndexByte(held[at+1:], '\x1b'); i >= 0 {
			next = at + 1 + i
		}
		f.Append(nil, held[at:next]) // one sequence, and the text after it
		switch {
		case f.AltScreen() && alt < 0:
			alt = at
		case !f.AltScreen() && alt >= 0:
			from, alt = at, -1
		}
		at = next
	}
	if alt >= 0 {
		from = alt
	} else {
		from = max(from, len(held)-len(tailLines(held, rows)))
	}
	before := vt.Filter{Input: input}
	before.Append(nil, held[:from])
	return frame{state: before.Resume(nil), part: held[from:]}
}
