package term

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"
)

// A Fact is something that a program can act on, which an Error carries beside its text. Each
// type of fact belongs to some kinds of errors; FactOf returns one.
type Fact interface{ fact() }

// Facts are the facts of one Error, at most one of each type.
type Facts []Fact

// With returns a copy of f with one more fact, which replaces that of the same type. The copy
// matters because several callers may share one error.
func (f Facts) With(fact Fact) Facts {
	out := slices.DeleteFunc(
		slices.Clone(f),
		func(old Fact) bool { return reflect.TypeOf(old) == reflect.TypeOf(fact) },
	)
	return append(out, fact)
}

// FactOf returns the fact of type F of the first *Error that err wraps, and the zero value without
// one. For example
//
//	term.FactOf[term.LockConflict](err).Holder
//
// is the task that holds the lock.
func FactOf[F Fact](err error) F {
	if e, ok := errors.AsType[*Error](err); ok {
		for _, fact := range e.Facts {
			if f, ok := fact.(F); ok {
				return f
			}
		}
	}
	var none F
	return none
}

// An ArgumentFault is the wrong part of a request (InvalidArgument, Unsupported, PolicyDenied).
type ArgumentFault struct {
	Field    Field
	Allowed  []string // values that Field may have, or fields
	Example  string   // a correct request, in the caller's own format
	Position string   // where in the value, for patterns
}

// Absent says that something of this machine is not there (ConnectFailed). Await returns nil once it is there, without
// looking again and again, or the cause of the end of ctx. Nil: its return is not noticed.
type Absent struct {
	Await func(ctx context.Context) error
}

// A LockConflict is the lock that another task holds (Locked).
type LockConflict struct {
	Holder  string // the task, or the person's name; "another client" for other principals
	Expires time.Time
}

// TakenOver says that another task took over the lock, or the terminal, of the caller (Locked, LockRequired).
type TakenOver struct {
	By    string // as LockConflict.Holder
	Typed int64  // bytes that others have typed since then
}

// A PartialWrite counts the bytes that a failed write has written before (any kind).
type PartialWrite struct{ Written int }

// A DeviceOwner is the process that has the session of a console device (Locked).
type DeviceOwner struct {
	Node      string // of a cluster; empty: it is on this machine
	PID       int
	Socket    string // where it can be reached; empty: nowhere
	SessionID string
	Since     time.Time
}

// An UnreachedNode is the node of a cluster that has given no answer (NodeUnreachable, NodeSilent).
type UnreachedNode struct{ Node string }

// A ConnectFailure says where and why a connection or login ended (ConnectTimeout, ConnectFailed,
// AuthFailed, HostKey*, PolicyDenied).
type ConnectFailure struct {
	Ladder         []Hop
	Hop            string // user@host:port where it happened
	MethodsTried   []string
	MethodsAllowed []string
	KeysOffered    []string // fingerprints, those of certificates with " (certificate)" after them
	KeysUntried    []string // the same, for keys that were left when the server ended the login
	Unused         []string // reasons why keys and methods were not used
	ServerMessage  string
	ServerOffers   []string // algorithms
	Warnings       []string // about the configuration that led there
}

// A HostKeyFailure is a key or certificate that was not accepted (HostKeyUnknown, HostKeyMismatch, HostKeyRevoked).
type HostKeyFailure struct {
	Type        string
	Fingerprint string // offered by the server
	Recorded    []KnownKey
	KnownHosts  []string // files that were read
}

// LimitReached is the operator's limit that stopped the action (LimitExceeded).
type LimitReached struct {
	Limit Limit
	Value int64
}

// A Denial is the rule that forbids the action (PolicyDenied, AuthFailed).
type Denial struct {
	Rule    string   // the operator's, with its origin; empty: Setting
	Setting Setting  // a feature that the operator does not allow
	Allowed []string // entries that the rules have
	Consent *Consent // a person's consent that would allow it; nil: none would
}

// Occupied describes the obstacle to running a command in the terminal (Busy), or the command that a call left
// running (Canceled).
type Occupied struct {
	Waiting *Waiting
	Exec    string // command that runs; empty: none
	Channel bool   // the session has a channel lane
	Pattern string // matches the last line, if the caller knows that it is a prompt; empty: none would help
}

// Unanswered are the caller's own logins that wait for an answer (Busy).
type Unanswered struct {
	Sessions []string // ids
}

// HostNamed is the target of a call that has named it in place of a session, and could say nothing else about the way
// there (any kind).
type HostNamed struct {
	Protocol, Host, User string
	Port                 int // 0: the protocol's own
}

// Ended is how the session ended (AlreadyClosed, RemoteClosed, Canceled).
type Ended struct {
	Reason string // for a person
	Code   string // for a program, for example "idle"; empty: unknown
	Before bool   // before the action began, so that nothing of it was done
}

func (ArgumentFault) fact()  {}
func (Absent) fact()         {}
func (LockConflict) fact()   {}
func (TakenOver) fact()      {}
func (PartialWrite) fact()   {}
func (DeviceOwner) fact()    {}
func (UnreachedNode) fact()  {}
func (ConnectFailure) fact() {}
func (HostKeyFailure) fact() {}
func (HostNamed) fact()      {}
func (LimitReached) fact()   {}
func (Unanswered) fact()     {}
func (Denial) fact()         {}
func (Occupied) fact()       {}
func (Ended) fact()          {}
func (Prompt) fact()         {} // Busy, AuthFailed: the question of a login that waits for its answer

// A KnownKey is a host key on record.
type KnownKey struct {
	File        string
	Line        int
	Type        string
	Fingerprint string
}

// A Hop is one host on the way to a terminal, with the steps that were reached.
type Hop struct {
	Host    string
	Port    int
	User    string
	Address string // numeric address and port, once connected
	Steps   []Step
}

// A Step is one step of a connection: dns, tcp (or proxy), banner, kex, hostkey, auth, channel; dns, tcp, tls, telnet.
type Step struct {
	Name       string
	OK         bool
	DurationMS int64
	Detail     string
}
