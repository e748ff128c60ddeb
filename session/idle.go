package session

import (
	"sync"
	"time"
)

// An idleWatch closes an open session after a time without a byte in either direction and without a running exec.
// A nil *idleWatch never does.
type idleWatch struct {
	s     *Session
	after time.Duration

	mu    sync.Mutex // guards the following
	last  time.Time
	timer *time.Timer // nil once stopped
}

func watchIdle(s *Session, after time.Duration) *idleWatch {
	if after <= 0 {
		return nil
	}
	w := &idleWatch{s: s, after: after, last: time.Now()}
	w.timer = time.AfterFunc(after, w.check)
	return w
}

// touch says that something happened.
func (w *idleWatch) touch() {
	if w == nil {
		return
	}
	w.mu.Lock()
	w.last = time.Now()
	w.mu.Unlock()
}

func (w *idleWatch) stop() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// check closes the session, or looks again when it could have become idle at the earliest.
func (w *idleWatch) check() {
	busy := w.s.count.running.Load() > 0 || w.s.State() != Open
	w.mu.Lock()
	left := w.after - time.Since(w.last)
	if busy {
		left = w.after
	}
	if left > 0 {
		if w.timer != nil {
			w.timer.Reset(left)
		}
		w.mu.Unlock()
		return
	}
	w.mu.Unlock()
	w.s.close(errClosedByCaller{"ptyctl: nothing happened for " + w.after.String() + " (idle_timeout_ms)"}, false)
}
