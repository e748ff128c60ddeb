package session

import (
	"sync"
	"unicode/utf8"

	"ptyctl/buffer"
)

// maxHead is how much of the start of a stream is kept for a result whose middle is left out.
const maxHead = 64 << 10

// A stream is one output stream of an exec: its start, and as much of its end as the buffer holds.
type stream struct {
	buf *buffer.Buffer

	mu   sync.Mutex // guards the following
	head []byte
}

func newStream(maxBytes int) *stream {
	return &stream{buf: buffer.New(buffer.Options{MaxBytes: maxBytes})}
}

// Write takes what the command puts out; it never blocks on a reader.
func (st *stream) Write(p []byte) (int, error) {
	st.mu.Lock()
	if room := maxHead - len(st.head); room > 0 {
		st.head = append(st.head, p[:min(room, len(p))]...)
	}
	st.mu.Unlock()
	return st.buf.Write(p)
}

// An Output is a stream of an exec, cut to a budget: its start, and its end if something between was left out.
type Output struct {
	Head, Tail []byte
	Total      int64 // bytes the command has put out
	TailStart  int64 // offset of Tail[0]
}

// Omitted is how many bytes between Head and Tail were left out; they start at offset len(Head).
func (o Output) Omitted() int64 { return o.TailStart - int64(len(o.Head)) }

// Complete reports whether nothing was left out.
func (o Output) Complete() bool { return o.Omitted() == 0 }

// Bytes returns Head and Tail as one.
func (o Output) Bytes() []byte { return append(o.Head[:len(o.Head):len(o.Head)], o.Tail...) }

// output returns what there is within budget: all of it if it fits, else as much from the start as from the
// end, cut between runes.
func (st *stream) output(budget int) Output {
	end := st.buf.Stat().End
	st.mu.Lock()
	head := st.head[:min(len(st.head), int(min(end, int64(budget))))]
	st.mu.Unlock()
	if end <= int64(budget) && int64(len(head)) == end {
		return Output{Head: head, Total: end, TailStart: end}
	}
	if end <= int64(budget) { // fits, though it is longer than the head that is kept
		sl := st.buf.At(int64(len(head)), int(end)-len(head))
		return Output{Head: head, Tail: sl.Data, Total: end, TailStart: sl.Start}
	}
	head = head[:min(len(head), budget/2)]
	head = head[:len(head)-partialRune(head)]
	sl := st.buf.At(end-int64(budget/2), budget/2)
	for i := 0; i < utf8.UTFMax-1 && len(sl.Data) > 0 && !utf8.RuneStart(sl.Data[0]); i++ {
		sl.Data, sl.Start = sl.Data[1:], sl.Start+1
	}
	return Output{Head: head, Tail: sl.Data, Total: end, TailStart: sl.Start}
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
