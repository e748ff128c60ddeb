package session

import (
	"bytes"
	"context"
	"iter"
	"time"

	"ptyctl/term"
	"ptyctl/vt"
)

// Lines are a part of the output that is held, line by line.
type Lines struct {
	// All gives the number of each line, counted from the oldest one held, from 1, and its text, clean as Clean has it and
	// without its line end. The text is valid until the next one. It may be ranged over once.
	All iter.Seq2[int, []byte]

	Total   int   // lines held, an unfinished last one included
	Dropped int64 // bytes before the oldest line that are no longer held
}

// Lines returns the lines held without the oldest skip, at most n of them; n <= 0: all. It does not wait, and costs what it
// returns: to go through the output page by page takes as long as to read it at once.
//
// A line is what the far side has ended with LF. What it has drawn in other places before that, as full-screen programs do,
// stands in the same line, between blanks.
func (s *Session) Lines(ctx context.Context, skip, n int) Lines {
	data, start, st := s.buf.Lines(skip, n)
	size := len(data)
	if end := start + int64(size); end == st.End {
		s.count.drained.Store(time.Now().UnixNano())
		if !st.Closed { // the rest of a rune is on its way
			data = data[:len(data)-partialRune(data)]
		}
	}
	if start == st.Start && start > 0 {
		data = dropRuneRest(data)
	}
	s.auth.Observe(term.Event{Verb: term.VerbRead, Actor: term.ActorFrom(ctx), Size: size})
	c := cleaner(s, start)
	return Lines{
		All:     func(yield func(int, []byte) bool) { eachLine(c, max(skip, 0)+1, data, yield) },
		Total:   st.Lines,
		Dropped: st.Start,
	}
}

// eachLine gives the lines of data, the first of which has that number.
func eachLine(c *vt.Cleaner, number int, data []byte, yield func(int, []byte) bool) {
	var text []byte
	for ; len(data) > 0; number++ {
		end := bytes.IndexByte(data, '\n') + 1
		if end == 0 {
			end = len(data)
		}
		text = c.Append(text[:0], data[:end])
		if data = data[end:]; len(data) == 0 {
			text = c.Flush(text)
		}
		text = bytes.TrimSuffix(text, newline)
		for i := range text {
			if text[i] == '\n' {
				text[i] = ' '
			}
		}
		if !yield(number, text) {
			return
		}
	}
}

var newline = []byte{'\n'}
