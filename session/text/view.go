package text

import (
	"math"
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

// Clean returns data as clean text. The first byte of data has the offset start.
func (v View) Clean(start int64, data []byte) (text []byte, removed vt.Sanitized) {
	if v.NoTerminal {
		if !utf8.Valid(data) {
			return data, vt.Sanitized{}
		}
		st := v.Buffer.Stat()
		return vt.WithoutSGR(v.before(start, sgrBack), data, !st.Closed || start+int64(len(data)) < st.End)
	}
	c := v.cleaner(start)
	text = c.append(make([]byte, 0, len(data)), start, data)
	return c.Flush(text), c.removed.Plus(c.Sanitized())
}

// A cleaner makes clean text of output, in order. It starts afresh at each break of the buffer: a sequence cut by the
// break must not swallow the beginning of the next stream.
type cleaner struct {
	*vt.Cleaner
	breaks  []int64
	removed vt.Sanitized // before the last break
}

// cleaner makes a cleaner that has read the bytes held before start.
func (v View) cleaner(start int64) *cleaner {
	c := &cleaner{Cleaner: &vt.Cleaner{Cols: v.Cols}, breaks: v.Buffer.Breaks(start+1, math.MaxInt64)}
	c.Skip(v.before(start, cleanBack))
	return c
}

// append appends the text that p finishes to dst. The first byte of p has the offset start.
func (c *cleaner) append(dst []byte, start int64, p []byte) []byte {
	for len(c.breaks) > 0 && c.breaks[0] <= start+int64(len(p)) {
		part := p[:max(c.breaks[0]-start, 0)]
		dst = c.Flush(c.Append(dst, part))
		c.removed = c.removed.Plus(c.Sanitized())
		c.Cleaner = &vt.Cleaner{Cols: c.Cols}
		start, p, c.breaks = start+int64(len(part)), p[len(part):], c.breaks[1:]
	}
	return c.Append(dst, p)
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
