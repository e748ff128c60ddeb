package term

import "time"

// A Target describes a terminal to open. The comments give the meaning of zero fields.
type Target struct {
	Protocol       string // "ssh", "telnet", "serial", "local"
	Host           string
	Port           int    // 0: the default of the protocol
	User           string // empty: from the configuration, or else the local user
	Auth           Auth
	PTY            PTY
	CommandsOnly   bool // SSH: start no shell; commands run on channels of their own
	SSH            SSHOptions
	Telnet         TelnetOptions
	Serial         SerialOptions
	Local          LocalOptions
	ConnectTimeout time.Duration // from name resolution to the end of the login; 0: the operator's default
}

// Auth holds credentials for the login.
type Auth struct {
	Method        string // "password", "private_key", "agent", "auto" or empty (auto)
	Password      Secret
	PrivateKeyPEM Secret
	Passphrase    Secret // of PrivateKeyPEM or of an identity file
	NoInteractive bool   // fail at once instead of asking a person
	Secret        string // the name of a secret of the operator, which answers the questions of the last host's login
}

// PTY describes the pseudo-terminal to request.
type PTY struct {
	Disabled bool
	Term     string // empty: xterm-256color
	Cols     int    // 0: 120
	Rows     int    // 0: 40

	NoAnswers bool // queries of the output are never answered
}

// Defaults of PTY.
const (
	DefaultTerm = "xterm-256color"
	DefaultCols = 120
	DefaultRows = 40
)

// OrDefault returns p with defaults for its zero fields.
func (p PTY) OrDefault() PTY {
	if p.Term == "" {
		p.Term = DefaultTerm
	}
	if p.Cols == 0 {
		p.Cols = DefaultCols
	}
	if p.Rows == 0 {
		p.Rows = DefaultRows
	}
	return p
}

// SSHOptions are a caller's options for an SSH connection. The operator's limits still
// apply, for example the host key floor.
type SSHOptions struct {
	HostKeyPolicy      string // "strict", "accept_new", "disabled", "ask"; empty: the operator's
	KnownHostsPath     string
	HostKeyFingerprint string // "SHA256:..."; required in addition to known_hosts
	NoConfig           bool   // do not read ssh_config(5) files
	ConfigPath         string
	ExtraArgs          []string // a documented subset of the arguments of ssh(1)
	Legacy             bool     // also offer algorithms that only old devices need
	ProxyJump          string   // jump hosts in the form of ssh -J; empty: those of the configuration
	ProxyURL           string   // socks5:// or http://; may contain a password
}

// TelnetOptions are a caller's options for a Telnet connection.
type TelnetOptions struct {
	Mode   string // "auto" or empty (raw until the far side speaks Telnet), "telnet", "raw"
	Enter  string // bytes of the enter key: "auto" or empty, "cr", "crlf", "crnul", "lf"
	Binary string // eight-bit data: "auto" or empty (if asked for), "always" (ask for it), "never"
	TLS    TLSOptions
}

// SerialOptions are the settings of a serial line: of this machine, or of the Telnet server that has the line (RFC
// 2217). A zero field is the default of a line of this machine, 9600 8N1 without flow control, and leaves the
// setting of a Telnet server unchanged.
type SerialOptions struct {
	Path     string // the device; for Telnet empty
	Baud     int    // bits a second
	DataBits int    // 5 to 8
	Parity   string // "none", "odd", "even", "mark", "space"
	StopBits int    // 1 or 2
	Flow     string // "none", "rtscts", "xonxoff"
	DTR, RTS string // "on", "off", "keep"; empty: as the system, or the server, sets them when the line is opened
}

// TLSOptions configure TLS for a connection. The server's certificate must have a valid
// chain and name, unless Pin names the certificate.
type TLSOptions struct {
	Enabled    bool
	ServerName string // name in the certificate; empty: the host
	Pin        string // fingerprint of the certificate: "SHA256:" and base64, or hex with or without colons
}

// LocalOptions describe a program to start on this machine. No shell runs unless Argv
// names one. With PTY.Disabled the program runs on pipes, and the first Exec starts it.
type LocalOptions struct {
	Argv []string // the program and its arguments
	// Program is the absolute path of the file to start, whatever Argv[0] is: the file that
	// a Gate has judged. Empty: Argv[0] is looked up.
	Program string
	Dir     string   // working directory; empty: that of this process
	Env     []EnvVar // added to the operator's environment
	Bare    bool     // like env -i: only the variables of Env and of the operator, no PATH, HOME or TERM
	Title   string   // purpose of the terminal, for people
	Limits  Limits
}

// Limits bound the resources of a program. A zero field is no limit. All limits except
// Processes apply to each process separately.
type Limits struct {
	CPUSeconds  int   // CPU time
	MemoryBytes int64 // address space
	OpenFiles   int
	Processes   int // processes at the same time
}

// Min returns the lower of l and o for each limit.
func (l Limits) Min(o Limits) Limits {
	return Limits{
		CPUSeconds: lower(l.CPUSeconds, o.CPUSeconds), MemoryBytes: lower(l.MemoryBytes, o.MemoryBytes),
		OpenFiles: lower(l.OpenFiles, o.OpenFiles), Processes: lower(l.Processes, o.Processes),
	}
}

// lower returns the lower of two limits, where zero means no limit.
func lower[T int | int64](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
