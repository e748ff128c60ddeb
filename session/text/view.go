package text

import (
	"unicode/utf8"

	"ptyctl/buffer"
	"ptyctl/vt"
)

// cleanBack is how far before a chunk an escape sequence, or the line it continues, may have begun.
const cleanBack = 4 << 10

// sgrBack is how far before a chunk a colour sequence may have begun.
const sgrBack = 128

// A View is the output that a buffer holds, as text.
type View struct {
	Buffer *buffer.Buffer
	Cols   int // the terminal's width in columns; 0: unknown, and no line wraps

	// NoTerminal says that the output was not made for a terminal. Its clean text is the output without colours; see
	// vt.WithoutSGR. Output that is not UTF-8 stays as it is.
	NoTerminal bool
}

// Clean returns data, whose first byte has the offset start, as clean text.
func (v View) Clean(start int64, data []byte) (text []byte, removed vt.Sanitized) {
	if v.NoTerminal {
		if !utf8.Valid(data) {
			return data, vt.Sanitized{}
		}
		st := v.Buffer.Stat()
		return vt.WithoutSGR(v.before(start, sgrBack), data, !st.Closed || start+int64(len(data)) < st.End)
	}
	c := v.cleaner(start)
	text = make([]byte, 0, len(data))
	// A sequence that a break has cut must not take the beginning of the next stream with it.
	for _, at := range v.Buffer.Breaks(start+1, start+int64(len(data))) {
		text = c.Flush(c.Append(text, data[:at-start]))
		removed = removed.Plus(c.Sanitized())
		start, data, c = at, data[at-start:], &vt.Cleaner{Cols: v.Cols}
	}
	text = c.Flush(c.Append(text, data))
	return text, removed.Plus(c.Sanitized())
}

// cleaner makes a Cleaner that has read the bytes held before start.
func (v View) cleaner(start int64) *vt.Cleaner {
	c := &vt.Cleaner{Cols: v.Cols}
	c.Skip(v.before(start, cleanBack))
	return c
}

// before returns the n bytes before start, as many as there are of the same stream and are still held.
func (v View) before(start, n int64) []byte {
	back := min(start-v.Buffer.Begin(start), n)
	if back <= 0 {
		return nil
	}
	held := v.Buffer.At(start-back, int(back))
	return held.Data[:min(max(start-held.Start, 0), int64(len(held.Data)))]
}
