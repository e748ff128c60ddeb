package buffer

// Slice is a piece of the stream as it was at the call of At.
type Slice struct {
	Data    []byte          // the caller's own copy; nil if there are no bytes to return
	Start   int64           // offset of Data[0]: the requested offset + Dropped
	Next    int64           // Start + len(Data): the offset for the next call
	Dropped int64           // bytes between the requested offset and the oldest byte still held
	End     int64           // end of the buffer; Next < End: there is more to read now
	EOF     bool            // the stream is closed and Next is its end
	Changed <-chan struct{} // closed at the first Write or Close after Data was taken
}

// At returns a copy of up to limit bytes from offset on; limit <= 0 means all of them. Offsets count from the first
// byte of the stream; a negative one counts as 0. An offset beyond the end is reduced to the end: no data, Start =
// Next = End. For example, At(LastLines(10), 0) returns the last ten lines. At does not wait; to wait for more,
// receive from Slice.Changed.
func (b *Buffer) At(offset int64, limit int) Slice { return b.Into(nil, offset, limit) }

// Into is At with the copy in the memory of dst, if that has the capacity for it; nothing is appended to dst. A reader
// that follows the stream, and keeps nothing of it, so allocates once.
func (b *Buffer) Into(dst []byte, offset int64, limit int) Slice {
	offset = max(offset, 0)

	b.mu.Lock()
	defer b.mu.Unlock()
	end := b.start + int64(b.ring.held)
	s := Slice{
		Start:   min(max(offset, b.start), end),
		End:     end,
		Changed: b.changedLocked(),
	}
	s.Dropped = max(b.start-offset, 0)

	from := int(s.Start - b.start)
	n := b.ring.held - from
	if limit > 0 {
		n = min(n, limit)
	}
	if n > 0 {
		older, newer := b.ring.view(from, from+n)
		if s.Data = dst[:0]; cap(dst) < n {
			s.Data = make([]byte, 0, n)
		}
		s.Data = s.Data[:n]
		copy(s.Data[copy(s.Data, older):], newer)
	}
	s.Next = s.Start + int64(n)
	s.EOF = b.closed && s.Next == end
	return s
}

// LastLines returns the offset where the last n lines begin, or the oldest offset held if there are fewer. Lines
// end with '\n'; a trailing partial line counts as one. n <= 0 returns the end of the buffer.
func (b *Buffer) LastLines(n int) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n <= 0 {
		return b.start + int64(b.ring.held)
	}
	return b.start + int64(b.ring.beforeLast(n))
}

// Lines returns a copy of up to n lines after the oldest skip lines, counted as in Stat.Lines, and the offset where
// the copy starts; n <= 0 means all that follow. The lines keep their '\n'. stat is the state at the time of the
// copy.
func (b *Buffer) Lines(skip, n int) (data []byte, start int64, stat Stat) {
	b.mu.Lock()
	defer b.mu.Unlock()
	stat = b.statLocked()
	from, to := b.ring.lineStart(max(skip, 0)), b.ring.held
	if n > 0 && n < stat.Lines {
		to = b.ring.pastNewline(from, to, n)
	}
	older, newer := b.ring.view(from, to)
	data = make([]byte, 0, to-from)
	return append(append(data, older...), newer...), b.start + int64(from), stat
}
