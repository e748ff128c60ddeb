package text

import (
	"bytes"
	"iter"
	"math"

	"ptyctl/session/output"
	"ptyctl/vt"
)

// Lines are a part of the output that is held, line by line.
type Lines struct {
	// All gives the number of each line, counted from the oldest one held, from 1, and its text, clean as Clean has
	// it and without its line end. The text is valid until the next one. It may be ranged over once.
	All iter.Seq2[int, []byte]

	Total   int   // lines held, an unfinished last one included
	Dropped int64 // bytes before the oldest line that are no longer held
	Size    int   // bytes of the stream that the lines were made of
	Last    bool  // they reach the end of the output
}

// Lines returns the lines held without the oldest skip, at most n of them; n <= 0: all. It does not wait, and its cost
// depends on the lines returned: reading the output page by page takes as long as reading it at once.
//
// A line ends where the far side sent LF. Text that the far side drew in other places before that, as full-screen
// programs do, is in the same line, between blanks.
func (v View) Lines(skip, n int) Lines {
	data, start, st := v.Buffer.Lines(skip, n)
	size := len(data)
	last := start+int64(size) == st.End
	if last && !st.Closed { // the rest of a rune is on its way
		data = data[:len(data)-vt.PartialRune(data)]
	}
	if start == st.Start && start > 0 {
		data = output.DropRuneRest(data)
	}
	c := v.cleaner(start)
	return Lines{
		All:     func(yield func(int, []byte) bool) { eachLine(c, max(skip, 0)+1, start, data, yield) },
		Total:   st.Lines,
		Dropped: st.Start,
		Size:    size,
		Last:    last,
	}
}

// eachLine yields the lines of data, which begins at the offset start; number is that of the first.
func eachLine(c *cleaner, number int, start int64, data []byte, yield func(int, []byte) bool) {
	var text []byte
	for ; len(data) > 0; number++ {
		end := bytes.IndexByte(data, '\n') + 1
		if end == 0 {
			end = len(data)
		}
		line := data[:end]
		data = data[end:]
		text = cleanLine(c, text[:0], start, line, len(data) == 0)
		start += int64(len(line))
		if !yield(number, text) {
			return
		}
	}
}

// cleanLine appends the text of one line to dst, without its line end. The line begins at the offset start; last says
// that nothing follows it.
func cleanLine(c *cleaner, dst []byte, start int64, line []byte, last bool) []byte {
	dst = c.append(dst, start, line)
	if last {
		dst = c.Flush(dst)
	}
	dst = bytes.TrimSuffix(dst, newline)
	for i := range dst {
		if dst[i] == '\n' {
			dst[i] = ' '
		}
	}
	return dst
}

var newline = []byte{'\n'}

// A cutter cuts output into lines, in order: each ends behind its LF, or at the break of the buffer before that.
type cutter struct{ breaks []int64 }

// cutter makes a cutter of the output from an offset on.
func (v View) cutter(start int64) cutter { return cutter{v.Buffer.Breaks(start+1, math.MaxInt64)} }

// next returns the first line of data, which begins at the offset start. data is not empty.
func (c *cutter) next(start int64, data []byte) []byte {
	n := bytes.IndexByte(data, '\n') + 1
	if n == 0 {
		n = len(data)
	}
	for len(c.breaks) > 0 && c.breaks[0] <= start {
		c.breaks = c.breaks[1:]
	}
	if len(c.breaks) > 0 {
		n = int(min(c.breaks[0]-start, int64(n)))
	}
	return data[:n:n]
}
