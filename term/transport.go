package term

import (
	"cmp"
	"context"
	"io"
	"time"
)

// A Transport is the byte stream of one terminal.
//
// Read has a single caller, the session's pump, with a buffer of at least 4 KiB. Write
// has one caller at a time. Close may be called at any time, from any goroutine and more
// than once. It must wake a blocked Read and a blocked Write, and must return within a
// second, in any state of the far side.
type Transport interface {
	io.ReadWriteCloser

	// Resize sends the far side the new size of the window in characters. A transport without a window returns an
	// Error of kind Unsupported.
	Resize(cols, rows int) error
}

// Optional interfaces of a Transport. They are looked up once, when its session is
// created. A Transport must not be wrapped in another one, because the wrapper would hide
// them.
type (
	// An Execer runs a command on its own channel beside the terminal and reports its exit
	// status.
	//
	// Exec returns when the command has ended or ctx is done. If ctx ends first, Exec stops
	// the command as far as the far side allows (TERM, then KILL, then closing the channel)
	// and reports the outcome in Exit.Killed. A command that failed is an Exit, not an
	// error. An error means that the command could not be started, or that its end could not
	// be observed.
	//
	// As in os/exec, output for a nil writer is discarded. A writer that fails gets no more of
	// it. A writer that panics ends this command alone, with an error: see SafeWriter.
	Execer interface {
		Exec(ctx context.Context, r ExecRequest, stdout, stderr io.Writer) (Exit, error)
	}

	// A Signaler delivers a signal by name (INT, TERM, HUP, KILL, QUIT: RFC 4254 section 6.10, without "SIG").
	Signaler interface {
		Signal(ctx context.Context, name string) error
	}

	// A Subsystemer starts a subsystem of the far side by name, for example "sftp" (RFC 4254
	// section 6.5), beside the terminal. ctx limits only the start. Close ends the channel,
	// wakes a blocked Read and Write, and returns at once.
	Subsystemer interface {
		Subsystem(ctx context.Context, name string) (io.ReadWriteCloser, error)
	}

	// A Forwarder opens connections from the far side to other addresses, beside the terminal. The far side resolves
	// host. ctx limits only the opening. An error of kind Unsupported means that the far side forwards nothing there.
	Forwarder interface {
		Forward(ctx context.Context, host string, port int) (Stream, error)
	}

	// A Waiter reports how the program at the far end of the terminal ended. Wait is called
	// once, after Read has failed; it must not block.
	Waiter interface {
		Wait() (Exit, error)
	}

	// An Outliver has a connection that may outlive its terminal: commands go on to run on it.
	// Connection is called once, after Read has ended. It returns a channel that is closed when
	// the connection has ended, for the reason that Lost then returns, or nil if nothing is left
	// of the transport without its terminal.
	Outliver interface {
		Connection() <-chan struct{}
		Lost() error
	}

	// A Describer describes the terminal and its connection. The answer is valid for the
	// moment only, since a device may negotiate further (Telnet). Describe must not block.
	Describer interface {
		Describe() Description
	}

	// A Prober looks at the programs in front of a terminal of this machine. It must not block.
	Prober interface {
		Probe() Front
	}

	// A KeySender presses keys that have no byte of their own (KeyBreak and the others) by a
	// command of its protocol. For a key that the protocol or the server does not support,
	// SendKey returns an Error of kind Unsupported. SendKey may be called concurrently with
	// Write.
	KeySender interface {
		SendKey(ctx context.Context, name string) error
	}

	// A Transparenter carries every byte unchanged in both directions, for a protocol that moves
	// files, from the return of Transparent until restore is called. doubt says why bytes may be
	// changed nevertheless; it is empty if they are not. An error means that some certainly would
	// be. Read must go on meanwhile. A transport without it does so always.
	Transparenter interface {
		Transparent(ctx context.Context) (restore func(), doubt string, err error)
	}

	// A Divider says where to cut data that is too long for one Write, if its protocol
	// encodes the end of a Write differently from the middle. Divide returns the number of
	// bytes for the next Write: at least 1, at most limit, which is less than len(data).
	Divider interface {
		Divide(data []byte, limit int) int
	}
)

