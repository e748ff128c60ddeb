package session

import (
	"context"
	"regexp"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"ptyctl/buffer"
	"ptyctl/session/display"
	"ptyctl/session/match"
	"ptyctl/session/output"
	"ptyctl/session/prompt"
	"ptyctl/session/text"
	"ptyctl/vt"
)

// Latest is the cursor for "from now on".
const Latest int64 = -1

// A ReadRequest describes the output to read and when to stop waiting for it.
//
// With none of Until, Idle, WaitFor, Prompt and Screen, Read returns as soon as there is anything after Cursor. With any of
// them it goes on until one is met. In every case it stops at Timeout, at the end of the stream, when ctx ends,
// and (unless Tail is set) when MaxBytes are there to be returned. The zero value waits for new output until ctx ends.
type ReadRequest struct {
	Cursor   int64         // first byte wanted; Latest or past the end: from now on; no effect if Tail needs no waiting
	Tail     bool          // return the end of the buffered output, not the bytes after Cursor
	MaxBytes int           // most bytes to return; 0: no limit but the buffer's
	MaxLines int           // Tail: most lines to return; 0: no limit
	Timeout  time.Duration // the longest to wait; 0: until ctx ends; negative: as NoWait
	NoWait   bool          // take the present output; see Within

	// Until stops after its first match that ends beyond Cursor, however the match was cut into writes. In it, ^ is the
	// start of any line, and $ (without (?m)) the end of the output so far, or of any line behind a letter or a digit; see
	// package match. Bytes that the buffer dropped before the search are counted in Chunk.Unsearched.
	Until        *regexp.Regexp
	Clean        bool             // Until matches the text that Chunk.Clean returns, not the bytes
	Echo         Echo             // of a write: the lines that show it do not match Until; see WriteResult
	ExcludeMatch bool             // leave the match out of Data; Next is still behind it
	Idle         time.Duration    // stop when nothing arrived for so long, counted from the call at the earliest
	WaitFor      []*regexp.Regexp // stop when the unfinished last line matches one: something waits for input
	End          bool             // stop at the end alone: of the stream, in Await of the session

	// Prompt stops when the last line rests and is the prompt of a shell, a device or an interpreter: Expect.Prompt,
	// one that was learned, or one that looks like it. It stops with ReasonInput when the line asks a question
	// instead: no prompt comes before the answer. With a Cursor, only output behind it counts; with Latest, a prompt
	// that is already there counts. The streams of an exec have none.
	Prompt bool

	// Screen stops when the screen shows something, with ReasonMatched, or is at rest, with ReasonStable. The present
	// screen counts, but with a Cursor only once there is output behind that, or none has come for 1.5 s: the answer
	// to a write takes time. Set Tail or Last, or MaxBytes may stop the read before. The streams of an exec have no
	// screen.
	Screen ScreenWait

	// Last returns the last MaxBytes of the output before the stop, and not the first. MaxBytes then never stops a
	// Read.
	Last bool
}

// Within returns r with d, the rest of some time, to wait: no wait if nothing is left.
func (r ReadRequest) Within(d time.Duration) ReadRequest {
	r.Timeout, r.NoWait = d, d <= 0
	return r
}

// An Echo is the text of a write as a terminal may show it. The zero value is nothing.
type Echo = match.Echo

// Read waits as r says and returns the output. It never affects another reader, nor the terminal.
//
// Data does not end inside a rune that may still be completed: its first bytes are left for the next read until the
// rest has come, the stream has ended, or a second has passed. Only a MaxBytes smaller than a rune cuts it.
func (s *Session) Read(ctx context.Context, r ReadRequest) Chunk {
	began := time.Now()
	c := sourceOf(s).read(ctx, r)
	had(ctx, s, c, began)
	return c
}

// AwaitRead is Session.Read for a caller that waits in several places until one of them is enough; package await
// joins them. met is false if r's time was over, ctx ended or too many reads wait (ReasonLimit): no output is
// returned then, and nothing counts as read.
//
// While the session logs in, a question ends the wait too (ReasonAsked): it may be for the caller to answer.
func (v SessionView) AwaitRead(ctx context.Context, r ReadRequest) (c Chunk, met bool) {
	s := v.s
	began := time.Now()
	in := sourceOf(s)
	in.asks = s.life.asks
	if r.End {
		in.over = s.life.over
	}
	c = in.read(ctx, r)
	if !c.Reason.Met() {
		return Chunk{Reason: c.Reason}, false
	}
	had(ctx, s, c, began)
	return c, true
}

// End returns the cursor of the next byte to come.
func (s *Session) End() int64 { return s.buf.Stat().End }

