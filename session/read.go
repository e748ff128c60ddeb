package session

import (
	"context"
	"regexp"
	"time"
	"unicode/utf8"

	"ptyctl/buffer"
)

// Latest is the cursor that stands for "from now on".
const Latest int64 = -1

// A ReadRequest says what to read and when to stop waiting for it.
//
// With none of Until, Idle and WaitFor, Read returns as soon as there is anything after Cursor. With any of
// them it goes on until one is met. In every case it stops at Timeout, at the end of the stream, when ctx ends,
// and (unless Tail is set) when MaxBytes are there to be returned.
type ReadRequest struct {
	Cursor   int64 // offset of the first byte wanted, or Latest; Tail without conditions ignores it
	Tail     bool  // return the end of what is buffered instead of what follows Cursor
	MaxBytes int   // most bytes to return; 0: no limit but the buffer's
	MaxLines int   // Tail: most lines to return; 0: no limit
	Timeout  time.Duration

	Until        *regexp.Regexp   // stop after its first match that ends beyond Cursor
	ExcludeMatch bool             // leave the match out of Data; Next is behind it all the same
	Idle         time.Duration    // stop when nothing arrived for so long, counted from the call at the earliest
	WaitFor      []*regexp.Regexp // stop when the unfinished last line matches one: something waits for input
}

// A Reason says why a Read stopped.
type Reason string

// The reasons.
const (
	ReasonData     Reason = "data"     // there was something, and no condition was set
	ReasonMatched  Reason = "matched"  // Until
	ReasonIdle     Reason = "idle"     // Idle
	ReasonInput    Reason = "input"    // WaitFor
	ReasonFull     Reason = "full"     // MaxBytes
	ReasonTimeout  Reason = "timeout"  // Timeout
	ReasonEOF      Reason = "eof"      // the stream ended
	ReasonCanceled Reason = "canceled" // the caller's context ended
	ReasonTail     Reason = "tail"     // a snapshot, without waiting
)

// A Chunk is what a Read returns. It is a value: none of the reasons is an error.
type Chunk struct {
	Data    []byte
	Start   int64 // offset of Data[0]
	Next    int64 // cursor to go on from
	Dropped int64 // bytes between the cursor asked for and Start that are no longer held
	Reason  Reason
	EOF     bool // the stream has ended and Next is its end
	Buffer  buffer.Stat
}

// Read waits as r says and returns what there is. It never affects another reader, nor the terminal.
func (s *Session) Read(ctx context.Context, r ReadRequest) Chunk {
	s.count.readers.Add(1)
	defer s.count.readers.Add(-1)
	c := read(ctx, s.buf, r)
	if c.Dropped > 0 {
		s.count.dropped.Add(c.Dropped)
	}
	if c.EOF || c.Next == c.Buffer.End {
		s.count.drained.Store(time.Now().UnixNano())
	}
	return c
}

// End returns the cursor of the next byte to come.
func (s *Session) End() int64 { return s.buf.Stat().End }

// read is Read on any buffer: a session's, or a stream of an exec.
func read(ctx context.Context, b *buffer.Buffer, r ReadRequest) Chunk {
	from := r.Cursor
	if from < 0 {
		from = b.Stat().End
	}
	conditions := r.Until != nil || r.Idle > 0 || len(r.WaitFor) > 0
	if r.Tail && !conditions {
		return tail(b, r, ReasonTail)
	}
	w := waiter{b: b, r: r, from: from, conditions: conditions}
	reason, end, next := w.wait(ctx)
	if r.Tail {
		return tail(b, r, reason)
	}
	return extract(b, from, end, next, reason)
}

// extract copies the bytes from from to end. next is where the following read starts.
func extract(b *buffer.Buffer, from, end, next int64, reason Reason) Chunk {
	c := Chunk{Start: from, Next: next, Reason: reason}
	if end > from {
		sl := b.At(from, int(end-from))
		c.Data, c.Start, c.Dropped = sl.Data, sl.Start, sl.Dropped
		switch {
		case sl.Dropped == 0:
		case reason == ReasonMatched: // nothing beyond the match, of which some may be gone
			c.Data = c.Data[:min(max(end-sl.Start, 0), int64(len(c.Data)))]
			c.Next = max(next, sl.Start)
		default: // what was dropped made room for what follows
			c.Next = sl.Next
		}
	}
	c.finish(b)
	return c
}

// finish describes the buffer in c and sees to it that c ends with a whole rune.
func (c *Chunk) finish(b *buffer.Buffer) {
	c.Buffer = b.Stat()
	c.EOF = c.Buffer.Closed && c.Next >= c.Buffer.End
	if !c.EOF && c.Reason != ReasonMatched {
		c.holdBackPartialRune()
	}
}

// holdBackPartialRune leaves an incomplete UTF-8 sequence at the end for the next read, so that a chunk never
// ends inside a rune while more may come. A chunk that is nothing else is returned as it is.
func (c *Chunk) holdBackPartialRune() {
	if n := partialRune(c.Data); n > 0 && n < len(c.Data) {
		c.Data = c.Data[:len(c.Data)-n]
		c.Next = c.Start + int64(len(c.Data))
	}
}

// tail copies the end of the buffer, whole lines first.
func tail(b *buffer.Buffer, r ReadRequest, reason Reason) Chunk {
	st := b.Stat()
	from := st.Start
	if r.MaxLines > 0 {
		from = b.LastLines(r.MaxLines)
	}
	if r.MaxBytes > 0 && st.End-from > int64(r.MaxBytes) {
		from = st.End - int64(r.MaxBytes)
	}
	sl := b.At(from, 0)
	c := Chunk{Data: sl.Data, Start: sl.Start, Next: sl.Next, Reason: reason}
	if from > st.Start { // the cut may have fallen into a rune
		for len(c.Data) > 0 && !utf8.RuneStart(c.Data[0]) && c.Start-from < utf8.UTFMax-1 {
			c.Data, c.Start = c.Data[1:], c.Start+1
		}
	}
	if over := len(c.Data) - r.MaxBytes; r.MaxBytes > 0 && over > 0 {
		c.Data, c.Start = c.Data[over:], c.Start+int64(over)
	}
	c.finish(b)
	return c
}
