package term

import (
	"context"
	"io"
	"time"
)

// A Transport is the byte stream of one terminal.
//
// Read has a single caller, the session's pump, and is never given a buffer shorter than 4 KiB. Write has one
// caller at a time. Close may be called at any time, by anyone, more than once; it must wake a blocked Read and
// a blocked Write and must itself return within a second, whatever state the far side is in.
type Transport interface {
	io.ReadWriteCloser

	// Resize tells the far side the new size of the window, in character cells.
	// A transport that has no window returns an Error of kind Unsupported.
	Resize(cols, rows int) error
}

// The optional interfaces of a Transport are looked up once, when its session is made. A Transport must
// therefore never be wrapped in another one: the wrapper would hide them.
type (
	// An Execer runs a command beside the terminal, on a channel of its own, with a true exit status.
	//
	// Exec returns when the command has ended or ctx is done. When ctx ends first it stops the command as far
	// as the far side allows (TERM, then KILL, then closing the channel) and says so in Exit.Killed.
	// A command that failed is an Exit, not an error; an error means that the command could not be started, or
	// that its end could not be observed.
	Execer interface {
		Exec(ctx context.Context, r ExecRequest, stdout, stderr io.Writer) (Exit, error)
	}

	// A Signaler delivers a signal by name (INT, TERM, HUP, KILL, QUIT: RFC 4254 section 6.10, without "SIG").
	Signaler interface {
		Signal(ctx context.Context, name string) error
	}

	// A Subsystemer starts a subsystem of the far side by name, such as "sftp" (RFC 4254 section 6.5), beside the
	// terminal. ctx bounds the start only. Close ends the channel, wakes a Read and a Write that wait, and returns at once.
	Subsystemer interface {
		Subsystem(ctx context.Context, name string) (io.ReadWriteCloser, error)
	}

	// A Waiter knows how the program at the far end of the terminal ended. Wait is called once, after Read
	// has failed; it must not block.
	Waiter interface {
		Wait() (Exit, error)
	}

	// A Describer knows how the terminal was reached and what it can do. Describe answers for this moment: what a
	// device negotiates later (Telnet) changes the answer. It does not block.
	Describer interface {
		Describe() Description
	}

	// A KeySender presses the keys that have no byte of their own (KeyBreak and the others): its protocol has a
	// command for them. A key that this protocol or this server cannot press is an Error of kind Unsupported that
	// names it. SendKey may be called beside Write.
	KeySender interface {
		SendKey(ctx context.Context, name string) error
	}

	// A Divider says where data may be cut that is too long for one Write, if its protocol sends the end of a Write in
	// another way than the middle. Divide returns how many bytes of data the next Write may take: at least 1, at most
	// limit, which is less than len(data).
	Divider interface {
		Divide(data []byte, limit int) int
	}
)

// The keys of a KeySender.
const (
	KeyBreak            = "break"             // a serial line's break condition (RFC 4335, RFC 2217), or Telnet's BRK
	KeyInterruptProcess = "interrupt_process" // Telnet IP (RFC 854); ctrl_c is what most servers expect instead
	KeyAbortOutput      = "abort_output"      // Telnet AO
	KeyAreYouThere      = "ayt"               // Telnet AYT
	KeyEndOfFile        = "eof"               // Telnet EOF (RFC 1184); ctrl_d is what most servers expect instead
)

// ProtocolKeys returns the names of the keys of a KeySender.
func ProtocolKeys() []string {
	return []string{KeyBreak, KeyInterruptProcess, KeyAbortOutput, KeyAreYouThere, KeyEndOfFile}
}

// A Dialer opens a terminal. There is one per protocol, handed to the session manager in a map.
//
// The context is the session's, not the call's: it ends when the session is closed. A Dialer enforces
// Target.ConnectTimeout itself, not counting the time during which it waits for p to answer.
// Its errors are *Error.
//
// A Dialer that connects to other machines asks approve about what it has planned before the first byte goes to any of
// them, does just that, and connects to the very addresses that it has asked about. p may be nil, and so may approve,
// which then allows everything.
type Dialer func(ctx context.Context, t Target, p Prompter, approve Approve) (Transport, error)

// An ExecRequest is a command to run on a channel of its own.
type ExecRequest struct {
	Command string        // for the far side's shell
	Dir     string        // working directory; empty: wherever the far side starts commands
	Env     []EnvVar      // in order; a variable the far side refuses is an error, the command does not run
	Stdin   []byte        // given to the command, followed by end of file
	Grace   time.Duration // how long the command may take to obey TERM before KILL; zero: 2 s
}

// An EnvVar is one environment variable.
type EnvVar struct{ Name, Value string }

