package deadline

import (
	"sync"
	"time"
)

// A Deadline is the time at which a command is stopped.
//
// Without a lease it is the time set last. A lease is for a command without a time from its caller: once a call has
// left it running, it is stopped at its first deadline or a lease after the last call, whichever is later. While a
// call waits for it, it then has no deadline at all.
type Deadline struct {
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

// New begins the time of a command. stop is called once, unless End comes first.
func New(timeout, lease time.Duration, stop func()) *Deadline {
	d := &Deadline{stop: stop, at: time.Now().Add(timeout), lease: lease, moved: make(chan struct{})}
	d.timer = time.AfterFunc(timeout, d.fire)
	return d
}

// fire stops the command if its time is really over: the deadline may have moved since the timer fired.
func (d *Deadline) fire() {
	d.mu.Lock()
	due := !d.off && !d.over && !time.Now().Before(d.at)
	d.over = d.over || due
	d.mu.Unlock()
	if due {
		d.stop()
	}
}

// End says that the command is over.
func (d *Deadline) End() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	d.timer.Stop()
}

// Attend says that a call waits for the command.
func (d *Deadline) Attend() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	d.renew()
}

// Leave says that a call does not wait any more. handsOver says that its caller learns from it that the command goes
// on.
func (d *Deadline) Leave(handsOver bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls--
	d.left = d.left || handsOver
	d.renew()
}

// renew counts the lease from now on. Requires d.mu.
func (d *Deadline) renew() {
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
func (d *Deadline) move(after time.Duration) {
	if at := time.Now().Add(after); at.After(d.at) {
		d.at = at
	}
	d.timer.Reset(time.Until(d.at))
}

// Set makes the deadline after from now, earlier or later than it was, and ends the lease. It reports whether it was in
// time.
func (d *Deadline) Set(after time.Duration) bool {
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

// wake signals waiters that the deadline has changed. Requires d.mu.
func (d *Deadline) wake() {
	close(d.moved)
	d.moved = make(chan struct{})
}

// Remaining returns the time until the deadline, as far as a caller can count on it: if other calls keep the command
// from having one, the lease.
func (d *Deadline) Remaining() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return max(time.Until(d.at), d.lease)
	}
	return max(time.Until(d.at), 0)
}

// Next returns the time until the deadline, whether there is one now, and a channel that is closed when that changes.
func (d *Deadline) Next() (left time.Duration, some bool, moved <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Until(d.at), !d.off, d.moved
}
