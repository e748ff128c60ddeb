package display

import (
	"bytes"
	"regexp"
	"time"

	"ptyctl/screen"
)

// A Point is a place on the screen. Rows and columns count from 1, as in the text that people and models read. A Col of
// 0 is any column, a Row of 0 no place at all.
type Point struct{ Row, Col int }

// A Wait is a list of conditions on a screen, the first of its members that is met. The zero value waits for nothing. Only
// complete frames count while a program draws them between DECSET and DECRST 2026.
type Wait struct {
	// Shows matches a row, a line that wraps over several rows, or all rows joined by line feeds; box drawing also as
	// -, | and +. Rows have no blanks at their end, except before the cursor: a prompt ends with one. It is met at
	// once if the screen shows it already.
	Shows *regexp.Regexp
	Typed string // lines that end with this text, which the caller has typed and entered, do not count for Shows; "": all do

	// Stable is how long nothing on the screen must have changed, counted from the call, or from Watch.Restart, at the
	// earliest. The end of a frame that has changed something is enough: a program that draws in frames says itself when
	// it is done. An empty alternate screen is not at rest for a second: its program has only begun.
	Stable time.Duration

	Cursor Point // the cursor is there
}

// Any reports whether w waits for anything.
func (w Wait) Any() bool { return w.Shows != nil || w.Stable > 0 || w.Cursor.Row > 0 }

// Met is the condition that a wait has met.
type Met uint8

// The conditions.
const (
	Nothing Met = iota
	Shown       // Wait.Shows, or Wait.Cursor
	Settled     // Wait.Stable
)

// A Watch follows the screen for one Wait. Only one goroutine may use it.
type Watch struct {
	d    *Display
	wait Wait

	begun  uint64    // hash of the screen at the beginning
	frames uint64    // completed before the beginning
	since  time.Time // the last change

	shown   uint64 // of the last look
	hash    uint64
	drawing bool
	starts  bool // the program has switched to the alternate screen, and drawn nothing
}

// startWait is how long an empty alternate screen may be about to be drawn.
const startWait = time.Second

// Watch begins a wait.
func (d *Display) Watch(w Wait) *Watch {
	d.mu.Lock()
	defer d.mu.Unlock()
	x := &Watch{d: d, wait: w, since: time.Now(), frames: d.draw().Frames()}
	_, x.begun = d.screen.Peek()
	x.hash, x.shown = x.begun, d.shown-1
	return x
}

// Look reports the condition that the wait has met. If that is Nothing, look again when changed is closed, or after rest if that is
// positive.
func (x *Watch) Look() (met Met, rest time.Duration, changed <-chan struct{}) {
	now, frames, end, changed := x.peek()
	if now != nil {
		w := x.wait
		if w.Shows != nil && w.shows(now) {
			return Shown, 0, nil
		}
		if at := now.Cursor; w.Cursor.Row == at.Row+1 && (w.Cursor.Col <= 0 || w.Cursor.Col == at.Col+1) {
			return Shown, 0, nil
		}
	}
	if x.drawing {
		return Nothing, max(time.Until(end), 1), changed
	}
	if x.wait.Stable <= 0 {
		return Nothing, 0, changed
	}
	if frames > x.frames && x.hash != x.begun {
		return Settled, 0, nil
	}
	stable := x.wait.Stable
	if x.starts {
		stable = max(stable, startWait)
	}
	if rest = stable - time.Since(x.since); rest <= 0 {
		return Settled, 0, nil
	}
	return Nothing, rest, changed
}

// Restart has Wait.Stable counted from now at the earliest.
func (x *Watch) Restart() { x.since = time.Now() }

// peek returns the screen, or nil if it is as at the last look, how many frames were completed, and when one that is
// being drawn ends by itself.
func (x *Watch) peek() (now *screen.Snapshot, frames uint64, end time.Time, changed <-chan struct{}) {
	d := x.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.changed == nil {
		d.changed = make(chan struct{})
	}
	s := d.draw()
	end = s.FrameEnd()
	same := x.shown == d.shown && x.drawing == !end.IsZero()
	x.shown, x.drawing = d.shown, !end.IsZero()
	if !same {
		var hash uint64
		if now, hash = s.Peek(); hash != x.hash {
			x.hash, x.since = hash, time.Now()
		}
		x.starts = now.AltScreen && empty(&now.Lines)
	}
	return now, s.Frames(), end, d.changed
}

// empty reports whether no row has text.
func empty(l *screen.Lines) bool {
	var row []byte
	for y := range l.Rows {
		if row = l.AppendRow(row[:0], y); len(row) > 0 {
			return false
		}
	}
	return true
}

// shows reports whether the screen fulfils w.
func (w Wait) shows(s *screen.Snapshot) bool {
	blanks := blanksBefore(s)
	row := func(text func([]byte, int) []byte) func([]byte, int) []byte {
		return func(dst []byte, y int) []byte {
			if dst = text(dst, y); y == s.Cursor.Row {
				dst = append(dst, bytes.Repeat([]byte(" "), blanks)...)
			}
			return dst
		}
	}
	return w.matches(&s.Lines, row(s.AppendRow)) || w.matches(&s.Lines, row(s.AppendFolded))
}

// blanksBefore counts the blanks between the text of the cursor's row and the cursor.
func blanksBefore(s *screen.Snapshot) (n int) {
	for col := s.Cursor.Col - 1; col >= 0; col-- {
		if c := s.Cell(s.Cursor.Row, col); c.Rune != ' ' || c.Width != 1 || c.Cluster != "" {
			break
		}
		n++
	}
	for col := s.Cursor.Col; n > 0 && col < s.Cols; col++ {
		if s.Cell(s.Cursor.Row, col).Rune != ' ' { // the text goes on behind the cursor
			return 0
		}
	}
	return n
}

// matches looks for the pattern in each row, in each line that wraps, and in all rows.
func (w Wait) matches(l *screen.Lines, row func(dst []byte, row int) []byte) bool {
	var all, line []byte
	for y := 0; y < l.Rows; y++ {
		from, first := len(all), y
		line = line[:0]
		for {
			at := len(all)
			all = row(all, y)
			line = append(line, all[at:]...)
			all = append(all, '\n')
			if !l.Wrapped(y) || y+1 == l.Rows {
				break
			}
			y++
		}
		if w.Typed != "" && bytes.HasSuffix(bytes.TrimRight(line, " "), []byte(w.Typed)) {
			all = append(all[:from], '\n')
			continue
		}
		if y > first && w.Shows.Match(line) {
			return true
		}
		for text := range bytes.Lines(all[from:]) {
			if w.Shows.Match(bytes.TrimSuffix(text, []byte("\n"))) {
				return true
			}
		}
	}
	return w.Shows.Match(all)
}
