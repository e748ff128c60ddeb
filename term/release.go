package term

import (
	"context"
	"time"
)

// A Peer is the far side of a connection, to which a secret would go, as far as it is proven. It does not describe a
// host that a person or a program has reached from there, for example by a nested ssh.
type Peer struct {
	Protocol string       // "ssh", "telnet", "serial" or "local"
	Session  string       // id of the session; empty: of none
	User     string       // the account of the login; empty: unknown
	Host     string       // the host's own name, after all settings; empty: this machine, or a serial line of it
	Port     int          // of the host
	Names    []string     // the names by which the operator's own settings lead to this host
	HostKey  HostKeyProof // SSH: how the operator's record has proven the host's key before this login; empty: unknown
	TLS      string       // Telnet: how the operator's own settings prove the Host, as TLS.Verified; empty: they do not
	Device   string       // the path of a serial line's device, without links
}

// A Peerer is a Transport that knows its Peer. It leaves Session empty. Peer must not block.
type Peerer interface{ Peer() Peer }

// An Echoer is a Transport that knows whether its terminal shows the input: Yes, No, or Maybe if that is up to the
// program there. Echoes must not block.
type Echoer interface{ Echoes() Support }

// A SecretUse is the way by which a secret goes out.
type SecretUse string

// The uses.
const (
	SecretLogin    SecretUse = "login"    // as the answer to a question of a login
	SecretTerminal SecretUse = "terminal" // typed at a question in a terminal
	SecretStdin    SecretUse = "stdin"    // on the standard input of a command
)

// A SecretRequest asks for the value of a secret of the operator, to be used once.
type SecretRequest struct {
	Name       string // of the secret
	Use        SecretUse
	Peer       Peer
	Prompt     string // SecretTerminal: the line with the cursor, as a person sees it
	Echo       bool   // SecretTerminal: the terminal shows the input
	Typed      bool   // SecretTerminal: something was typed at that line before
	Shell      bool   // SecretTerminal: the line is the prompt of a shell
	FullScreen bool   // SecretTerminal: a program has the whole screen
	Sudo       bool   // SecretStdin: it goes to sudo alone, after sudo has asked for it
	Command    string // SecretStdin: the line that the caller wants run, for people and for the record

	// Action is the command that reads the secret, as a Gate judges it: SecretStdin without Sudo.
	Action Action
	Alone  bool // SecretStdin: Peer.Session is of this command alone, so that the same request again is of another session

	Wait time.Duration // for a person who must agree or give the value; 0: as long as ctx allows
}

// Secrets gives out the operator's secrets. Its methods may be called by any number of goroutines. An error is an
// *Error: POLICY_DENIED with the condition that does not hold, NOT_FOUND, or AUTH_FAILED if there is no value. ctx
// carries the Actor who asks.
type Secrets interface {
	// Check returns the error of a request that Release would refuse whatever the source says. It uses nothing, and asks
	// no person. For a command that reads the secret, the ruling has the form in which it must run, as a Gate's has.
	Check(ctx context.Context, r SecretRequest) (Ruling, error)

	// Release returns a value, which the caller uses at once and clears. It may wait for a vault or for a person. Its
	// caller must then check that the request still describes the terminal. If a person has not answered in time, the
	// error is BUSY: the same request, made again, uses their answer.
	Release(ctx context.Context, r SecretRequest) ([]byte, error)

	// List returns the secrets that the Actor of ctx may use, in the operator's order.
	List(ctx context.Context) []SecretInfo
}

// SecretInfo is the public description of a secret. It has neither a value nor the place of one.
type SecretInfo struct {
	Name     string
	Hint     string
	Uses     []SecretUse
	Hosts    []string // patterns
	Devices  []string // patterns
	Local    bool     // programs on the machine of this process
	Users    []string // patterns; empty: all
	Prompts  []string // regular expressions of the questions that it answers; empty: those for a password, or a code
	Commands []string // that may read it; empty: sudo alone
	Auto     bool     // it answers such questions of logins without being asked to
	OneTime  bool     // its values are codes
	Person   bool     // a person gives the value, or agrees to its use
}

// A SecretQuestion asks a person of the operator about the use of a secret.
type SecretQuestion struct {
	Secret string // name
	Rule   string // that wants it
	Value  bool   // the person gives the value; else they agree to the use
	// Lasting says that they also agree to later uses of this caller in the session, or at the host if it has none yet.
	Lasting bool
	About   SecretRequest
}

// A SecretPerson asks people about secrets. Its methods may be called by any number of goroutines.
type SecretPerson interface {
	// AskSecret returns when a person has agreed, with the value if that was asked for, which the caller clears. The error
	// is an *Error: POLICY_DENIED if the person refuses or none can be asked, or BUSY as Secrets.Release has it.
	AskSecret(ctx context.Context, q SecretQuestion) (value []byte, err error)
}

// PersonAnswers is the error of an Answerer that leaves the question to a person of the operator, and not to the
// caller that opens the connection.
type PersonAnswers struct {
	Secret string // name
	// Gave is called with the answer before it is sent. Its error, an *Error, ends the login. It may be nil.
	Gave func(value []byte) error
}

// Error implements error.
func (e *PersonAnswers) Error() string {
	return "secret " + e.Secret + ": a person has to give the value"
}
