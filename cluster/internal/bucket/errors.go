package bucket

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/cluster/lease/rules"
)

// A Why is the reason why the servers gave no answer to a call.
type Why string

// The causes of an UnavailableError.
const (
	NoServer Why = "no NATS server can be reached"
	NoQuorum Why = "the servers have no majority for the bucket"
	Denied   Why = "the credentials do not suffice"
	Slow     Why = "the server gives no answer: it, the network or most of the other servers are slow or down"
)

// An UnavailableError says that the servers did not carry out a call, as far as is known: an answer may have been lost.
// The call may be tried again later.
type UnavailableError struct {
	Op      string // the package and its call, for example "limits: take of host \"rack1\""
	Why     Why
	Servers string        // without credentials
	After   time.Duration // how long the call has tried
	Err     error         // the last error of the call
}

// Error names the call, its servers and its duration, and says why it failed.
func (e *UnavailableError) Error() string {
	s := fmt.Sprintf("%s failed after %v: %s (servers %s)", e.Op, e.After.Round(time.Millisecond), e.Why, e.Servers)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the last error of the call.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Unavailable explains why a call that began at began has failed with err, its last error. It asks the servers for the
// cause if ctx has not ended.
func (b *Bucket) Unavailable(ctx context.Context, op string, began time.Time, err error) error {
	if ctx.Err() == context.Canceled {
		return fmt.Errorf("%s was canceled after %v: %w", op, time.Since(began).Round(time.Millisecond), ctx.Err())
	}
	return &UnavailableError{Op: op, Why: b.Why(ctx, err), Servers: b.Servers(), After: time.Since(began), Err: err}
}

// WrongRevision is the error code of a write that another has come before.
const WrongRevision = jetstream.JSErrCodeStreamWrongLastSequence // 10071

// Refused reports whether a server has refused a write because of the key's revision. Any other error leaves open
// whether the write was done.
func Refused(err error) bool { return rules.Refused(int(CodeOf(err))) }

// CodeOf returns the code of an error of JetStream; 0: err is no such error.
func CodeOf(err error) jetstream.ErrorCode {
	if e, ok := errors.AsType[*jetstream.APIError](err); ok {
		return e.ErrorCode
	}
	return 0
}

// Denial returns what the servers have refused last because of the rights of the credentials; nil: nothing. A request that
// is refused so gets no answer.
func Denial(nc *nats.Conn) error {
	if err := nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) {
		return err
	}
	return nil
}

// Why finds out what keeps calls from being answered, the last of which has failed with err.
func (b *Bucket) Why(ctx context.Context, err error) Why {
	switch {
	case !b.nc.IsConnected(), errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrConnectionClosed):
		return NoServer
	case errors.Is(err, nats.ErrNoResponders):
		return NoQuorum
	}
	if e, ok := errors.AsType[*jetstream.APIError](err); ok && e.Code == 503 {
		return NoQuorum
	}
	if ctx.Err() != nil {
		return Slow
	}
	ok, err := b.Majority(ctx)
	if errors.Is(err, nats.ErrNoResponders) || err == nil && !ok {
		return NoQuorum
	}
	return Slow
}

// silent is how long another server may hear nothing of a server before it counts as gone.
const silent = 3 * time.Second

// Majority reports whether the leader of the bucket's stream has heard from most servers a short time ago.
func (b *Bucket) Majority(ctx context.Context) (bool, error) {
	info, err := b.info(ctx)
	if err != nil {
		return false, err
	}
	if info.Cluster == nil || len(info.Cluster.Replicas) == 0 {
		return true, nil
	}
	all, here := len(info.Cluster.Replicas)+1, 1
	for _, r := range info.Cluster.Replicas {
		if !r.Offline && r.Active < silent {
			here++
		}
	}
	return here > all/2, nil
}
