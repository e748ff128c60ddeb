package session

import (
	"bytes"
	"context"
	"regexp"
	"regexp/syntax"
	"slices"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"ptyctl/buffer"
	"ptyctl/vt"
)

const (
	// lookBack is how far before the newest bytes a pattern is tried: at least the unfinished line is rescanned,
	// never more than this. A match longer than that, or one that began in a line finished further back, is missed;
	// in a line longer than that, ^ may be taken to match where the look back begins.
	lookBack = 16 << 10

	// runeWait is how long the first bytes of a rune are held back for want of the others. After that they are passed on
	// as they are.
	runeWait = time.Second
)

// A waiter follows a buffer until a condition of its request is met. It runs in the reader's goroutine, never in
// the pump's, so that a costly pattern slows only the one who asked for it.
type waiter struct {
	b          *buffer.Buffer
	newest     *atomic.Int64 // when the newest byte arrived, in Unix nanoseconds
	waiting    *semaphore    // of the reads that wait
	r          ReadRequest
	from       int64 // the request's cursor
	conditions bool

	until   pattern // of r.Until
	scanned int64   // everything before was searched for it
}

// wait returns why it stopped, the end of the data to return, and where the next read starts.
func (w *waiter) wait(ctx context.Context) (reason Reason, end, next int64) {
	if w.r.Until != nil {
		w.until, w.scanned = newPattern(w.r.Until), w.from
	}
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
	entered := false
	defer func() {
		if entered {
			w.waiting.leave()
		}
	}()
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
		if !entered && w.r.Timeout > 0 { // one that does not wait needs no place
			if entered = w.waiting.enter(); !entered {
				return ReasonLimit, st.End, st.End
			}
		}
		var runeC <-chan time.Time
		if !w.conditions && st.End > w.from { // nothing but the start of a rune
			runeC = time.After(runeWait - age(w.newest))
		}
		select {
		case <-changed:
		case <-idleC:
			if w.b.Stat().End > seen {
				continue // the search took longer than Idle, and something arrived meanwhile
			}
			return ReasonIdle, st.End, st.End
		case <-runeC:
			return ReasonData, st.End, st.End
		case <-deadline.C:
			return ReasonTimeout, st.End, st.End
		case <-ctx.Done():
			return ReasonCanceled, st.End, st.End
		}
	}
}

// age is the time since t, which is in Unix nanoseconds.
func age(t *atomic.Int64) time.Duration { return time.Since(time.Unix(0, t.Load())) }

// look tries the conditions on the buffer as st describes it.
func (w *waiter) look(st buffer.Stat) (reason Reason, end, next int64, ok bool) {
	begin := max(w.from, st.Start)
	limit := int64(w.r.MaxBytes)
	full := !w.r.Tail && limit > 0 && st.End-begin >= limit
	if w.r.Until != nil {
		if start, stop, ok := w.match(st); ok && (!full || stop <= begin+limit) {
			if w.r.ExcludeMatch {
				return ReasonMatched, max(start, w.from), stop, true
			}
			return ReasonMatched, stop, stop, true
		}
	}
	switch {
	case full:
		return ReasonFull, begin + limit, begin + limit, true
	case len(w.r.WaitFor) > 0 && w.waitsForInput(st.End):
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
	p := w.b.At(w.from, utf8.UTFMax).Data
	return len(p) > 0 && partialRune(p) == len(p)
}

// match looks for Until in the bytes since the last call, and in as many before them as a match may need. A match
// counts if it ends beyond the request's cursor.
func (w *waiter) match(st buffer.Stat) (start, stop int64, ok bool) {
	sl := w.window(w.scanned, st.End, w.until.spansLines)
	w.scanned = st.End
	if !st.Closed { // a match must not end inside a rune
		sl.Data = sl.Data[:len(sl.Data)-partialRune(sl.Data)]
	}
	at := func(loc []int) (int64, int64, bool) {
		return sl.Start + int64(loc[0]), sl.Start + int64(loc[1]), true
	}
	loc := w.until.re.FindIndex(sl.Data)
	if loc == nil {
		return 0, 0, false
	}
	if sl.Start+int64(loc[1]) > w.from {
		return at(loc)
	}
	// The first match lies before the cursor: it was there when the caller asked. Look at the others.
	for _, loc := range w.until.re.FindAllIndex(sl.Data, -1) {
		if sl.Start+int64(loc[1]) > w.from {
			return at(loc)
		}
	}
	return 0, 0, false
}

// window returns the bytes up to end, from the start of the line that contains offset, going back at most lookBack;
// with whole set it goes back as far as that, to the start of the first line there.
func (w *waiter) window(offset, end int64, whole bool) buffer.Slice {
	from := max(offset-lookBack, 0)
	sl := w.b.At(from, int(end-from))
	before := sl.Data[:min(max(offset-sl.Start, 0), int64(len(sl.Data)))]
	cut := 0
	switch {
	case !whole:
		cut = bytes.LastIndexByte(before, '\n') + 1
	case sl.Start > 0:
		cut = bytes.IndexByte(before, '\n') + 1
	}
	sl.Data, sl.Start = sl.Data[cut:], sl.Start+int64(cut)
	return sl
}

// waitsForInput reports whether the unfinished last line, as a person sees it, matches one of WaitFor, and something
// of it came after the cursor.
func (w *waiter) waitsForInput(end int64) bool {
	if end <= w.from {
		return false
	}
	sl := w.window(end, end, false)
	line := vt.LastLine(sl.Data)
	for _, re := range w.r.WaitFor {
		if loc := re.FindIndex(sl.Data); loc != nil && sl.Start+int64(loc[1]) > w.from {
			return true
		}
		// The text that a shell draws behind its prompt cannot be seen: the pattern's $ means the end of the visible part.
		if loc := re.FindStringIndex(line); loc != nil && loc[1] == len(line) {
			return true
		}
	}
	return false
}

// A pattern is a regular expression prepared for searches in a window of a stream that goes on.
//
// A window begins at the start of a line, which is not the start of the stream. So that the outcome does not depend on
// where windows begin, ^ and \A mean the start of a line, with or without (?m). Without it, $ and \z mean the end of
// the output so far.
type pattern struct {
	re         *regexp.Regexp
	spansLines bool // a match may contain a line end
}

// newPattern prepares re for searches in a window. An expression that cannot be parsed again, as with POSIX syntax, is
// used as it is and is assumed to span lines: that costs time, never a match.
func newPattern(re *regexp.Regexp) pattern {
	parsed, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil { // only POSIX syntax allows it
		return pattern{re, true}
	}
	p := pattern{re, canMatchNewline(parsed)}
	if anchorToLines(parsed) {
		if lines, err := regexp.Compile(parsed.String()); err == nil {
			p.re = lines
		}
	}
	return p
}

// anchorToLines replaces "start of text" by "start of line" in re, and reports whether there was any.
func anchorToLines(re *syntax.Regexp) (found bool) {
	if re.Op == syntax.OpBeginText {
		re.Op, found = syntax.OpBeginLine, true
	}
	for _, sub := range re.Sub {
		if anchorToLines(sub) {
			found = true
		}
	}
	return found
}

// canMatchNewline reports whether a match of re may contain a line end. If it cannot, a
// search needs to go back only to the start of the line that it begins in.
func canMatchNewline(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar:
		return true
	case syntax.OpLiteral:
		if slices.Contains(re.Rune, '\n') {
			return true
		}
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if re.Rune[i] <= '\n' && '\n' <= re.Rune[i+1] {
				return true
			}
		}
	}
	return slices.ContainsFunc(re.Sub, canMatchNewline)
}
