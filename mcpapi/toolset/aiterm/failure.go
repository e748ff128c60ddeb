package aiterm

import (
	"errors"
	"fmt"
	"time"

	"ptyctl/mcpapi"
	"ptyctl/term"
)

// A Code classifies a failure. Codes are those of the service; none is ever renamed.
type Code string

// The codes.
const (
	ETimeout       Code = "ETIMEOUT"
	ECanceled      Code = "ECANCELED"
	ERLimit        Code = "ERLIMIT"        // a limit, of the operator or of the system
	EDenied        Code = "EDENIED"        // a rule, a permission or somebody's lock
	EBadArgs       Code = "EBADARGS"       // the call is wrong; the message says how to make it right
	EIO            Code = "EIO"            // anything lower
	ENotFound      Code = "ENOTFOUND"      // no such terminal or file
	ESessionClosed Code = "ESESSIONCLOSED" // the program in the terminal has ended
)

// codes has the Code of every term.Kind.
var codes = map[term.Kind]Code{
	term.InvalidArgument: EBadArgs,
	term.NotFound:        ENotFound,
	term.AlreadyClosed:   ESessionClosed,
	term.ConnectTimeout:  ETimeout,
	term.ConnectFailed:   EIO,
	term.RemoteClosed:    ESessionClosed,
	term.IOError:         EIO,
	term.AuthFailed:      EDenied,
	term.HostKeyUnknown:  EDenied,
	term.HostKeyMismatch: EDenied,
	term.HostKeyRevoked:  EDenied,
	term.Locked:          EDenied,
	term.LockRequired:    EDenied,
	term.Busy:            ERLimit,
	term.ExecTimeout:     ETimeout,
	term.LimitExceeded:   ERLimit,
	term.PolicyDenied:    EDenied,
	term.Unsupported:     EBadArgs,
	term.Canceled:        ECanceled,
	term.NegotiationLoop: EIO,
	term.Internal:        EIO,
	term.AccessDenied:    EDenied,
}

// failed is the error of a call.
type failed struct {
	call *call
	err  error
}

func (f *failed) Error() string { return f.call.id + ": " + f.err.Error() }
func (f *failed) Unwrap() error { return f.err }

// incomplete is an error of something that has a result all the same, in part.
type incomplete struct {
	err  error
	done any
}

func (p *incomplete) Error() string { return p.err.Error() }
func (p *incomplete) Unwrap() error { return p.err }

// A failure is the form of an error on the wire.
type failure struct {
	Code    Code    `json:"code"`
	Message string  `json:"message"`
	Details details `json:"details"`
	meta
}

// details are the facts behind a failure, for a program to act on.
type details struct {
	Retryable bool   `json:"retryable"` // the same call may succeed later
	ID        string `json:"id,omitempty"`
	*term.Details
	Result any `json:"result,omitempty"` // what the call has done before it failed
}

// newFailure makes one of an error: of a call, or of what was refused before it came to that.
func newFailure(err error) failure {
	kind := term.KindOf(err)
	out := failure{Code: codes[kind], Message: internalFault, Details: details{Retryable: kind.Retryable()}}
	if e, ok := errors.AsType[*term.Error](err); ok {
		out.Details.ID, out.Details.Details = e.Session, mcpapi.Details(e)
		if kind != term.Internal || e.Msg != "" {
			out.Message = message(e)
		}
	}
	if out.Code == "" { // a Kind of later; the tests see to it that there is none
		out.Code = EIO
	}
	if p, ok := errors.AsType[*incomplete](err); ok {
		out.Details.Result = p.done
	}
	if f, ok := errors.AsType[*failed](err); ok {
		out.stamp(f.call)
	} else {
		out.stamp(&call{id: newCorrelation(), began: time.Now()})
	}
	return out
}

func (f failure) answer() mcpapi.Answer { return answer(f, true) }

const internalFault = "a fault in ptyctl; its log has the cause. Other terminals are not affected"

// message says what happened and what to do next. Where the session layer would advise with tools that are not offered
// here, it says so in the names of these.
func message(e *term.Error) string {
	switch e.Kind {
	case term.NotFound:
		if e.Session != "" {
			return fmt.Sprintf(
				"there is no terminal %q: pty_open has not opened it, or it has ended and is no longer kept; open one with pty_open",
				e.Session,
			)
		}
	case term.AlreadyClosed, term.RemoteClosed:
		why := ""
		if e.Details != nil && e.Details.EndReason != "" {
			why = " (" + e.Details.EndReason + ")"
		}
		return "the terminal has ended" + why + "; pty_read still has the rest of its output, pty_close its exit code, and for anything else open a new one with pty_open"
	case term.Locked, term.LockRequired:
		holder := ""
		if e.Details != nil && e.Details.LockHolder != "" {
			holder = ": " + e.Details.LockHolder + " holds it until " + time.UnixMilli(e.Details.LockExpiresAt).
				UTC().
				Format(time.RFC3339)
		}
		return "the terminal is locked for others" + holder + "; pty_read is allowed, for anything else wait, or open another one with pty_open"
	case term.Busy:
		return "the terminal does not take that now; look at what it shows with pty_read, and try again"
	}
	return mcpapi.Plain(e)
}
