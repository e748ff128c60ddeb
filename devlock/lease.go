package devlock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// A Lease is the ownership of a device for a time, which its Store makes longer again and again.
//
// The end of that time is kept on the monotonic clock of this process, so neither a change of the time of day nor a
// store that cannot be reached makes a lease last longer. The clock of Linux stands still while the machine is
// suspended: a lease may then outlast its time.
type Lease struct {
	device string
	owner  Owner
	token  uint64
	until  atomic.Pointer[time.Time] // nil: until End
	ctx    context.Context           // ends with the lease, and has the reason as its cause
	end    context.CancelCauseFunc
}

// NewLease returns a lease for the implementation of a Store. It lasts until End, or until the time that Extend names.
func NewLease(device string, o Owner, token uint64) *Lease {
	l := &Lease{device: device, owner: o, token: token}
	l.ctx, l.end = context.WithCancelCause(context.Background())
	return l
}

// Device returns the name of the device.
func (l *Lease) Device() string { return l.device }

// Owner returns the holder of the lease.
func (l *Lease) Owner() Owner { return l.owner }

// Token returns the fence token: the lease of a later owner of the device has a greater one. 0 if the store has none,
// because no owner outlives its lease there.
func (l *Lease) Token() uint64 { return l.token }

// Check returns nil while the lease lasts, and a *LostError afterwards. It compares clocks, does no I/O and never
// blocks, so that it can be called before each write to the device.
func (l *Lease) Check() error {
	if err := context.Cause(l.ctx); err != nil {
		return err
	}
	if until := l.until.Load(); until != nil && !time.Now().Before(*until) {
		return l.overdue()
	}
	return nil
}

// AfterEnd calls f in a goroutine of its own when the lease has ended, also if it has ended already. f gets what Check
// returns. stop keeps f from being called, and reports whether it has: see context.AfterFunc.
func (l *Lease) AfterEnd(f func(error)) (stop func() bool) {
	return context.AfterFunc(l.ctx, func() { f(context.Cause(l.ctx)) })
}

// Until returns when the lease ends unless it is renewed; zero: never.
func (l *Lease) Until() time.Time {
	if until := l.until.Load(); until != nil {
		return *until
	}
	return time.Time{}
}

// Extend makes the lease last until a time of time.Now's monotonic clock. It is for the Store, which alone knows that
// no other owner can get the device before, and which calls End then: only End calls the functions given to AfterEnd. A
// lease that has ended, or whose time is over, stays as it is; Extend then returns the *LostError.
func (l *Lease) Extend(until time.Time) error {
	for {
		if err := l.Check(); err != nil {
			return err
		}
		old := l.until.Load()
		if old != nil && old.After(until) { // an earlier renewal was confirmed later
			return nil
		}
		if l.until.CompareAndSwap(old, &until) {
			return nil
		}
	}
}

// End ends the lease for its Store. Only the first call counts. nil stands for a lease whose time is over.
func (l *Lease) End(why *LostError) {
	if why == nil {
		why = l.overdue()
	}
	l.end(why)
}

// Released is the reason of a lease that its holder has given back.
func (l *Lease) Released() *LostError {
	return &LostError{Device: l.device, Why: "it was released", Err: ErrReleased}
}

// ErrReleased is wrapped by the *LostError of a lease that its holder has released.
var ErrReleased = errors.New("acquire the device again")

// overdue is the reason of a lease that was not renewed in time.
func (l *Lease) overdue() *LostError {
	return &LostError{Device: l.device, Why: fmt.Sprintf("it was not renewed before %s", l.Until().Format(time.TimeOnly))}
}
