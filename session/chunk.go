package session

import (
	"context"
	"time"

	"ptyctl/buffer"
	"ptyctl/session/output"
	"ptyctl/session/text"
	"ptyctl/term"
	"ptyctl/vt"
)

// A Reason says why a Read stopped.
type Reason string

// The reasons.
const (
	ReasonData     Reason = "data"     // there was something, and no condition was set
	ReasonMatched  Reason = "matched"  // Until, Prompt, or the condition of Screen
	ReasonStable   Reason = "stable"   // Screen.Stable
	ReasonIdle     Reason = "idle"     // Idle
	ReasonInput    Reason = "input"    // WaitFor, or a question in place of Prompt
	ReasonFull     Reason = "full"     // MaxBytes
	ReasonTimeout  Reason = "timeout"  // Timeout, or NoWait
	ReasonEOF      Reason = "eof"      // the stream ended
	ReasonCanceled Reason = "canceled" // the caller's context ended
	ReasonTail     Reason = "tail"     // a snapshot, without waiting
	ReasonLimit    Reason = "limit"    // as many reads wait as may (Config.MaxReads), so this one has not
	ReasonAsked    Reason = "asked"    // the login asks a question, which Session.Question returns; of Await alone
)

// Met reports whether a read has stopped because its condition was met, or at the end: more time would not help.
func (r Reason) Met() bool {
	return r != ReasonTimeout && r != ReasonCanceled && r != ReasonLimit
}

// A Chunk is the result of a Read. It is a value: none of the reasons is an error.
//
// Next is the cursor for the following Read: passing it on reads every byte once. If the buffer dropped bytes before
// they were read, Dropped counts them, and Start is the first byte still held.
type Chunk struct {
	Data    []byte
	Start   int64 // offset of Data[0]
	Next    int64 // cursor to go on from
	Dropped int64 // bytes between the cursor asked for and Start that are no longer held
	Skipped int64 // bytes before Start that ReadRequest.Last left out
	Reason  Reason
	EOF     bool // the stream has ended and Next is its end
	Buffer  buffer.Stat

	Unsearched int64 // bytes that came after Cursor and were dropped before Until was looked for in them
	OwnEcho    bool  // ReadRequest.Echo kept Until from matching

	// Gaps are the cursors where a connection ended and the output of the next one begins, of those that the chunk goes
	// over: from the cursor asked for, or the first byte of a tail, to its end.
	Gaps []int64

	view text.View // of the output that it is a part of
}

// Clean returns the chunk as text for reading. Of a terminal's output that is text without escape sequences, with
// overwritten text in its last state, and safe to show; see package vt. Of a command beside the terminal it is the
// output without colours, as it is if it is not UTF-8. Cursors go on counting raw bytes.
func (k Chunk) Clean() (clean []byte, removed Sanitized) { return k.view.Clean(k.Start, k.Data) }

// Match returns the chunk with only those of its lines that match, as they came or clean. Do not clean it again.
//
// A line that the chunk begins in the midst of is taken whole, as far as it is held. Its last line is taken as it is, and
// again by a read that goes on in it. If Filter.Max cuts the text, the chunk ends before the first line that had no room,
// with ReasonFull.
func (k Chunk) Match(ctx context.Context, f Filter) (Chunk, Filtered) {
	part := k.view.Whole(k.Start, k.Data)
	got := k.view.Filter(ctx, f, part.Start, []output.Part{part}, false)
	k.Data = got.Text
	if got.Full {
		k.Next, k.Reason, k.EOF = max(got.Next, k.Start), ReasonFull, false
	}
	return k, got
}

// Part returns the part of the chunk from one offset to another, both within it.
func (k Chunk) Part(from, to int64) Chunk {
	k.Data, k.Start, k.Next = k.Data[from-k.Start:to-k.Start], from, to
	return k
}

// extract copies the bytes from from to end, as far as they are still held. next is where the following read starts.
func extract(b *buffer.Buffer, from, end, next int64, reason Reason) Chunk {
	c := Chunk{Start: max(from, b.Stat().Start), Reason: reason}
	if end > c.Start {
		sl := b.At(c.Start, int(end-c.Start))
		c.Start = sl.Start // later than asked, if more was dropped meanwhile
		c.Data = sl.Data[:min(max(end-sl.Start, 0), int64(len(sl.Data)))]
	}
	c.Dropped = c.Start - from
	c.Next = max(next, c.Start)
	return c
}

// holdBackPartialRune leaves an incomplete rune at the end of k for the next read. fresh says that the rest of it
// may be on its way.
func (k *Chunk) holdBackPartialRune(fresh bool) {
	n := vt.PartialRune(k.Data)
	if k.Reason == ReasonFull { // the rest is there already, unless MaxBytes has no room for a rune
		fresh = n < len(k.Data)
	}
	if n > 0 && fresh {
		k.Data = k.Data[:len(k.Data)-n]
		k.Next = k.Start + int64(len(k.Data))
	}
}

// tail copies the end of the buffer, whole lines first.
func tail(b *buffer.Buffer, r ReadRequest, reason Reason) Chunk {
	st := b.Stat()
	from := st.Start
	if r.MaxLines > 0 {
		from = max(from, b.LastLines(r.MaxLines))
	}
	if r.MaxBytes > 0 {
		from = max(from, st.End-int64(r.MaxBytes))
	}
	c := extract(b, from, st.End, st.End, reason)
	c.Dropped = 0                           // nothing before was asked for
	if from > st.Start && c.Start == from { // the cut may have fallen into a rune
		c.Data = output.DropRuneRest(c.Data)
		c.Start = c.Next - int64(len(c.Data))
	}
	return c
}

// last is extract for the last most bytes before end; 0: all of them.
func last(b *buffer.Buffer, from, end, next int64, most int, reason Reason) Chunk {
	begin := from
	if most > 0 {
		begin = max(from, end-int64(most))
	}
	c := extract(b, begin, end, next, reason)
	if begin > from {
		data := output.DropRuneRest(c.Data)
		c.Start += int64(len(c.Data) - len(data))
		c.Data = data
	}
	c.Dropped = max(0, min(b.Stat().Start, c.Start)-from)
	c.Skipped = c.Start - from - c.Dropped
	return c
}

// had records that a caller has read c.
func had(ctx context.Context, s *Session, c Chunk, began time.Time) {
	if c.Dropped > 0 {
		s.count.dropped.Add(c.Dropped)
	}
	if c.EOF || c.Next == c.Buffer.End {
		s.count.drained.Store(time.Now().UnixNano())
	}
	s.auth.Observe(
		term.Event{
			Verb:     term.VerbRead,
			Actor:    term.ActorFrom(ctx),
			Size:     len(c.Data),
			Dropped:  c.Dropped,
			Duration: time.Since(began),
		},
	)
}
