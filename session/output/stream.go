package output

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"ptyctl/buffer"
	"ptyctl/vt"
)

// maxHead is the length of the start of a stream that is kept for a result without its middle.
const (
	maxHead = 64 << 10
	minHead = 1 << 10 // first allocation, doubled from there
)

// A Stream is one output stream of a command: its start, and as much of its end as the Buffer holds. Its methods may be
// called by any number of goroutines.
type Stream struct {
	Buffer *buffer.Buffer // the end, for readers; only the Stream writes to it
	Newest atomic.Int64   // when the newest byte arrived, in Unix nanoseconds

	total *atomic.Int64 // counts the bytes of all such streams; nil: of none

	pool *buffer.Pool // where head is counted, as Buffer is

	mu    sync.Mutex // guards the following, and keeps Buffer in step with it
	head  []byte
	whole bool // head ends here: the stream goes on without it
}

// NewStream makes a Stream that keeps the last maxBytes of a command's output. Its memory comes from pool, which many
// streams can share; nil: unlimited. The bytes written are also added to total, if it is not nil.
func NewStream(maxBytes int, pool *buffer.Pool, total *atomic.Int64) *Stream {
	return &Stream{Buffer: buffer.New(buffer.Options{MaxBytes: maxBytes, Pool: pool}), total: total, pool: pool}
}

// Write takes the command's output; it never blocks on a reader.
func (st *Stream) Write(p []byte) (int, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.Newest.Store(time.Now().UnixNano())
	n, err := st.Buffer.Write(p)
	if st.total != nil {
		st.total.Add(int64(n))
	}
	st.keepHead(p[:n])
	return n, err
}

// keepHead makes p part of the head, as far as there is room. Requires st.mu.
func (st *Stream) keepHead(p []byte) {
	p = p[:min(len(p), maxHead-len(st.head))]
	if st.whole || len(p) == 0 {
		return
	}
	if want := len(st.head) + len(p); want > cap(st.head) {
		size := max(minHead, cap(st.head))
		for size < want {
			size *= 2
		}
		if !st.pool.Take(size - cap(st.head)) {
			p, st.whole = p[:cap(st.head)-len(st.head)], true
		} else {
			st.head = append(make([]byte, 0, size), st.head...)
		}
	}
	st.head = append(st.head, p...)
}

// Free gives up all that is kept.
func (st *Stream) Free() {
	st.Buffer.Free()
	st.mu.Lock()
	defer st.mu.Unlock()
	st.pool.Give(cap(st.head))
	st.head, st.whole = nil, true
}

// An Excerpt is a stream, or its part from an offset on, cut to a budget: its start, and its end if something between
// was left out.
type Excerpt struct {
	Start      int64 // offset of Head[0]
	Head, Tail []byte
	Total      int64 // bytes that the command has written
	TailStart  int64 // offset of Tail[0]

	holeStart, holeEnd int64 // nothing between these offsets is held any more

	before, beforeTail []byte // the stream before Head and before Tail, at most backBytes each
	ended              bool   // nothing follows it
}

// backBytes is how far before a part of a stream a line or a sequence may have begun that the part goes on with.
const backBytes = 4 << 10

// Cut is the offset after Head: the bytes that were left out start there.
func (o Excerpt) Cut() int64 { return o.Start + int64(len(o.Head)) }

// Next is the offset after the excerpt. While the stream goes on, an unfinished rune at its end is left for the next
// excerpt.
func (o Excerpt) Next() int64 { return o.TailStart + int64(len(o.Tail)) }

// Omitted is how many bytes between Head and Tail were left out.
func (o Excerpt) Omitted() int64 { return o.TailStart - o.Cut() }

// Lost is how many bytes between two offsets are no longer held.
func (o Excerpt) Lost(from, to int64) int64 {
	return max(min(to, o.holeEnd)-max(from, o.holeStart), 0)
}

// Complete reports whether nothing was left out.
func (o Excerpt) Complete() bool { return o.Omitted() == 0 }

// Whole reports whether it is all of the stream so far.
func (o Excerpt) Whole() bool { return o.Start == 0 && o.Complete() }

// Bytes returns Head and Tail as one.
func (o Excerpt) Bytes() []byte { return append(slices.Clip(o.Head), o.Tail...) }

// Excerpt returns the output within a budget of bytes: all of it if it fits and is still held, else as much from the
// start as from the end, cut between runes.
func (st *Stream) Excerpt(budget int) Excerpt { return st.Since(0, budget) }

