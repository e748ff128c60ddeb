package aiterm

import (
	"errors"
	"fmt"
	"time"

	"ptyctl/mcpapi/wire"
	"ptyctl/term"
)

// A Code classifies a failure. The codes are those of the service and must never be
// renamed, because its clients compare them.
type Code string

// The codes of the service.
const (
	ETimeout       Code = "ETIMEOUT"
	ECanceled      Code = "ECANCELED"      // the client has canceled the call
	ERLimit        Code = "ERLIMIT"        // a limit of the operator or of the system
	EDenied        Code = "EDENIED"        // a rule, a missing permission, or a lock of another task
	EBadArgs       Code = "EBADARGS"       // wrong arguments; the message says how to correct them
	EIO            Code = "EIO"            // any failure of the system or the connection
	ENotFound      Code = "ENOTFOUND"      // no such terminal or file
	ESessionClosed Code = "ESESSIONCLOSED" // the program in the terminal has ended
)

// codes has the Code of every term.Kind. A test compares it with the constants of package
// term.
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
	term.NodeUnreachable: EIO,
	term.NodeSilent:      EIO,
}

// failed is the error of a call. It carries the call, so that the failure has its
// correlation id.
type failed struct {
	call *call
	err  error
}

func (f *failed) Error() string { return f.call.id + ": " + f.err.Error() }
func (f *failed) Unwrap() error { return f.err }

// incomplete is an error of a call that still has a partial result, for example the
// output of a program that was stopped.
type incomplete struct {
	err  error
	done any
}

func (p *incomplete) Error() string { return p.err.Error() }
func (p *incomplete) Unwrap() error { return p.err }

// A failure is the JSON form of an error.
type failure struct {
	Code    Code    `json:"code" is:"listed" doc:"failures only, as message and details"`
	Message string  `json:"message" is:"listed"`
	Details details `json:"details" is:"listed"`
	meta
}

// details are the facts of a failure, for programs.
type details struct {
	Retryable bool   `json:"retryable"` // the same call may succeed later
	ID        string `json:"id,omitempty"`
	*wire.Details
	Result any `json:"result,omitempty"` // partial result
}

// newFailure converts err to a failure. If the call was refused before it reached its
// tool, the failure gets a new correlation id. The text of an unexpected error stays in
// the log, because it may hold secrets.
func newFailure(err error) failure {
	kind := term.KindOf(err)
	out := failure{Code: codes[kind], Message: internalFault, Details: details{Retryable: kind.Retryable()}}
	if e, ok := errors.AsType[*term.Error](err); ok {
		out.Details.ID, out.Details.Details = e.Session, wire.DetailsOf(e)
		if kind != term.Internal || e.Msg != "" {
			out.Message = message(e)
		}
	}
	if out.Code == "" { // a Kind that codes does not have yet
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

func (f failure) answer() wire.Answer { return answer(f, true) }

const internalFault = "internal error in ptyctl: the cause is in its log; other terminals are not affected"

// message returns the cause of an error and the next step. The messages of the session
// package are replaced where their advice would not name the tools of this set.
func message(e *term.Error) string {
	switch e.Kind {
	case term.NotFound:
		if e.Session != "" {
			return fmt.Sprintf("no terminal %q: not opened by pty_open, or ended and no longer kept; "+
				"open one with pty_open", e.Session)
		}
	case term.AlreadyClosed, term.RemoteClosed:
		why := ""
		if end := term.FactOf[term.Ended](e); end.Reason != "" {
			why = " (" + end.Reason + ")"
		}
		return "terminal has ended" + why + "; pty_read returns the rest of its output, pty_close its exit code; " +
			"open a new one with pty_open to go on"
	case term.Locked, term.LockRequired:
		holder := ""
		if held := term.FactOf[term.LockConflict](e); held.Holder != "" {
			holder = ": " + held.Holder + " holds it until " + held.Expires.UTC().Format(time.RFC3339)
		}
		return "terminal locked by another task" + holder + "; pty_read is allowed; wait, or open another with pty_open"
	case term.Busy:
		if term.NeedsPerson(e) {
			break
		}
		return "terminal busy: it takes no input now; read its output with pty_read, and try again"
	case term.NodeUnreachable:
		if e.Session == "" {
			return wire.Plain(e) + "; try again later"
		}
		return wire.Plain(e) + "; try again later: if it stays so, the terminal is lost, and pty_open opens a new one"
	case term.NodeSilent:
		if e.Session != "" {
			return wire.Plain(e) + "; look with pty_read before you repeat it"
		}
	}
	return wire.Plain(e)
}