// A Stream is a connection that a Forwarder has opened. Read and Write have one caller each. Close returns at once, and
// wakes them as soon as the far side has confirmed it or the connection below has ended.
type Stream interface {
	io.ReadWriteCloser

	// CloseWrite passes on the end of the data in this direction. It is called in place of a Write.
	CloseWrite() error

	// Closed is closed when the far side has closed the stream. Data sent before can still be read.
	Closed() <-chan struct{}
}

// A Front describes the programs in front of a terminal: those that its keys reach (its foreground
// process group, termios(3)). The zero value knows nothing.
type Front struct {
	Program string  // the base name of the group's first program; empty: unknown
	First   bool    // that program is the one that was started in the terminal
	Edits   bool    // that program waits for input, key by key: it edits a line, or draws a screen
	Reads   Support // Yes: one of them waits to read the terminal; No: none does; else it is not known
}

// Keys of a KeySender.
const (
	KeyBreak            = "break"             // a serial line's break condition (RFC 4335, RFC 2217), or Telnet's BRK
	KeyInterruptProcess = "interrupt_process" // Telnet IP (RFC 854); most servers expect ctrl_c instead
	KeyAbortOutput      = "abort_output"      // Telnet AO
	KeyAreYouThere      = "ayt"               // Telnet AYT
	KeyEndOfFile        = "eof"               // Telnet EOF (RFC 1184); most servers expect ctrl_d instead
)

// ProtocolKeys returns the names of the keys of a KeySender.
func ProtocolKeys() []string {
	return []string{KeyBreak, KeyInterruptProcess, KeyAbortOutput, KeyAreYouThere, KeyEndOfFile}
}

// A Dialer opens a terminal. The session manager has one for each protocol.
//
// The context is that of the session, not of the call: it ends when the session is
// closed. A Dialer must enforce Target.ConnectTimeout itself, not counting the time
// during which it waits for p to answer. Its errors are *Error; those of others are made so, see Dial.
//
// A Dialer that connects to other machines must ask approve about its plan before it
// sends the first byte to any of them, carry out exactly this plan, and connect only to
// the addresses in it. p and approve may be nil; a nil approve allows everything.
type Dialer func(ctx context.Context, t Target, p Prompter, approve Approve) (Transport, error)

// An ExecRequest is a command to run on its own channel.
type ExecRequest struct {
	Command string   // a line for the far side's shell
	Dir     string   // working directory; empty: the far side's default
	Env     []EnvVar // in order; if the far side refuses one, the command must not run
	Stdin   []byte   // the whole standard input
	// Input is the standard input in place of Stdin, as it comes; nil: Stdin. It may hold a secret: Exec wipes the
	// bytes that it has read. Exec closes it when the command has ended or was not started, which must end a Read.
	Input io.ReadCloser
	Grace time.Duration // time between TERM and KILL; 0: 2 s
}

// WriteInput writes the standard input to w. Of Input it keeps no copy. An error of w is normal: a command may not read its
// input.
func (r ExecRequest) WriteInput(w io.Writer) {
	if r.Input == nil {
		_, _ = w.Write(r.Stdin)
		return
	}
	var buf [4 << 10]byte
	defer clear(buf[:])
	for {
		n, err := r.Input.Read(buf[:])
		if n > 0 {
			_, failed := w.Write(buf[:n])
			clear(buf[:n])
			err = cmp.Or(failed, err)
		}
		if err != nil {
			return
		}
	}
}

// CloseInput closes Input.
func (r ExecRequest) CloseInput() {
	if r.Input != nil {
		_ = r.Input.Close()
	}
}

// An EnvVar is one environment variable.
type EnvVar struct{ Name, Value string }