// An Exit says how a program ended.
type Exit struct {
	Started    bool   // the command was asked for: it may have run, even if nothing else is known
	Known      bool   // the far side reported Code or Signal
	Code       int    // exit status; 128 plus the signal's number when Signal is set; valid if Known
	Signal     string // name of the signal that ended it, without "SIG"; empty if none
	Background bool   // it ended, but something it started still holds its output open
	Killed     string // how stopping it ended: "" (not tried), "yes", or "unknown" (no proof that it is gone)
	Usage      Usage  // zero: not known
	Limit      string // the bound of Limits that it met: "cpu_s", "memory_bytes", "open_files", "processes"; empty: none is known
	Suspected  string // as Limit, if it may have met that, and the system does not tell
}

// Usage is what a program, and those it has waited for, have used.
type Usage struct {
	CPU    time.Duration // user and system
	MaxRSS int64         // the most memory that one of them held, in KiB
}

// A Process is the program of a local session.
type Process struct {
	PID    int
	Argv   []string
	Dir    string
	Title  string
	Limits Limits
}

// A Description says how a terminal was reached and what it can do.
type Description struct {
	PTY           bool   // the far side runs on a pseudo-terminal
	ServerBanner  string // what the server said before authentication (RFC 4252 section 5.4), or a console's greeting
	ServerVersion string // identification string (RFC 4253 section 4.2)
	HostKey       string // fingerprint of the accepted host key, "SHA256:..."
	AuthMethod    string // the authentication method that succeeded last
	Algorithms    Algorithms
	Security      string   // what a person should know about how the bytes travel; empty: they are protected
	TLS           *TLS     // nil: none
	Telnet        *Telnet  // nil: another protocol
	Process       *Process // nil: another machine's
	Ladder        []Hop
	Warnings      []string
	Capabilities  Capabilities
}

// Algorithms are the negotiated algorithms of an SSH connection, client to server (RFC 4253 section 7.1).
type Algorithms struct {
	Kex     string `json:"kex,omitempty"`
	HostKey string `json:"host_key,omitempty"`
	Cipher  string `json:"cipher,omitempty"`
	MAC     string `json:"mac,omitempty"` // empty with an AEAD cipher
}

// TLS is what protects a connection that is not SSH.
type TLS struct {
	Version     string `json:"version"` // "TLS 1.3"
	CipherSuite string `json:"cipher_suite"`
	Certificate string `json:"certificate"` // fingerprint of the server's, "SHA256:..."
	Verified    string `json:"verified"`    // "chain": by authority and name; "pin": by fingerprint; "no"
}

// Telnet is what is agreed on a Telnet connection at the moment. Options are named as in the IANA registry, in
// lower case with underscores ("echo", "terminal_type", "naws").
type Telnet struct {
	Raw        bool     `json:"raw"`                  // the far side has not spoken Telnet: bytes go as they are
	Local      []string `json:"local,omitempty"`      // options performed by us
	Remote     []string `json:"remote,omitempty"`     // options performed by the far side
	RemoteEcho bool     `json:"remote_echo"`          // it echoes what is typed
	BinaryIn   bool     `json:"binary_in"`            // it sends eight bits
	BinaryOut  bool     `json:"binary_out"`           // it takes eight bits
	Terminal   string   `json:"terminal,omitempty"`   // the terminal name told last
	Cols       int      `json:"cols,omitempty"`       // the window size told last
	Rows       int      `json:"rows,omitempty"`       //
	Enter      string   `json:"enter"`                // what the enter key sends: "cr", "crlf", "crnul", "lf"
	Charset    string   `json:"charset,omitempty"`    // agreed by RFC 2066
	Serial     bool     `json:"serial,omitempty"`     // speed, framing and break of a serial line can be set (RFC 2217)
	Suppressed int64    `json:"suppressed,omitempty"` // requests left unanswered because there were too many
	Malformed  int64    `json:"malformed,omitempty"`  // commands that made no sense
}

// Support is the answer to "can this session do that?".
type Support string

// The four degrees of Support.
const (
	Yes        Support = "yes"
	No         Support = "no"
	BestEffort Support = "best_effort" // often, not always, and the result says which
	Maybe      Support = "maybe"       // not known before it is tried
)

// Capabilities say what one session supports.
type Capabilities struct {
	SplitStdoutStderr Support `json:"supports_split_stdout_stderr"`
	ExitCode          Support `json:"supports_exit_code"`
	Resize            Support `json:"supports_resize"`
	Signal            Support `json:"supports_signal"`
	ParallelExec      Support `json:"supports_parallel_exec"`
}
