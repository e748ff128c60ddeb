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