// A source is read from: a session's output, or a stream of an exec.
type source struct {
	view     text.View
	newest   *atomic.Int64                  // when the newest byte arrived, in Unix nanoseconds
	waiting  *semaphore                     // of the reads that wait
	readers  *atomic.Int64                  // counts those of them that read here; nil: they are not counted
	isPrompt func(line string) bool         // whether a line looks like a shell's prompt
	sight    func() (Reason, time.Duration) // see sightOf; nil: it is no terminal

	watch func(ScreenWait) *display.Watch // the screen; nil: no screen

	asks func() (asked bool, changed <-chan struct{}) // whether a login asks, and when that may change; nil: none does
	over <-chan struct{}                              // closed at the end that r.End means; nil: that of the stream
}

// sourceOf returns the session's output.
func sourceOf(s *Session) source {
	return source{
		view: s.view(), newest: &s.count.lastRx, waiting: s.o.managed.limits.reads, readers: &s.count.readers,
		isPrompt: func(line string) bool { return s.prompts.IsLearned(line) || prompt.Looks(line) },
		sight:    func() (Reason, time.Duration) { return sightOf(s) },
		watch:    s.display.Watch,
	}
}

// enter takes a place among the reads that wait, and counts the read from then on: who sees that a read waits sees a
// place that is taken. It reports false if there is no place.
func (in source) enter() bool {
	entered := in.waiting.enter()
	if entered && in.readers != nil {
		in.readers.Add(1)
	}
	return entered
}

// leave gives the place back.
func (in source) leave() {
	in.waiting.leave()
	if in.readers != nil {
		in.readers.Add(-1)
	}
}

// read is Read on any source.
func (in source) read(ctx context.Context, r ReadRequest) Chunk {
	var c Chunk
	b := in.view.Buffer
	conditions := r.Until != nil || r.Idle > 0 || len(r.WaitFor) > 0 || r.Prompt || r.End || r.Screen.Any()
	if r.Tail && !conditions {
		c = tail(b, r, ReasonTail)
	} else {
		from := b.Stat().End
		if r.Cursor >= 0 {
			from = min(from, r.Cursor)
		}
		w := waiter{source: in, r: r, from: from, conditions: conditions}
		switch reason, end, next := w.wait(ctx); {
		case r.Tail:
			c = tail(b, r, reason)
		case r.Last:
			c = last(b, from, end, next, r.MaxBytes, reason)
		default:
			c = extract(b, from, end, next, reason)
		}
		if w.until != nil {
			c.Unsearched, c.OwnEcho = w.until.Unsearched(), c.Reason != ReasonMatched && w.until.OwnEcho()
		}
	}
	c.view, c.Buffer = in.view, b.Stat()
	c.EOF = c.Buffer.Closed && c.Next >= c.Buffer.End
	if !c.EOF && c.Reason != ReasonMatched {
		c.holdBackPartialRune(age(in.newest) < runeWait)
	}
	c.Gaps = b.Breaks(c.Start-c.Dropped-c.Skipped, c.Next)
	return c
}

// runeWait is how long the first bytes of a rune are held back for want of the others. After that they are passed on as
// they are.
const runeWait = time.Second

// A waiter follows a buffer until a condition of its request is met. It runs in the reader's goroutine, never in
// the pump's, so that a costly pattern slows only the one who asked for it.
type waiter struct {
	source
	r          ReadRequest
	from       int64 // the request's cursor
	conditions bool

	until *match.Stream  // of r.Until; nil: none
	shown *display.Watch // of r.Screen; nil: none
}

