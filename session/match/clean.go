package match

import (
	"bytes"
	"slices"

	"ptyctl/vt"
)

// A cleaner makes clean text of output.
type cleaner interface {
	// Append appends the text that p finishes to dst.
	Append(dst, p []byte) []byte
	// Line returns the text that may still change, and where in it the next character goes.
	Line() (text string, cursor int)
}

// newCleaner makes the cleaner of an output at the start of a line.
func newCleaner(o Options) cleaner {
	if o.NoTerminal {
		return new(uncoloured)
	}
	return &vt.Cleaner{Cols: o.Cols}
}

// uncoloured is the cleaner of output that was not made for a terminal: it changes no line that is there.
type uncoloured struct {
	context []byte // the last bytes read, in which a colour may have begun
}

// sgrContext is how many bytes vt.WithoutSGR needs.
const sgrContext = 128

func (u *uncoloured) Append(dst, p []byte) []byte {
	text, _ := vt.WithoutSGR(u.context, p, true)
	if len(p) < sgrContext {
		u.context = append(u.context, p...)
		p = u.context
	}
	u.context = append(u.context[:0], p[max(len(p)-sgrContext, 0):]...)
	return append(dst, text...)
}

// Line is empty: the bytes held back begin a colour.
func (u *uncoloured) Line() (text string, cursor int) { return "", 0 }

// redrawn looks at the line that the cursor was in, as it is now, with the text that was finished since. If the terminal
// has changed it, the part that changed is new: a match may end there, although the line was that long before.
func (s *Stream) redrawn(finished []byte) {
	if s.begun == "" {
		return
	}
	now, _, ended := bytes.Cut(finished, newline)
	if !ended {
		line, _ := s.cleaner.Line()
		now = append(slices.Clip(now), line...)
	}
	s.after = s.begunAfter - int64(len(s.begun)-samePrefix(s.begun, now))
	if len(finished) > 0 {
		s.begun = ""
	}
}

// samePrefix returns how many bytes a and b begin with alike.
func samePrefix[A, B string | []byte](a A, b B) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
