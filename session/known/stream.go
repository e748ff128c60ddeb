package known

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/secret/forms"
)

// longest is how long a byte is held back at most, however often more of a possible secret comes.
const longest = 5 * time.Second

// A Stream passes on the bytes written to it, with masks in place of the values that a View hides. Bytes that may be the
// beginning of a value wait for a moment for the rest. Make it with NewStream.
//
// Write and End have one caller at a time.
type Stream struct {
	v      *View
	accept func(p []byte, cuts []forms.Cut)
	spawn  func(f func()) bool
	busy   atomic.Bool // f holds bytes

	mu    sync.Mutex // guards the following; held while output is passed on, so that it stays in order
	f     forms.Filter
	timer *time.Timer
	fires time.Time // when the timer does; zero: it does not
	since time.Time // the filter has held bytes since then; zero: it holds none
	due   time.Time // when the bytes are passed on that are held back; zero: none are
	over  bool

	extended bool // they may wait longer than forms.Brief
}

// NewStream makes a Stream. accept takes the output, one call at a time, and the forms that were replaced in it; it must
// not keep either. spawn runs a function in a goroutine, and reports false if none may start any more.
func NewStream(v *View, accept func(p []byte, cuts []forms.Cut), spawn func(f func()) bool) *Stream {
	return &Stream{v: v, accept: accept, spawn: spawn}
}

// Write passes on p, except for values and the beginning of one.
func (s *Stream) Write(p []byte) {
	if !s.v.Any() && !s.busy.Load() {
		s.accept(p, nil)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(func(m *forms.Matcher) ([]byte, []forms.Cut) { return s.f.Feed(m, p) })
}

// Break passes on all that is held back: the next output is not its continuation.
func (s *Stream) Break() {
	if !s.busy.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(s.f.End)
}

// End passes on all that is held back, and ends the stream.
func (s *Stream) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(s.f.End)
	s.f.Wipe()
	s.over = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

// pass passes on the result of step. Requires s.mu.
func (s *Stream) pass(step func(m *forms.Matcher) ([]byte, []forms.Cut)) {
	var m *forms.Matcher
	set := s.v.acquire()
	if set != nil {
		defer set.release()
		m = set.m
	}
	out, cuts := step(m)
	if s.extended && (s.f.Came() || len(out) > 0) {
		s.extended = false
		if s.f.Came() {
			s.v.r.waits.Add(-1)
		}
	}
	if len(out)+len(cuts) > 0 {
		s.accept(out, cuts)
	}
	if len(cuts) > 0 {
		s.f.Wipe()
	}
	s.wait()
	s.busy.Store(s.f.Holds())
}

// waiting returns how long the bytes that are held back may wait. Requires s.mu.
func (s *Stream) waiting() time.Duration {
	set := s.v.acquire()
	if set == nil {
		return s.f.Waiting(nil)
	}
	defer set.release()
	return s.f.Waiting(set.m)
}

// wait has the bytes passed on later that are held back. Requires s.mu.
func (s *Stream) wait() {
	if !s.f.Waits() {
		s.due = time.Time{}
		if !s.f.Holds() {
			s.since = time.Time{}
		}
		s.extended = false
		return
	}
	wait := forms.Brief
	if s.extended {
		wait = s.waiting()
	}
	now := time.Now()
	if s.since.IsZero() {
		s.since = now
	}
	s.due = now.Add(wait)
	if last := s.since.Add(longest); s.due.After(last) {
		s.due = last
	}
	if s.fires.IsZero() || s.due.Before(s.fires) { // a timer that fires too early costs less than one set again by each write
		s.arm(s.due.Sub(now))
	}
}

// arm has release run in a while. Requires s.mu.
func (s *Stream) arm(wait time.Duration) {
	s.fires = time.Now().Add(wait)
	if s.timer == nil {
		s.timer = time.AfterFunc(wait, func() { s.spawn(s.release) })
	} else {
		s.timer.Reset(wait)
	}
}

// release passes on the bytes that were held back for long enough.
func (s *Stream) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fires = time.Time{}
	switch left := time.Until(s.due); {
	case s.over || s.due.IsZero():
	case left > 0:
		s.arm(left)
	case s.extend():
		s.due = s.since.Add(min(s.waiting(), longest))
		s.arm(time.Until(s.due))
	default:
		s.pass(s.f.Release)
		s.since, s.extended = time.Time{}, false
	}
}

// inVain is how many long waits there may be, in all streams, for the rest of a value that does not come. A reader
// who sees the output late learns from a long wait that the output ends with the beginning of a value: without a
// limit, the reader could find out each next character this way.
const inVain = 3

// extend reports whether the bytes that are held back may wait longer than others. Requires s.mu.
func (s *Stream) extend() bool {
	if s.extended || s.waiting() <= forms.Brief {
		return false
	}
	if s.v.r.waits.Add(1) > inVain {
		s.v.r.waits.Add(-1)
		return false
	}
	s.extended = true
	return true
}

// A Writer is a Stream into an io.Writer.
type Writer struct {
	s   *Stream
	end sync.Once
	err atomic.Pointer[error] // of the last write
}

// NewWriter makes a Writer into w, which gets the output with masks. The view lasts until the Writer's End.
func NewWriter(v *View, w io.Writer, spawn func(f func()) bool) *Writer {
	out := &Writer{}
	v.count(1, false)
	out.s = NewStream(v, func(p []byte, _ []forms.Cut) {
		if len(p) > 0 {
			_, err := w.Write(p)
			out.err.Store(&err)
		}
	}, spawn)
	return out
}

// Write writes p, except for values and the beginning of one. The error is that of the last write of the underlying
// writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.s.Write(p)
	if err := w.err.Load(); err != nil {
		return len(p), *err
	}
	return len(p), nil
}

// End writes all that is held back, and lets go of the view.
func (w *Writer) End() {
	w.s.End()
	w.end.Do(func() { w.s.v.count(-1, false) })
}