// wait returns why it stopped, the end of the data to return, and where the next read starts.
func (w *waiter) wait(ctx context.Context) (reason Reason, end, next int64) {
	began := time.Now()
	w.follow()
	waits := !w.r.NoWait && w.r.Timeout >= 0
	var over <-chan time.Time // nil, and so never, if ctx alone limits the wait
	if !waits || w.r.Timeout > 0 {
		limit := w.r.Timeout
		if !waits {
			limit = 0
		}
		deadline := time.NewTimer(limit)
		defer deadline.Stop()
		over = deadline.C
	}
	var idle *time.Timer
	var idleC <-chan time.Time
	if w.r.Idle > 0 {
		idle = time.NewTimer(w.r.Idle)
		defer idle.Stop()
		idleC = idle.C
	}
	seen := w.from
	silent := w.silence()
	// Only a read that has to wait takes a place, and at most one.
	entered := false
	defer func() {
		if entered {
			w.leave()
		}
	}()
	for {
		// Before the state: a write between the two has then closed the channel already.
		changed := w.view.Buffer.Changed()
		st := w.view.Buffer.Stat()
		var turned <-chan struct{}
		if w.asks != nil {
			var asked bool
			if asked, turned = w.asks(); asked {
				return ReasonAsked, st.End, st.End
			}
		}
		if st.End > seen {
			seen = st.End
			if idle != nil {
				idle.Reset(w.r.Idle)
			}
			if reason, end, next, ok := w.look(st); ok {
				return reason, end, next
			}
			if silent > 0 {
				silent = 0
				w.shown.Restart()
			}
		}
		var drawn <-chan struct{}
		var stableC <-chan time.Time
		if left := silent - time.Since(began); left > 0 {
			stableC = time.After(left)
		} else if w.shown != nil {
			met, rest, changed := w.shown.Look()
			switch met {
			case display.Shown:
				return ReasonMatched, st.End, st.End
			case display.Settled:
				return ReasonStable, st.End, st.End
			}
			if drawn = changed; rest > 0 {
				stableC = time.After(rest)
			}
		}
		if st.Closed && w.ended() {
			return ReasonEOF, st.End, st.End
		}
		var sightC <-chan time.Time
		if w.r.Prompt && w.sight != nil && (w.r.Cursor < 0 || st.End > w.from) {
			reason, rest := w.sight()
			if reason != "" {
				return reason, st.End, st.End
			}
			if rest > 0 {
				sightC = time.After(rest)
			}
		}
		if st.Closed {
			changed = nil // it is closed for good, and the end to wait for comes later
		}
		if !entered && waits { // one that does not wait needs no place
			if entered = w.enter(); !entered {
				return ReasonLimit, st.End, st.End
			}
		}
		var runeC <-chan time.Time
		if !w.conditions && st.End > w.from { // nothing but the start of a rune
			runeC = time.After(runeWait - age(w.newest))
		}
		select {
		case <-changed:
		case <-sightC:
		case <-drawn:
		case <-stableC:
		case <-turned:
		case <-w.over:
		case <-idleC:
			if w.view.Buffer.Stat().End > seen {
				continue // the search took longer than Idle, and something arrived meanwhile
			}
			return ReasonIdle, st.End, st.End
		case <-runeC:
			return ReasonData, st.End, st.End
		case <-over:
			return ReasonTimeout, st.End, st.End
		case <-ctx.Done():
			return ReasonCanceled, st.End, st.End
		}
	}
}

// ended reports whether a stream that is closed is the end that the read waits for.
func (w *waiter) ended() bool {
	if w.over == nil {
		return true
	}
	select {
	case <-w.over:
		return true
	default:
		return false
	}
}

// answerWait is how long the screen may stay as it was before a write until it counts as the answer. A program that uses
// ncurses waits for a second after esc, in which the rest of another key may come.
const answerWait = 1500 * time.Millisecond

// silence returns how long the screen does not count for want of output behind the cursor.
func (w *waiter) silence() time.Duration {
	if w.shown == nil || w.r.Cursor < 0 {
		return 0
	}
	return max(answerWait, w.r.Screen.Stable)
}

// follow makes ready to look for r.Until and r.Screen.
func (w *waiter) follow() {
	if w.r.Screen.Any() && w.watch != nil {
		w.shown = w.watch(w.r.Screen)
	}
	if w.r.Until != nil {
		w.until = match.New(w.view.Buffer, match.Options{
			Pattern: match.Compile(w.r.Until), From: w.from,
			Clean: w.r.Clean, Cols: w.view.Cols, NoTerminal: w.view.NoTerminal, Echo: w.r.Echo, IsPrompt: w.isPrompt,
		})
	}
}

// look tries the conditions on the buffer as st describes it.
func (w *waiter) look(st buffer.Stat) (reason Reason, end, next int64, ok bool) {
	begin := max(w.from, st.Start)
	limit := int64(w.r.MaxBytes)
	first := !w.r.Tail && !w.r.Last && limit > 0 // output that does not fit is for another read
	full := first && st.End-begin >= limit
	if w.until != nil {
		start, stop, ok := w.until.Look() // in all that has arrived, which may be more than st says
		switch {
		case ok && first && stop > begin+limit:
			full = true
		case ok && w.r.ExcludeMatch:
			return ReasonMatched, max(start, w.from), stop, true
		case ok:
			return ReasonMatched, stop, stop, true
		}
	}
	switch {
	case full:
		return ReasonFull, begin + limit, begin + limit, true
	case len(w.r.WaitFor) > 0 && output.Waits(w.view.Buffer, st, w.from, w.r.WaitFor):
		return ReasonInput, st.End, st.End, true
	case !w.conditions && !w.onlyPartialRune(st):
		return ReasonData, st.End, st.End, true
	}
	return "", 0, 0, false
}

// onlyPartialRune reports whether the first bytes of a rune are all there is beyond the cursor, and more may come.
func (w *waiter) onlyPartialRune(st buffer.Stat) bool {
	if st.Closed || st.End-w.from >= utf8.UTFMax {
		return false
	}
	p := w.view.Buffer.At(w.from, utf8.UTFMax).Data
	return len(p) > 0 && vt.PartialRune(p) == len(p)
}

// age is the time since t, which is in Unix nanoseconds.
func age(t *atomic.Int64) time.Duration { return time.Since(time.Unix(0, t.Load())) }
