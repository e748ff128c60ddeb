package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/devlock"
)

// A Why is what keeps a call from its servers.
type Why string

// The causes of an UnavailableError.
const (
	NoServer Why = "no NATS server can be reached"
	NoQuorum Why = "the servers have no majority for the bucket"
	Slow     Why = "the server gives no answer: it, the network or most of the other servers are slow or down"
)

var _ devlock.AdvisedError = (*UnavailableError)(nil)

// An UnavailableError says that the servers did not do what a call asked for, as far as is known: an answer may have
// been lost.
type UnavailableError struct {
	Op      string // the call, for example "acquire"
	Device  string // empty: of none
	Why     Why
	Servers string        // those of Options, without credentials
	After   time.Duration // how long the call has tried
	Err     error         // what it met last
	text    string        // of Err, without credentials
}

// Error says what was tried, where, for how long, and why it failed.
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
	default:
		return "try again; if that does not help, look at the load of the NATS servers, and at the network between them and this node"
	}
}

// Unwrap returns what the call met last.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Error codes of JetStream.
const (
	wrongRevision = jetstream.JSErrCodeStreamWrongLastSequence         // 10071: another write has come first
	writeUnderWay = jetstream.JSErrCodeStreamWrongLastSequenceConstant // 10164: another write has not ended, or has just ended
)

// refused reports whether a server has refused a write because of the key's revision. Any other error leaves open
// whether the write was done.
func refused(err error) bool { return codeOf(err) == wrongRevision || codeOf(err) == writeUnderWay }

// codeOf returns the code of an error of JetStream; 0: it is none.
func codeOf(err error) jetstream.ErrorCode {
	if e, ok := errors.AsType[*jetstream.APIError](err); ok {
		return e.ErrorCode
	}
	return 0
}

// unavailable explains why a call that began at began has failed with err, which is the last error that it has met. The
// cause is asked for, so ctx must have some time left.
func (s *Store) unavailable(ctx context.Context, op, device string, began time.Time, err error) error {
	if ctx.Err() == context.Canceled { //nolint:errorlint // it is what a context returns
		return fmt.Errorf("lease: %s of device %q was canceled after %v: %w", op, device, time.Since(began).Round(time.Millisecond), ctx.Err())
	}
	return &UnavailableError{
		Op: op, Device: device, Why: s.why(ctx, err), Servers: s.o.shown(), After: time.Since(began),
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

// why finds out what keeps calls from being answered.
func (s *Store) why(ctx context.Context, err error) Why {
	switch {
	case !s.nc.IsConnected(), errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrConnectionClosed):
		return NoServer
	case errors.Is(err, nats.ErrNoResponders):
		return NoQuorum
	}
	if e, ok := errors.AsType[*jetstream.APIError](err); ok && e.Code == 503 {
		return NoQuorum
	}
	ok, err := s.majority(ctx)
	if errors.Is(err, nats.ErrNoResponders) || err == nil && !ok {
		return NoQuorum
	}
	return Slow
}

// silent is the time after which a server counts as gone that another has not heard of.
const silent = 3 * time.Second

// majority reports whether the leader of the bucket's stream has heard from most servers a short time ago.
func (s *Store) majority(ctx context.Context) (bool, error) {
	var info jetstream.StreamInfo
	if err := s.ask(ctx, "$JS.API.STREAM.INFO."+s.stream, nil, &info); err != nil {
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