// Since is Excerpt of the bytes after the offset from. Bytes that are not held any more count as left out.
func (st *Stream) Since(from int64, budget int) Excerpt {
	st.mu.Lock()
	defer st.mu.Unlock()
	now := st.Buffer.Stat()
	end := now.End
	if !now.Closed { // the rest of a rune is on its way
		end -= int64(vt.PartialRune(st.Buffer.At(max(end-utf8.UTFMax, 0), utf8.UTFMax).Data))
	}
	from = min(from, end)
	o := Excerpt{Start: from, Total: now.End}
	o.holeStart = st.headEnd(now.Start)
	o.holeEnd = max(now.Start, o.holeStart)
	if end-from <= int64(budget) {
		o.Head = st.from(from, end-from)
		o.TailStart = o.Cut()
	} else {
		o.Head = st.from(from, int64(budget/2))
		o.TailStart = end - int64(budget/2)
	}
	if end > o.TailStart {
		o.Tail = st.Buffer.At(o.TailStart, int(end-o.TailStart)).Data
		o.TailStart = end - int64(len(o.Tail))
	}
	o.ended = now.Closed && o.Next() >= now.End
	o.before = st.before(o.Start)
	if o.Omitted() > 0 { // runes are cut only where something is left out
		o.Head = o.Head[:len(o.Head)-vt.PartialRune(o.Head)]
		o.Tail = DropRuneRest(o.Tail)
		o.TailStart = end - int64(len(o.Tail))
		o.beforeTail = st.before(o.TailStart)
	}
	return o
}

// A Part is a piece of a stream.
type Part struct {
	Start int64 // offset of Data[0]
	Data  []byte
}

// Held returns a copy of all that is held of the stream from an offset on, in order: one part, or two if the middle
// is no longer held.
func (st *Stream) Held(from int64) []Part {
	st.mu.Lock()
	defer st.mu.Unlock()
	now := st.Buffer.Stat()
	from = min(max(from, 0), now.End)
	var parts []Part
	if head := min(st.headEnd(now.Start), now.Start); from < head {
		parts = append(parts, Part{Start: from, Data: bytes.Clone(st.head[from:head])})
	}
	rest := st.Buffer.At(max(from, now.Start), 0)
	if len(parts) > 0 && parts[0].Start+int64(len(parts[0].Data)) == rest.Start {
		parts[0].Data = append(parts[0].Data, rest.Data...)
		return parts
	}
	return append(parts, Part{Start: rest.Start, Data: rest.Data})
}

// Head returns a copy of the start of the stream, as far as it is held, if the start has bytes after the offset from
// that the Buffer lacks; else nil. Bytes after the start are in the Buffer, or no longer held.
func (st *Stream) Head(from int64) []byte {
	st.mu.Lock()
	defer st.mu.Unlock()
	start := st.Buffer.Stat().Start
	if end := st.headEnd(start); from >= 0 && from < start && from < end {
		return bytes.Clone(st.head[:end])
	}
	return nil
}

// headEnd is the offset up to which the start of the stream is held, if the Buffer begins at start. A rune that goes on
// in lost bytes does not count. Requires st.mu.
func (st *Stream) headEnd(start int64) int64 {
	n := len(st.head)
	if int64(n) < start {
		n -= vt.PartialRune(st.head)
	}
	return int64(n)
}

// before returns a copy of the bytes before an offset, at most backBytes, as far as they are held. Requires st.mu.
func (st *Stream) before(offset int64) []byte {
	start := max(offset-backBytes, st.Buffer.Stat().Start)
	if start >= offset {
		return nil
	}
	return st.Buffer.At(start, int(offset-start)).Data
}

// from returns a copy of at most n bytes from an offset on, as far as they are held in one piece from there on in the
// head or in the Buffer. Requires st.mu.
func (st *Stream) from(offset, n int64) []byte {
	if offset < int64(len(st.head)) {
		return bytes.Clone(st.head[offset:min(offset+n, int64(len(st.head)))])
	}
	if n <= 0 || offset < st.Buffer.Stat().Start {
		return nil
	}
	return st.Buffer.At(offset, int(n)).Data
}

// DropRuneRest returns p without the bytes at its start that can only be the rest of a rune cut before p.
func DropRuneRest(p []byte) []byte {
	for n := 0; n < utf8.UTFMax-1 && len(p) > 0 && !utf8.RuneStart(p[0]); n++ {
		p = p[1:]
	}
	return p
}
