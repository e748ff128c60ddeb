package devlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A Lease is the ownership of a device for a time, which its Store makes longer again and again.
//
// The end of that time is kept on the clocks of a Moment, so neither a change of the time of day, a store that cannot be
// reached nor, on Linux, a suspension of the machine makes a lease last longer.
type Lease struct {
	device string
	owner  Owner
	token  uint64
	until  atomic.Pointer[Moment] // nil: until End
	ctx    context.Context        // ends with the lease, and has the reason as its cause
	end    context.CancelCauseFunc

	mu       sync.Mutex           // guards the following
	extended map[*func()]struct{} // called by Extend; see AfterExtend
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
	if until := l.until.Load(); until != nil && until.past() {
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
func (l *Lease) Until() time.Time { return l.UntilMoment().time }

// UntilMoment is Until on both clocks of a Moment.
func (l *Lease) UntilMoment() Moment {
	if until := l.until.Load(); until != nil {
		return *until
	}
	return Moment{}
}

// Extend makes the lease last until a time of time.Now's monotonic clock. It is for the Store, which alone knows that
// no other owner can get the device before, and which calls End then: only End calls the functions given to AfterEnd. A
// lease that has ended, or whose time is over, stays as it is; Extend then returns the *LostError.
//
// A suspension of the machine between the moment from which the Store counts and this call is not known here: a Store
// whose leases others count has to use ExtendFrom.
func (l *Lease) Extend(until time.Time) error {
	now := Now()
	return l.ExtendFrom(now, until.Sub(now.time))
}

// ExtendFrom is Extend until d after a moment, such as that of the renewal that a server has confirmed since.
func (l *Lease) ExtendFrom(from Moment, d time.Duration) error {
	until := from.Add(d)
	for {
		if err := l.Check(); err != nil {
			return err
		}
		old := l.until.Load()
		if old != nil && old.time.After(until.time) { // an earlier renewal was confirmed later
			return nil
		}
		if l.until.CompareAndSwap(old, &until) {
			l.tellExtended()
			return nil
		}
	}
}

// AfterExtend calls f whenever the lease lasts longer, until stop is called: in the goroutine of the Store, so that f
// must return at once. stop does not wait for a call under way.
func (l *Lease) AfterExtend(f func()) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.extended == nil {
		l.extended = make(map[*func()]struct{})
	}
	key := &f
	l.extended[key] = struct{}{}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.extended, key)
	}
}

// tellExtended calls the functions given to AfterExtend.
func (l *Lease) tellExtended() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for f := range l.extended {
		(*f)()
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
