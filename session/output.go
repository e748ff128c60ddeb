package session

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"ptyctl/buffer"
)

// maxHead is the length of the start of a stream that is kept for a result without its middle.
const (
	maxHead = 64 << 10
	minHead = 1 << 10 // first allocation, doubled from there
)

// A stream is one output stream of an exec: its start, and as much of its end as the buffer holds.
type stream struct {
	buf    *buffer.Buffer
	newest atomic.Int64 // when the newest byte arrived, in Unix nanoseconds

	total *atomic.Int64 // counts the bytes of all such streams; nil: of none

	pool *buffer.Pool // where head is counted, as buf is

	mu    sync.Mutex // guards the following, and keeps buf in step with it
	head  []byte
	whole bool // head ends here: the stream goes on without it
}

// newStream makes a stream that keeps the last maxBytes of a command's output. Its memory comes from pool, which all
// sessions of a Manager share.
func newStream(maxBytes int, pool *buffer.Pool) *stream {
	return &stream{buf: buffer.New(buffer.Options{MaxBytes: maxBytes, Pool: pool}), pool: pool}
}

// Write takes the command's output; it never blocks on a reader.
func (st *stream) Write(p []byte) (int, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.newest.Store(time.Now().UnixNano())
	n, err := st.buf.Write(p)
	if st.total != nil {
		st.total.Add(int64(n))
	}
	st.keepHead(p[:n])
	return n, err
}

// keepHead makes p part of the head, as far as there is room. Requires st.mu.
func (st *stream) keepHead(p []byte) {
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

// free gives up all that is kept.
func (st *stream) free() {
	st.buf.Free()
	st.mu.Lock()
	defer st.mu.Unlock()
	st.pool.Give(cap(st.head))
	st.head, st.whole = nil, true
}

// An Output is a stream of an exec, cut to a budget: its start, and its end if something between was left out.
type Output struct {
	Head, Tail []byte
	Total      int64 // bytes that the command has written
	TailStart  int64 // offset of Tail[0]
}

// Omitted is how many bytes between Head and Tail were left out; they start at offset len(Head).
func (o Output) Omitted() int64 { return o.TailStart - int64(len(o.Head)) }

// Complete reports whether nothing was left out.
func (o Output) Complete() bool { return o.Omitted() == 0 }

// Bytes returns Head and Tail as one.
func (o Output) Bytes() []byte { return append(slices.Clip(o.Head), o.Tail...) }

// output returns the output within budget: all of it if it fits and is still held, else as much from the start as from
// the end, cut between runes.
func (st *stream) output(budget int) Output {
	st.mu.Lock()
	defer st.mu.Unlock()
	end := st.buf.Stat().End
	if end <= int64(len(st.head)) && end <= int64(budget) {
		return Output{Head: bytes.Clone(st.head), Total: end, TailStart: end}
	}
	head, tailStart := st.head, int64(len(st.head))
	if end > int64(budget) {
		head, tailStart = head[:min(len(head), budget/2)], end-int64(budget/2)
	}
	o := Output{Total: end, TailStart: end}
	if end > tailStart {
		o.Tail = st.buf.At(tailStart, int(end-tailStart)).Data
		o.TailStart = end - int64(len(o.Tail))
	}
	if o.TailStart > int64(len(head)) { // runes are cut only where something is left out
		head = head[:len(head)-partialRune(head)]
		o.Tail = dropRuneRest(o.Tail)
		o.TailStart = end - int64(len(o.Tail))
	}
	o.Head = bytes.Clone(head)
	return o
}

// partialRune returns how many bytes at the end of p begin a rune that p does not finish.
func partialRune(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		last := p[len(p)-n:]
		if utf8.RuneStart(last[0]) {
			if last[0] >= utf8.RuneSelf && !utf8.FullRune(last) {
				return n
			}
			return 0
		}
	}
	return 0
}

// dropRuneRest returns p without the bytes at its start that can only be the rest of a rune cut before p.
func dropRuneRest(p []byte) []byte {
	for n := 0; n < utf8.UTFMax-1 && len(p) > 0 && !utf8.RuneStart(p[0]); n++ {
		p = p[1:]
	}
	return p
}
