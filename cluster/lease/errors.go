package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ptyctl/cluster/internal/bucket"
	"ptyctl/devlock"
)

// A Why is the reason why the servers gave no answer to a call.
type Why = bucket.Why

// The causes of an UnavailableError.
const (
	NoServer = bucket.NoServer
	NoQuorum = bucket.NoQuorum
	Denied   = bucket.Denied
	Slow     = bucket.Slow
)

var _ devlock.AdvisedError = (*UnavailableError)(nil)

// An UnavailableError says that the servers did not carry out a call, as far as is known: an answer may have been lost.
type UnavailableError struct {
	Op      string // the call, for example "acquire"
	Device  string // empty: of none
	Why     Why
	Servers string        // those of Options, without credentials
	After   time.Duration // how long the call has tried
	Err     error         // the last error of the call
	text    string        // of Err, without credentials
}

// Error names the call, its servers and its duration, and says why it failed.
func (e *UnavailableError) Error() string {
	what := e.Op
	if e.Device != "" {
		what += fmt.Sprintf(" of device %q", e.Device)
	}
	s := fmt.Sprintf("lease: %s failed after %v: %s (servers %s)", what, e.After.Round(time.Millisecond), e.Why, e.Servers)
	if e.text != "" {
		s += ": " + e.text
	}
	return s
}

// Advice implements devlock.AdvisedError.
func (e *UnavailableError) Advice() string {
	switch e.Why {
	case NoServer:
		return "start a NATS server of the cluster, or mend the network between it and this node; no console can be opened meanwhile"
	case NoQuorum:
		return "start more of the NATS servers: most of those that keep the data must run; no console can be opened meanwhile"
	case Denied:
		return "give this node the credentials that were made for its name and its group, with the rights of docs/cluster.md"
	default:
		return "try again; if that does not help, look at the load of the NATS servers, and at the network between them and this node"
	}
}

// Unwrap returns the last error of the call.
func (e *UnavailableError) Unwrap() error { return e.Err }

// unavailable explains why a call that began at began has failed with err, its last error. It asks the servers for the
// cause, so ctx must have some time left.
func (s *Store) unavailable(ctx context.Context, op, device string, began time.Time, err error) error {
	if ctx.Err() == context.Canceled {
		return fmt.Errorf("lease: %s of device %q was canceled after %v: %w", op, device, time.Since(began).Round(time.Millisecond), ctx.Err())
	}
	return &UnavailableError{
		Op: op, Device: device, Why: s.bucket.Why(ctx, err), Servers: s.o.shown(), After: time.Since(began),
		Err: err, text: s.o.scrub(err.Error()),
	}
}

// notDone explains why the renewer has not carried out a part of a call.
func (s *Store) notDone(ctx context.Context, op, device string, began time.Time, err error) error {
	if errors.Is(err, errClosed) {
		return err
	}
	return s.unavailable(ctx, op, device, began, err)
}
