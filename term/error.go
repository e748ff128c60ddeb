package term

import (
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
)

// Error makes a Kind an error, so that it can be the target of errors.Is.
func (k Kind) Error() string { return string(k) }

// Retryable reports whether the same call may succeed later.
func (k Kind) Retryable() bool {
	switch k {
	case ConnectTimeout, ConnectFailed, RemoteClosed, IOError, Locked, LockRequired, Busy, ExecTimeout, LimitExceeded:
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
	Details *Details
	Err     error // the cause from another package; nil: none
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

// Details are the facts behind an Error, for a program to act on. Which fields are set depends on its Kind.
type Details struct {
	// INVALID_ARGUMENT
	Field    string   `json:"field,omitempty"`
	Allowed  []string `json:"allowed,omitempty"`  // fields, or values of Field
	Example  string   `json:"example,omitempty"`  // arguments of a correct call, as JSON
	Position string   `json:"position,omitempty"` // where in the value, for patterns

	// LOCKED, LOCK_REQUIRED
	LockHolder    string `json:"lock_holder,omitempty"`     // the task, or the person's name; "another client" to other principals, as in TakenOverBy
	LockExpiresAt int64  `json:"lock_expires_at,omitempty"` // Unix milliseconds
	TakenOverBy   string `json:"taken_over_by,omitempty"`   // task that took the caller's lock over
	TypedSince    *int64 `json:"typed_since,omitempty"`     // bytes that others have typed since then

	// of a write that was permitted: what of it went out before it failed
	BytesWritten *int `json:"bytes_written,omitempty"`

	DeviceOwner *DeviceOwner `json:"device_owner,omitempty"` // LOCKED: the process that has the console

	// CONNECT_*, AUTH_FAILED, HOSTKEY_*
	Ladder         []Hop    `json:"ladder,omitempty"`
	Hop            string   `json:"hop,omitempty"` // user@host:port where it happened
	MethodsTried   []string `json:"methods_tried,omitempty"`
	MethodsAllowed []string `json:"methods_allowed,omitempty"`
	KeysOffered    []string `json:"keys_offered,omitempty"` // fingerprints
	ServerMessage  string   `json:"server_message,omitempty"`

	// HOSTKEY_*
	HostKeyType  string     `json:"host_key_type,omitempty"`
	Fingerprint  string     `json:"fingerprint,omitempty"` // offered by the server
	Recorded     []KnownKey `json:"recorded,omitempty"`
	KnownHosts   []string   `json:"known_hosts,omitempty"` // files that were read
	ServerOffers []string   `json:"server_offers,omitempty"`

	Warnings []string `json:"warnings,omitempty"` // about the configuration that led there

	// LIMIT_EXCEEDED, POLICY_DENIED
	Limit string `json:"limit,omitempty"` // configuration key
	Value int64  `json:"value,omitempty"`
	Rule  string `json:"rule,omitempty"`

	Part    Field   `json:"-"` // INVALID_ARGUMENT: the part of the request that is wrong
	Bound   Limit   `json:"-"` // LIMIT_EXCEEDED: the limit that is reached
	Setting Setting `json:"-"` // POLICY_DENIED: what the operator does not allow

	Consent *Consent `json:"-"` // POLICY_DENIED: what a person can allow; nil: nobody can

	// BUSY
	Prompt     *Prompt  `json:"prompt,omitempty"`      // of a login that waits for its answer
	WaitingFor *Waiting `json:"waiting_for,omitempty"` // of a terminal
	Exec       string   `json:"-"`                     // command that runs
	Channel    bool     `json:"-"`                     // the session has a channel lane

	// ALREADY_CLOSED, REMOTE_CLOSED
	EndReason string `json:"end_reason,omitempty"`
}

// A DeviceOwner is the process on this machine that has the session of a console device.
type DeviceOwner struct {
	PID       int    `json:"pid"`
	Socket    string `json:"socket,omitempty"` // where it can be reached; empty: nowhere
	SessionID string `json:"session_id,omitempty"`
	Since     int64  `json:"since,omitempty"` // Unix milliseconds
}

// A KnownKey is a host key on record.
type KnownKey struct {
	File        string `json:"file,omitempty"`
	Line        int    `json:"line,omitempty"`
	Type        string `json:"type,omitempty"`
	Fingerprint string `json:"fingerprint"`
}

// A Hop is one host on the way to a terminal, with the rungs that were climbed.
type Hop struct {
	Host    string `json:"host"`
	Port    int    `json:"port,omitempty"`
	User    string `json:"user,omitempty"`
	Address string `json:"address,omitempty"` // numeric address and port, once connected
	Steps   []Step `json:"steps,omitempty"`
}

// A Step is one rung of the connection ladder: dns, tcp, banner, kex, hostkey, auth, channel; dns, tcp, tls, telnet.
type Step struct {
	Name       string `json:"name"`
	OK         bool   `json:"ok"`
	DurationMS int64  `json:"duration_ms"`
	Detail     string `json:"detail,omitempty"`
}
