package text

import (
	"ptyctl/buffer"
	"ptyctl/vt"
)

// cleanBack is how far before a chunk an escape sequence, or the line it continues, may have begun.
const cleanBack = 4 << 10

// A View is the output that a buffer holds, as text.
type View struct {
	Buffer *buffer.Buffer
	Cols   int // the terminal's width in columns; 0: unknown, and no line wraps
}

// Clean returns data, whose first byte has the offset start, as clean text.
func (v View) Clean(start int64, data []byte) (text []byte, removed vt.Sanitized) {
	c := v.cleaner(start)
	text = c.Append(make([]byte, 0, len(data)), data)
	text = c.Flush(text)
	return text, c.Sanitized()
}

// cleaner makes a Cleaner that has read the bytes held before start.
func (v View) cleaner(start int64) *vt.Cleaner {
	var before []byte
	if back := min(start, cleanBack); back > 0 {
		held := v.Buffer.At(start-back, int(back))
		before = held.Data[:min(max(start-held.Start, 0), int64(len(held.Data)))] // as much as is still held
	}
	c := &vt.Cleaner{Cols: v.Cols}
	c.Skip(before)
	return c
}
