package session

import (
	"sync"
	"time"
)

// timeouts close a session that is too old, and one that is open without a byte in either direction and without a
// running exec for too long. A nil *timeouts never does.
//
// Both have one timer. It is not set again by each byte, which would cost the pump more than the byte: touch stores
// the time, and the timer, when it fires, looks at it.
type timeouts struct {
	s    *Session
	idle time.Duration // 0: no limit
	age  time.Duration // 0: no limit
	mine bool          // the request has set age, not the operator

	mu    sync.Mutex // guards the following
	last  time.Time
	timer *time.Timer // nil before start, and once stopped
}

// newTimeouts returns the limits of a session, or nil if it has none. The methods of a nil *timeouts do nothing, so
// callers need no check. The shorter of the operator's and the request's age applies.
func newTimeouts(s *Session, o Options) *timeouts {
	l := &timeouts{s: s, idle: max(o.IdleTimeout, 0), age: max(o.MaxAge, 0)}
	if o.managed.life > 0 && (l.age == 0 || o.managed.life < l.age) {
		l.age, l.mine = o.managed.life, true
	}
	if l.idle == 0 && l.age == 0 {
		return nil
	}
	return l
}

// start begins to count.
func (l *timeouts) start() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = time.Now()
	wait := l.idle
	if wait == 0 || l.age > 0 && l.age < wait {
		wait = l.age
	}
	l.timer = time.AfterFunc(wait, func() {
		defer l.s.group.rescue("timeouts")
		l.check()
	})
}

// touch says that something happened.
func (l *timeouts) touch() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.last = time.Now()
	l.mu.Unlock()
}

// stop ends the checks. A check that already runs may still close the session.
func (l *timeouts) stop() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

// check closes the session, or looks again when it could be over at the earliest.
//
// It runs in the goroutine of the timer, which does not belong to the session: otherwise close would wait for itself.
func (l *timeouts) check() {
	if by, code := l.over(); code != "" {
		l.s.close(errClosedByCaller{"ptyctl: " + by, code}, false)
	}
}

// over says whether the session's time is over, and why; if not, it sets the timer.
func (l *timeouts) over() (by string, code EndCode) {
	// A login is not idle: a person may be looking for the answer, which has a time of its own.
	busy := l.s.count.running.Load() > 0 || l.s.State() != Open
	l.mu.Lock()
	defer l.mu.Unlock()
	var next time.Duration
	if l.age > 0 {
		if next = l.age - time.Since(l.s.created); next <= 0 {
			what := "the longest age of a session"
			if l.mine {
				what = "its timeout"
			}
			return "it was there for " + l.age.String() + ", " + what, EndMaxAge
		}
	}
	if l.idle > 0 {
		left := l.idle - time.Since(l.last)
		switch {
		case busy:
			left = l.idle
		case left <= 0:
			return "nothing happened for " + l.idle.String() + ", its idle timeout", EndIdle
		}
		if next == 0 || left < next {
			next = left
		}
	}
	if l.timer != nil {
		l.timer.Reset(next)
	}
	return "", ""
}
