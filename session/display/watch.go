package display

import (
	"regexp"
	"time"

	"ptyctl/screen"
)

// A Point is a place on the screen. Rows and columns count from 1, as in the text that people and models read. A Col of
// 0 is any column, a Row of 0 no place at all.
type Point struct{ Row, Col int }

// A Wait is what a screen must show, the first of its members that is met. The zero value waits for nothing. Only
// complete frames count while a program draws them between DECSET and DECRST 2026.
type Wait struct {
	// Shows matches a row, a line that wraps over several rows, or all rows joined by line feeds; box drawing also as -, |
	// and +. It is met at once if the screen shows it already.
	Shows *regexp.Regexp

	// Stable is how long nothing on the screen must have changed, counted from the call at the earliest. The end of a
	// frame that has changed something is enough: a program that draws in frames says itself when it is done.
	Stable time.Duration

	Cursor Point // the cursor is there
}

// Any reports whether w waits for anything.
func (w Wait) Any() bool { return w.Shows != nil || w.Stable > 0 || w.Cursor.Row > 0 }

// Met is what a wait has met.
type Met uint8

// What was met.
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
}

// Watch begins a wait.
func (d *Display) Watch(w Wait) *Watch {
	d.mu.Lock()
	defer d.mu.Unlock()
	x := &Watch{d: d, wait: w, since: time.Now(), frames: d.draw().Frames()}
	_, x.begun = d.screen.Peek()
	x.hash, x.shown = x.begun, d.shown-1
	return x
}

// Look reports what the wait has met. If that is Nothing, look again when changed is closed, or after rest if that is
// positive.
func (x *Watch) Look() (met Met, rest time.Duration, changed <-chan struct{}) {
	now, frames, end, changed := x.peek()
	if now != nil {
		w := x.wait
		if w.Shows != nil && shows(w.Shows, &now.Lines) {
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
	if rest = x.wait.Stable - time.Since(x.since); rest <= 0 {
		return Settled, 0, nil
	}
	return Nothing, rest, changed
}

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
	}
	return now, s.Frames(), end, d.changed
}

// shows reports whether what a person reads matches.
func shows(re *regexp.Regexp, l *screen.Lines) bool {
	return matches(re, l, l.AppendRow) || matches(re, l, l.AppendFolded)
}

// matches looks for a pattern in each row, in each line that wraps, and in all rows.
func matches(re *regexp.Regexp, l *screen.Lines, row func(dst []byte, row int) []byte) bool {
	var all, line []byte
	for y := range l.Rows {
		from := len(all)
		all = row(all, y)
		text := all[from:]
		if re.Match(text) {
			return true
		}
		if l.Wrapped(y) || len(line) > 0 {
			if line = append(line, text...); !l.Wrapped(y) {
				if re.Match(line) {
					return true
				}
				line = line[:0]
			}
		}
		all = append(all, '\n')
	}
	return re.Match(all)
}
