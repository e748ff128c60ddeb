package sshx

import (
	"context"
	"errors"
	"sync"
	"time"

	"ptyctl/sshx/plan"
)

// errConnectTimeout is the cause of a watchdog's context after its time limit.
var errConnectTimeout = errors.New("not connected in time")

// A watchdog is a deadline that can be paused. Its context ends at the limit,
// with errConnectTimeout as the cause. Slow operations under it must close their
// connection then, because nothing else wakes the calls of x/crypto/ssh.
type watchdog struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	limit  time.Duration

	mu     sync.Mutex // guards the following
	timer  *time.Timer
	left   time.Duration
	since  time.Time // when the timer was last started
	paused int
}

// A wayTooLong is the errConnectTimeout of one part of the way.
type wayTooLong struct{ plan.Within }

func (wayTooLong) Error() string { return errConnectTimeout.Error() }

// Is makes it an errConnectTimeout.
func (wayTooLong) Is(target error) bool { return target == errConnectTimeout }

// newWatchdog starts the clock; stop must be called.
func newWatchdog(parent context.Context, limit time.Duration) *watchdog {
	ctx, cancel := context.WithCancelCause(parent)
	w := &watchdog{ctx: ctx, cancel: cancel, limit: limit, left: limit, since: time.Now()}
	w.timer = time.AfterFunc(limit, func() { cancel(errConnectTimeout) })
	return w
}

// pause stops the clock; the returned function starts it again.
func (w *watchdog) pause() (resume func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// Pauses may overlap: the first one stops the clock, the last one starts it.
	if w.paused++; w.paused == 1 && w.timer.Stop() {
		w.left -= time.Since(w.since)
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.paused--; w.paused == 0 && w.ctx.Err() == nil {
			w.since = time.Now()
			w.timer.Reset(max(w.left, 0))
		}
	}
}

// within also ends the context when a part of the way takes too long; there must call the returned function at its end.
// That part asks no question, so pause does not count for it.
func (w *watchdog) within(part plan.Within) (there func()) {
	if part.Limit == 0 || part.Limit >= w.limit {
		return func() {}
	}
	timer := time.AfterFunc(part.Limit, func() { w.cancel(wayTooLong{part}) })
	return func() { timer.Stop() }
}

// stop ends the watchdog and its context.
func (w *watchdog) stop() {
	w.mu.Lock()
	w.timer.Stop()
	w.mu.Unlock()
	w.cancel(context.Canceled)
}

// expired reports whether the time limit has passed.
func (w *watchdog) expired() bool { return errors.Is(context.Cause(w.ctx), errConnectTimeout) }
