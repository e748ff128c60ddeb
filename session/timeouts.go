package session

import (
	"sync"
	"time"
)

// A deadline is the time at which a command is stopped.
//
// Without a lease it is where it was set last. A lease is for a command whose caller has named no time: once a call has
// left it running, it is stopped at its first deadline or a lease after the last call, whichever is later. While a
// call waits for it, it then has no deadline at all.
type deadline struct {
	stop func() // stops the command

	mu    sync.Mutex    // guards the following
	at    time.Time     // when the command is stopped
	lease time.Duration // 0: none
	left  bool          // a call has left the command running
	calls int           // that wait for the command
	off   bool          // nothing stops the command now: a call waits, or the command is over
	over  bool          // the command has ended, or is being stopped
	timer *time.Timer   // fires at at, unless off
	moved chan struct{} // closed and replaced when at or off changes
}

// newDeadline begins the time of a command. stop is called once, unless end comes first.
func newDeadline(timeout, lease time.Duration, stop func()) *deadline {
	d := &deadline{stop: stop, at: time.Now().Add(timeout), lease: lease, moved: make(chan struct{})}
	d.timer = time.AfterFunc(timeout, d.fire)
	return d
}

// fire stops the command if its time is really over: the deadline may have moved since the timer fired.
func (d *deadline) fire() {
	d.mu.Lock()
	due := !d.off && !d.over && !time.Now().Before(d.at)
	d.over = d.over || due
	d.mu.Unlock()
	if due {
		d.stop()
	}
}

// end says that the command is over.
func (d *deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	d.timer.Stop()
}

// attend says that a call waits for the command.
func (d *deadline) attend() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	d.renew()
}

// leave says that a call does not wait any more. handsOver says that its caller learns from it that the command goes
// on.
func (d *deadline) leave(handsOver bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls--
	d.left = d.left || handsOver
	d.renew()
}

// renew counts the lease from now on. Requires d.mu.
func (d *deadline) renew() {
	if d.lease == 0 || !d.left || d.over {
		return
	}
	if d.off = d.calls > 0; d.off {
		d.timer.Stop()
	} else {
		d.move(d.lease)
	}
	d.wake()
}

// move lets the deadline be at least after from now. Requires d.mu.
func (d *deadline) move(after time.Duration) {
	if at := time.Now().Add(after); at.After(d.at) {
		d.at = at
	}
	d.timer.Reset(time.Until(d.at))
}

// set makes the deadline after from now, earlier or later than it was, and ends the lease. It reports whether it was in
// time.
func (d *deadline) set(after time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return false
	}
	d.lease, d.off, d.at = 0, false, time.Now().Add(after)
	d.timer.Reset(after)
	d.wake()
	return true
}

// wake tells those who wait that the deadline has changed. Requires d.mu.
func (d *deadline) wake() {
	close(d.moved)
	d.moved = make(chan struct{})
}

// remaining returns the time until the deadline, as far as a caller can count on it: if other calls keep the command
// from having one, the lease.
func (d *deadline) remaining() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return max(time.Until(d.at), d.lease)
	}
	return max(time.Until(d.at), 0)
}

// next returns the time until the deadline, whether there is one now, and a channel that is closed when that changes.
func (d *deadline) next() (left time.Duration, some bool, moved <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Until(d.at), !d.off, d.moved
}

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
	if left := l.age - time.Since(l.s.created); l.age > 0 && (wait == 0 || left < wait) {
		wait = left
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

// spent reports whether the session has reached its longest age, which counts from its first opening.
func (l *timeouts) spent() bool {
	return l != nil && l.age > 0 && time.Since(l.s.created) >= l.age
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
	busy := l.s.count.running.Load() > 0 || l.s.State() != Open || l.s.execs.waiting()
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