// An Exit describes how a program ended.
type Exit struct {
	Started    bool   // the far side was asked to start it, so it may have run
	Known      bool   // the far side reported Code or Signal
	Code       int    // exit status; 128 plus the signal's number when Signal is set; valid if Known
	Signal     string // name of the signal that ended it, without "SIG"; empty if none
	Background bool   // it ended, but a process that it started keeps its output open
	Killed     string // result of stopping it: "" (not tried), "yes", or "unknown" (it may still run)
	Usage      Usage  // zero: unknown
	Limit      Limit  // the limit that it reached: LimitCPU and those after it; empty: unknown
	Suspected  string // as Limit, if it may have reached that and the system does not report it
}

// OK reports whether the program is known to have ended with exit status 0. Code alone does not tell: it is also 0 if the
// end is not known.
func (e Exit) OK() bool { return e.Known && e.Code == 0 && e.Signal == "" }

// Usage is the resource usage of a program and the children for which it has waited.
type Usage struct {
	CPU    time.Duration // user and system
	MaxRSS int64         // largest memory of one process in KiB; 0: unknown
}

// A Process is the program of a local session.
type Process struct {
	PID    int
	Argv   []string
	Dir    string
	Title  string
	Limits Limits
}

// OpenedForCommands is the NoTerminal of a session that was opened without a terminal (Target.CommandsOnly).
const OpenedForCommands = "it was opened for commands alone"

// A Description describes a terminal and its connection.
type Description struct {
	PTY           bool   // the far side runs on a pseudo-terminal
	NoTerminal    string // why there is no terminal, only commands on channels; empty: there is one
	Shell         string // class of the shell: "posix", "fish", "csh", "powershell", "cmd", "device"; empty: not known
	ServerBanner  string // text before authentication (RFC 4252 section 5.4), or the banner of a console
	ServerVersion string // identification string (RFC 4253 section 4.2)
	HostKey       string // fingerprint of the accepted host key, "SHA256:..."
	AuthMethod    string // the last authentication method that succeeded
	Algorithms    Algorithms
	Security      string   // a warning about the protection of the bytes; empty: they are protected
	TLS           *TLS     // nil: none
	Telnet        *Telnet  // nil: not Telnet
	Serial        *Serial  // nil: no serial line, or one that the call has not set
	Process       *Process // nil: a program on another machine
	Ladder        []Hop
	Warnings      []string
	Capabilities  Capabilities
}

// Algorithms are the negotiated algorithms of an SSH connection, client to server (RFC 4253 section 7.1).
type Algorithms struct {
	Kex     string
	HostKey string
	Cipher  string
	MAC     string // empty with an AEAD cipher
}

// TLS describes the protection of a connection that is not SSH.
type TLS struct {
	Version     string // "TLS 1.3"
	CipherSuite string
	Certificate string // fingerprint of the server's, "SHA256:..."
	Verified    string // "chain": by authority and name; "pin": by fingerprint; "no"
}

// Telnet is the present state of a Telnet connection. Options are named as in the IANA registry, in
// lower case with underscores ("echo", "terminal_type", "naws").
type Telnet struct {
	Raw        bool     // the far side has not spoken Telnet: bytes go as they are
	Local      []string // options performed by us
	Remote     []string // options performed by the far side
	RemoteEcho bool     // it echoes typed characters
	BinaryIn   bool     // it sends eight bits
	BinaryOut  bool     // it takes eight bits
	Terminal   string   // the terminal name sent last
	Cols       int      // the window size sent last
	Rows       int      //
	Enter      string   // the bytes of the enter key: "cr", "crlf", "crnul", "lf"
	Charset    string   // agreed by RFC 2066
	Serial     bool     // speed, framing and break of a serial line can be set (RFC 2217)
	Suppressed int64    // requests left unanswered because there were too many
	Malformed  int64    // commands that made no sense
}

// Serial is a serial line as it was set when the session was opened. Zero fields are not known.
type Serial struct {
	Path     string // the device of this machine, without links
	Baud     int
	DataBits int
	Parity   string // as in SerialOptions, like the next two
	StopBits int
	Flow     string
	Signals  []string // those of the far side that were on: "cts", "dsr", "ri", "dcd"
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

// Capabilities are the features that one session supports.
type Capabilities struct {
	SplitStdoutStderr Support
	ExitCode          Support
	Resize            Support
	Signal            Support
	ParallelExec      Support
}
