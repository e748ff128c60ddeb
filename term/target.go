package term

import "time"

// A Target says which terminal to open. Its zero fields mean what the field says.
type Target struct {
	Protocol       string // "ssh", "telnet"
	Host           string
	Port           int    // 0: the protocol's own
	User           string // empty: from the configuration, else the local user
	Auth           Auth
	PTY            PTY
	SSH            SSHOptions
	Telnet         TelnetOptions
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
	HostKeyFingerprint string // "SHA256:..."; overrides known_hosts
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
