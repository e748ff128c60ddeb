package mux

import (
	"sync/atomic"
	"time"
)

// An alarm calls a function after a time, in a goroutine of its own, until it is stopped.
//
// It lets go of the function when it is stopped. A time.Timer does not: the runtime removes a stopped timer from its
// heap when the timer would have fired, or when a quarter of the heap is stopped ones. Here that would be a closed
// connection with its buffers, for up to a minute.
type alarm struct {
	timer *time.Timer
	f     atomic.Pointer[func()] // nil once stopped
}

// newAlarm returns an alarm that calls f after d.
func newAlarm(d time.Duration, f func()) *alarm {
	a := new(alarm)
	a.f.Store(&f)
	a.timer = time.AfterFunc(d, a.ring)
	return a
}

func (a *alarm) ring() {
	if f := a.f.Load(); f != nil {
		(*f)()
	}
}

// reset lets the alarm ring after d from now. It has no effect on a stopped one.
func (a *alarm) reset(d time.Duration) {
	if a.f.Load() != nil {
		a.timer.Reset(d)
	}
}

// stop ends the alarm for good. A call of the function that has begun goes on. A nil alarm is stopped.
func (a *alarm) stop() {
	if a != nil {
		a.f.Store(nil)
		a.timer.Stop()
	}
}
