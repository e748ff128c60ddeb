package devlock

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A Store gives each device at most one owner among all who use the store. Folder is the one of this machine; module
// ptyctl/cluster has one for several machines. Package devlock/locktest has the tests that each Store must pass.
//
// Promises of every Store:
//
//   - At most one Lease of a device passes its Check at any time.
//   - Acquire does not wait for another owner to leave. The error is then a *HeldError, and names that owner, or says for
//     how long a former one may still count on the device that has gone without giving it back.
//   - A Lease ends at Release, or by itself before another owner can get the device. It then fails its Check for good,
//     with a *LostError, and the functions given to AfterEnd are called.
//   - A later owner of a device has a greater Token than an earlier one, unless tokens are 0.
//   - Each method returns once its context ends, and with an error if its work was not done by then.
//
// All methods may be called at the same time.
type Store interface {
	// Acquire makes o the owner of a device. A device may have any name. After an error other than a *HeldError the
	// caller owns nothing, but the device may stay taken for as long as a lease lasts: an answer may have been lost.
	Acquire(ctx context.Context, device string, o Owner) (*Lease, error)

	// Renew makes a lease last longer. Stores renew their leases by themselves; a caller needs Renew only to learn now
	// whether the store can still be reached. A lease that has ended is a *LostError. Any other error leaves the lease
	// as it is.
	Renew(ctx context.Context, l *Lease) error

	// Release ends a lease at once and gives its device back. Without effect on the device, and without an error, if the
	// lease has ended before. After an error the device is free when the lease would have run out.
	Release(ctx context.Context, l *Lease) error

	// Lookup returns who has a device. The answer may be outdated when it arrives: only Acquire decides.
	Lookup(ctx context.Context, device string) (Holding, error)

	// Watch sends who has a device now, and again whenever that has changed: a new owner, or none. A receiver who is
	// late gets the last state only. The channel is closed when ctx ends or the store can watch no longer. Nothing is
	// sent twice in a row, and renewals are not changes.
	Watch(ctx context.Context, device string) (<-chan Holding, error)
}

// A Holding says who has a device.
type Holding struct {
	Device string
	Held   bool
	Owner  Owner  // zero if none has it, or if the owner could not be read
	Token  uint64 // of the owner's Lease

	// Heir says that the owner uses the device in no way: it gives it back once its predecessor, who has not done so, cannot
	// count on it any more.
	Heir bool

	// MayBeStale says that the answer may be older than the call: it is from a copy of the data that may not have the
	// last changes.
	MayBeStale bool
}

// A HeldError says that a device has an owner.
type HeldError struct {
	Device string
	Owner  Owner // zero if the owner could not be read

	// Left is not 0 if a former owner has not given the device back: for so long, at most, it may still count on it. Owner
	// is then who gives it back in its place.
	Left time.Duration

	// Silent says that the owner's machine gives no answer, though the device is still the owner's. Ends is then how long
	// its lease lasts, at most, if it stays away; 0: that is not known.
	Silent bool
	Ends   time.Duration
}

// Error names the owner.
func (e *HeldError) Error() string {
	if e.Silent {
		return fmt.Sprintf("device %q is owned by %s, which gives no answer", e.Device, e.Owner.since())
	}
	if e.Left > 0 {
		return fmt.Sprintf("device %q was not given back by its former owner, who may count on it for %v at most", e.Device, e.Left)
	}
	return fmt.Sprintf("device %q is owned by %s", e.Device, e.Owner.since())
}

// since describes the owner for an error.
func (o Owner) since() string {
	var node string
	if o.Node != "" {
		node = fmt.Sprintf(" of node %q", o.Node)
	}
	return fmt.Sprintf("process %d%s (session %q, since %s)", o.PID, node, o.Session, o.Started.Format(time.RFC3339))
}

// An AdvisedError is an error of a Store that could not find out who has a device, or an error about something else that
// is kept in the same place. Advice says what the operator can do.
type AdvisedError interface {
	error
	Advice() string
}

// A LostError says that a lease has ended, so that its holder must not use the device any more.
type LostError struct {
	Device string
	Why    string // for example "not renewed for 25s"
	Owner  Owner  // the next owner; zero if none is known
	Err    error  // what has kept the lease from being renewed; nil: nothing, or it is not known
}

// Error says why, and who has the device now, if that is known.
func (e *LostError) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "the lease of device %q has ended: %s", e.Device, e.Why)
	if e.Err != nil {
		fmt.Fprintf(&s, ": %v", e.Err)
	}
	if e.Owner != (Owner{}) {
		s.WriteString("; its owner is now " + e.Owner.since())
	}
	return s.String()
}

// Unwrap returns Err.
func (e *LostError) Unwrap() error { return e.Err }
