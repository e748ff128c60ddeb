package term

import "time"

// A Target says which terminal to open. Its zero fields mean what the field says.
type Target struct {
	Protocol       string // "ssh", "telnet", "local"
	Host           string
	Port           int    // 0: the protocol's own
	User           string // empty: from the configuration, else the local user
	Auth           Auth
	PTY            PTY
	SSH            SSHOptions
	Telnet         TelnetOptions
	Local          LocalOptions
	ConnectTimeout time.Duration // from the first look-up to the last authentication reply; 0: the operator's default
}

// Auth says how to prove who we are.
type Auth struct {
	Method        string // "password", "private_key", "agent", "auto" or empty (auto)
	Password      Secret
	PrivateKeyPEM Secret
	Passphrase    Secret // of PrivateKeyPEM, or of an identity file
	NoInteractive bool   // fail at once where a person would be asked
}

// PTY describes the pseudo-terminal to ask for.
type PTY struct {
	Disabled bool
	Term     string // empty: xterm-256color
	Cols     int    // 0: 120
	Rows     int    // 0: 40
}

// The terminal that is asked for when nothing else is said.
const (
	DefaultTerm = "xterm-256color"
	DefaultCols = 120
	DefaultRows = 40
)

// OrDefault returns p with its zero fields replaced by the defaults.
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

// SSHOptions are a caller's wishes for an SSH connection. The operator's floor applies to the outcome.
type SSHOptions struct {
	HostKeyPolicy      string // "strict", "accept_new", "disabled", "ask"; empty: the operator's
	KnownHostsPath     string
	HostKeyFingerprint string // "SHA256:..."; a condition beside known_hosts
	NoConfig           bool   // do not read ssh_config(5) files
	ConfigPath         string
	ExtraArgs          []string // ssh(1) arguments, a documented subset
	Legacy             bool     // also offer algorithms that only old devices need
	ProxyJump          string   // jump hosts, as ssh -J takes them; empty: the configuration's
	ProxyURL           string   // socks5:// or http://; may hold a password
}

// TelnetOptions are a caller's wishes for a Telnet connection.
type TelnetOptions struct {
	Mode   string // "auto" or empty (raw until the far side speaks Telnet), "telnet", "raw"
	Enter  string // what the enter key sends: "auto" or empty, "cr", "crlf", "crnul", "lf"
	Binary string // eight-bit data: "auto" or empty (when asked for), "always" (ask for it), "never"
	TLS    TLSOptions
}

// TLSOptions say how to protect a connection with TLS. A server is verified by its certificate's chain and name,
// unless Pin says which certificate it must have.
type TLSOptions struct {
	Enabled    bool
	ServerName string // the name in the certificate; empty: the host
	Pin        string // fingerprint of the server's certificate: "SHA256:" and base64, or hex with or without colons
}

// LocalOptions say which program to start on this machine. There is no shell but the one that Argv names. With the
// terminal disabled it runs on pipes, and is started by the first Exec.
type LocalOptions struct {
	Argv []string // the program and its arguments
	// Program is the absolute path of the file that is started, whatever Argv[0] calls it: the one that a Gate has judged.
	// Empty: the file is looked for by Argv[0].
	Program string
	Dir     string   // working directory; empty: this process's
	Env     []EnvVar // added to an environment that is otherwise the operator's choice
	Bare    bool     // as after env -i: no PATH, HOME or TERM but what Env and the operator's choice have
	Title   string   // for people: what the terminal is for
	Limits  Limits
}

// Limits bound what a program may use. Zero fields set no bound. All but Processes hold for each process by itself.
type Limits struct {
	CPUSeconds  int   // processor time
	MemoryBytes int64 // address space
	OpenFiles   int
	Processes   int // more than that cannot run at a time
}

// Min returns for each bound the lower one of l and o.
func (l Limits) Min(o Limits) Limits {
	return Limits{
		CPUSeconds: lower(l.CPUSeconds, o.CPUSeconds), MemoryBytes: lower(l.MemoryBytes, o.MemoryBytes),
		OpenFiles: lower(l.OpenFiles, o.OpenFiles), Processes: lower(l.Processes, o.Processes),
	}
}

// lower returns the lower bound, where zero is none.
func lower[T int | int64](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
