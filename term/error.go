package term

import (
	"context"
	"errors"
	"fmt"
)

// A Kind classifies an Error. It is also an error itself, so that
//
//	errors.Is(err, term.Locked)
//
// reports whether err is of that kind. New kinds are added at the end, and no kind may
// ever be renamed, because programs compare them.
type Kind string

// ErrStopping is, or is wrapped by, the cause (context.Cause) of a context that ends because the program does. Work
// begun under it ends then, too, where a call that is canceled for another reason may leave something running.
var ErrStopping = errors.New("ptyctl is stopping")

// CanceledMsg is the message of a call that ended with ctx: otherwise, unless the program is stopping, because then
// the promises of that text would be false.
func CanceledMsg(ctx context.Context, otherwise string) string {
	if errors.Is(context.Cause(ctx), ErrStopping) {
		return "ptyctl is stopping, which ends its sessions; what they have shown cannot be read again"
	}
	return otherwise
}

// Kinds of failures.
const (
	InvalidArgument Kind = "INVALID_ARGUMENT" // wrong arguments; the message says how to correct them
	NotFound        Kind = "NOT_FOUND"        // no such session, command or file
	AlreadyClosed   Kind = "ALREADY_CLOSED"   // the session has ended; it can still be read
	ConnectTimeout  Kind = "CONNECT_TIMEOUT"  // no connection in time
	ConnectFailed   Kind = "CONNECT_FAILED"   // refused, or broken on the way
	RemoteClosed    Kind = "REMOTE_CLOSED"    // ended by the peer
	IOError         Kind = "IO_ERROR"         // any other failure of the system
	AuthFailed      Kind = "AUTH_FAILED"      // no credential was accepted
	HostKeyUnknown  Kind = "HOSTKEY_UNKNOWN"  // known_hosts has no key of this host
	HostKeyMismatch Kind = "HOSTKEY_MISMATCH" // known_hosts has another key of this host
	HostKeyRevoked  Kind = "HOSTKEY_REVOKED"  // the key is marked as revoked
	Locked          Kind = "LOCKED"           // another task holds the session's lock, or another process the console
	LockRequired    Kind = "LOCK_REQUIRED"    // the caller's lock is missing or has expired
	Busy            Kind = "BUSY"             // a command runs, or something waits for input
	ExecTimeout     Kind = "EXEC_TIMEOUT"     // the command could not be started in time
	LimitExceeded   Kind = "LIMIT_EXCEEDED"   // an operator's limit is reached
	PolicyDenied    Kind = "POLICY_DENIED"    // an operator's rule forbids it
	Unsupported     Kind = "UNSUPPORTED"      // not supported by the server, the protocol or this build
	Canceled        Kind = "CANCELED"         // the client has canceled the call
	NegotiationLoop Kind = "NEGOTIATION_LOOP" // the device negotiates without end
	Internal        Kind = "INTERNAL"         // a fault in ptyctl
	AccessDenied    Kind = "ACCESS_DENIED"    // refused by a file's permissions, here or on the far side
	NodeUnreachable Kind = "NODE_UNREACHABLE" // another node does not answer, and nothing was done there
	NodeSilent      Kind = "NODE_SILENT"      // another node does not answer; whether it acted is unknown
)

// Error makes a Kind an error, so that it can be the target of errors.Is.
func (k Kind) Error() string { return string(k) }

// Retryable reports whether the same call may succeed later.
func (k Kind) Retryable() bool {
	switch k {
	case ConnectTimeout, ConnectFailed, RemoteClosed, IOError, Locked, LockRequired, Busy, ExecTimeout, LimitExceeded, NodeUnreachable:
		return true
	default:
		return false
	}
}

// An Error is a failure that the caller can act on.
type Error struct {
	Op      string // the operation, for example "open"
	Session string // session id; empty: none
	Kind    Kind
	Reason  Reason // the cause in more detail; empty: Kind says everything
	Msg     string // what happened and why; must not contain a secret
	Advice  string // next step for callers of this library; empty: Msg has it
	Facts   Facts  // for a program to act on
	Err     error  // the cause from another package; nil: none
}

// Errorf returns an Error of kind k. The message is formatted as by fmt.Errorf; a %w verb
// sets the cause.
func Errorf(k Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: k, Msg: err.Error(), Err: errors.Unwrap(err)}
}

// Error returns "op session: message".
func (e *Error) Error() string {
	s := e.Message()
	switch {
	case e.Op != "" && e.Session != "":
		return e.Op + " " + e.Session + ": " + s
	case e.Op != "":
		return e.Op + ": " + s
	default:
		return s
	}
}

// Message returns the text for the caller, without operation and session: what happened,
// why, and what to do.
func (e *Error) Message() string {
	switch {
	case e.Msg != "" && e.Advice != "":
		return e.Msg + "; " + e.Advice
	case e.Msg != "":
		return e.Msg
	case e.Err != nil:
		return e.Err.Error()
	default:
		return string(e.Kind)
	}
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is e's Kind.
func (e *Error) Is(target error) bool {
	k, ok := target.(Kind)
	return ok && k == e.Kind
}

// KindOf returns the Kind of err; Internal for an error that carries none, and "" for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}
