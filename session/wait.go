package session

import (
	"context"
	"regexp"
	"regexp/syntax"
	"time"
	"unicode/utf8"

	"ptyctl/buffer"
)

// lookBack is how far before the newest bytes a pattern is tried: at least the unfinished line is rescanned,
// never more than this. A match longer than that, or one that began in a line finished further back, is missed.
const lookBack = 16 << 10

// A waiter follows a buffer until a condition of its request is met. It runs in the reader's goroutine, never in
// the pump's, so that a costly pattern slows only the one who asked for it.
type waiter struct {
	b          *buffer.Buffer
	r          ReadRequest
	from       int64 // the request's cursor
	conditions bool

	scanned int64 // everything before was searched for Until
}

// wait returns why it stopped, the end of the data to return, and where the next read starts.
func (w *waiter) wait(ctx context.Context) (reason Reason, end, next int64) {
	w.scanned = w.from
	deadline := time.NewTimer(max(w.r.Timeout, 0))
	defer deadline.Stop()
	var idle *time.Timer
	var idleC <-chan time.Time
	if w.r.Idle > 0 {
		idle = time.NewTimer(w.r.Idle)
		defer idle.Stop()
		idleC = idle.C
	}
	seen := w.from
	for {
		changed := w.b.Changed()
		st := w.b.Stat()
		if st.End > seen {
			seen = st.End
			if idle != nil {
				idle.Reset(w.r.Idle)
			}
			if reason, end, next, ok := w.look(st); ok {
				return reason, end, next
			}
		}
		if st.Closed {
			return ReasonEOF, st.End, st.End
		}
		select {
		case <-changed:
		case <-idleC:
			return ReasonIdle, st.End, st.End
		case <-deadline.C:
			return ReasonTimeout, st.End, st.End
		case <-ctx.Done():
			return ReasonCanceled, st.End, st.End
		}
	}
}

// look tries the conditions on the buffer as st describes it.
func (w *waiter) look(st buffer.Stat) (reason Reason, end, next int64, ok bool) {
	full := st.End + 1
	if !w.r.Tail && w.r.MaxBytes > 0 {
		full = w.from + int64(w.r.MaxBytes)
	}
	if w.r.Until != nil {
		if start, stop, ok := w.match(st.End); ok && stop <= full {
			if w.r.ExcludeMatch {
				return ReasonMatched, max(start, w.from), stop, true
			}
			return ReasonMatched, stop, stop, true
		}
	}
	switch {
	case st.End >= full:
		return ReasonFull, full, full, true
	case len(w.r.WaitFor) > 0 && w.waitsForInput(st.End):
		return ReasonInput, st.End, st.End, true
	case !w.conditions && !w.onlyPartialRune(st):
		return ReasonData, st.End, st.End, true
	}
	return "", 0, 0, false
}

// onlyPartialRune reports whether the first bytes of a rune are all there is beyond the cursor.
func (w *waiter) onlyPartialRune(st buffer.Stat) bool {
	if st.Closed || st.End-w.from >= utf8.UTFMax {
		return false
	}
	p := w.b.At(w.from, utf8.UTFMax).Data
	return len(p) > 0 && p[0] >= utf8.RuneSelf && utf8.RuneStart(p[0]) && !utf8.FullRune(p)
}

// match looks for Until in what has arrived since the last call, and in as much before it as a match may need.
// A match counts if it ends beyond the request's cursor.
func (w *waiter) match(end int64) (start, stop int64, ok bool) {
	sl := w.window(w.scanned, end, spansLines(w.r.Until))
	w.scanned = end
	at := func(loc []int) (int64, int64, bool) {
		return sl.Start + int64(loc[0]), sl.Start + int64(loc[1]), true
	}
	loc := w.r.Until.FindIndex(sl.Data)
	if loc == nil {
		return 0, 0, false
	}
	if sl.Start+int64(loc[1]) > w.from {
		return at(loc)
	}
	// The first match lies before the cursor: it was there when the caller asked. Look at the others.
	for _, loc := range w.r.Until.FindAllIndex(sl.Data, -1) {
		if sl.Start+int64(loc[1]) > w.from {
			return at(loc)
		}
	}
	return 0, 0, false
}

// window returns the bytes from the start of the line that offset stands in up to end, going back at most
// lookBack; with whole set it goes back as far as that in any case.
func (w *waiter) window(offset, end int64, whole bool) buffer.Slice {
	from := max(offset-lookBack, 0)
	sl := w.b.At(from, int(end-from))
	if whole {
		return sl
	}
	cut := 0
	for i := int(offset-sl.Start) - 1; i >= 0; i-- {
		if sl.Data[i] == '\n' {
			cut = i + 1
			break
		}
	}
	sl.Data, sl.Start = sl.Data[cut:], sl.Start+int64(cut)
	return sl
}

// waitsForInput reports whether the unfinished last line matches one of WaitFor.
func (w *waiter) waitsForInput(end int64) bool {
	sl := w.window(end, end, false)
	for _, re := range w.r.WaitFor {
		if loc := re.FindIndex(sl.Data); loc != nil && sl.Start+int64(loc[1]) > w.from {
			return true
		}
	}
	return false
}

// spansLines reports whether a match of re may contain a line end.
func spansLines(re *regexp.Regexp) bool {
	parsed, err := syntax.Parse(re.String(), syntax.Perl)
	return err != nil || canMatchNewline(parsed)
}

func canMatchNewline(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar:
		return true
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r == '\n' {
				return true
			}
		}
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if re.Rune[i] <= '\n' && '\n' <= re.Rune[i+1] {
				return true
			}
		}
	}
	for _, sub := range re.Sub {
		if canMatchNewline(sub) {
			return true
		}
	}
	return false
}
