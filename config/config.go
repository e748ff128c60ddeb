package config

import "time"

// Config is the whole configuration. Get one from [Default] or [Load]: its zero
// value is not usable, because most limits may not be 0. It is not modified
// after Load returns, so copies may be read by any number of goroutines.
type Config struct {
	Server  Server
	Session Session
	Limits  Limits
	SSH     SSH
	Telnet  Telnet
	Local   Local
	FS      FS
	Auth    Auth
	Locks   Locks
	Audit   Audit
	Policy  Policy
	Logging Logging

	Toolsets Toolsets

	// origin says who set a key that does not have its default. Set by Load.
	origin map[string]string
}

// Server says how ptyctl talks to its MCP client.
type Server struct {
	Transport  Transport
	Structured bool // send structuredContent and outputSchema to clients that know them
	ReadOnly   bool
	Toolsets   []string // empty: all
	HTTP       HTTP
	Control    Control

	JSONRPCErrors bool // a failed call on stdio is answered with a JSON-RPC error
}

// Toolsets hold what is particular to sets of tools.
type Toolsets struct{ PTY PTYTools }

// PTYTools concern the set pty.
type PTYTools struct {
	MaxBufferLines int // of each session's output
}

// Control says who may watch and step in on this machine, and where.
type Control struct {
	ControlSocketPath string // "": one of this process's own, in the user's runtime folder
	ControlMode       ControlMode
	ControlAuthToken  Secret // "": being this user is enough
}

// HTTP says who may reach the server over HTTP, and how.
type HTTP struct {
	Listen         string
	AuthToken      Secret
	Tokens         Secret // see ParseTokens
	TokensFile     string // see ParseTokens
	Isolate        bool
	AllowedHosts   []string
	AllowedOrigins []string
	RateLimit      int // requests a second; 0: no limit
	SessionTTL     time.Duration
	TLSCertFile    string
	TLSKeyFile     string
	TLSSelfSigned  bool
}

// Session holds the defaults and bounds of one terminal session.
type Session struct {
	MaxSessions          int
	IdleTimeout          time.Duration // 0: never
	MaxAge               time.Duration // 0: no limit
	ClosedRetention      time.Duration // 0: forget at once
	OutputBufferMaxBytes int
	OutputBufferMaxLines int
	ConnectTimeout       time.Duration
	ReadTimeout          time.Duration // 0: do not wait
	DefaultExecTimeout   time.Duration
	WriteTimeout         time.Duration
	RecordTxEvents       bool // that something was typed, never what
}

// Limits are the operator's maxima. A caller may ask for less, never for more.
type Limits struct {
	MaxWait            time.Duration // for one call
	MaxReadBytes       int           // one read result
	MaxExecOutputBytes int           // kept for each stream of one command
	MaxConnectTimeout  time.Duration
	MaxExecTimeout     time.Duration // of one command
	MaxMessageBytes    int           // one JSON-RPC line
	MaxInFlight        int           // requests served at the same time

	MaxTotalBufferBytes int // output kept for all sessions and commands together
	MaxWaitingReads     int // over all sessions
}

// SSH holds what the operator allows SSH sessions to do. Paths are absolute.
type SSH struct {
	HostKeyPolicy         HostKeyPolicy
	HostKeyFloor          HostKeyPolicy // the weakest policy a call may reach
	KnownHostsPath        string        // "": as OpenSSH, ~/.ssh/known_hosts
	UseOpenSSHConfig      bool
	ConfigPath            string // "": as OpenSSH, ~/.ssh/config and /etc/ssh/ssh_config
	AllowExecDirectives   bool
	AllowAgentForwarding  bool
	CallerPaths           []string      // empty: anywhere
	KeepaliveInterval     time.Duration // 0: no keepalives
	KeepaliveCountMax     int
	MaxConnectionsPerHost int
	IdentityAgent         string // as IdentityAgent in ssh_config(5); "": SSH_AUTH_SOCK
}

// Telnet holds what the operator decides for Telnet sessions.
type Telnet struct {
	Enter        TelnetEnter
	Binary       TelnetBinary
	SendUsername bool     // tell a session's username to a server that asks for the environment (RFC 1572)
	Environment  []string // "NAME=value": what else such a server is told
	TLSCAFile    string   // PEM certificates of the authorities that vouch for servers; "": the system's
}

// Local holds what the operator allows programs on this machine. Limits of 0 are none.
type Local struct {
	Stdio         bool     // clients on stdio, and on the control socket, may start programs
	HTTP          bool     // clients over HTTP may
	InheritEnv    []string // names of variables that programs get besides PATH, HOME, USER and LANG; a trailing * is any rest
	MaxCPUSeconds int
	MaxMemoryMiB  int
	MaxOpenFiles  int
	MaxProcesses  int
	ReadPaths     []string // that programs may read and run, with all below; empty: all
	WritePaths    []string // that they may change; empty with ReadPaths: none
}

// FS holds what the operator offers of files. With no Roots and no Remote, nothing.
type FS struct {
	Roots         []string // folders of this machine
	Remote        bool     // files of the hosts of SSH sessions
	MaxReadBytes  int      // of one call
	MaxWriteBytes int
	MaxEntries    int // of a folder
}

// Auth says whether a person or an agent may be asked during authentication.
type Auth struct {
	Elicitation   bool // a person at the client is asked, if the client can
	Interactive   bool
	PromptTimeout time.Duration // for one question
}

// Locks bounds the leases that callers take on sessions.
type Locks struct {
	DefaultTTL time.Duration
	MaxTTL     time.Duration
	AllowForce bool // a caller without the lock may close a session by force

	AllowTakeOver bool   // a caller may take the lock from the one that holds it
	DeviceDir     string // where the processes of this user say who has which console; "": the runtime folder
}

// Audit says how the record of who did what is kept.
type Audit struct {
	Path       string // "": none is kept
	MaxBytes   int    // the size at which a new file is begun
	Keep       int    // full files that are kept
	Fsync      AuditFsync
	FailClosed bool // an action that cannot be written down first is refused
	Commands   AuditCommands
}

// Policy holds the operator's rules for what callers do; package policy says what they mean. All empty: everything is allowed.
type Policy struct {
	Preset                 PolicyPreset
	Allow, Deny, Ask       []string // patterns for commands
	Mode                   PolicyMode
	Consent                PolicyConsent
	Programs, DenyPrograms []string // paths on this machine
	WorkDirs               []string // folders on this machine
	Hosts, DenyHosts       []string // patterns for names
	ReadOnlyHosts          []string
	ExecOnlyHosts          []string
	Protocols              []string
	Typing                 PolicyTyping
	Permissions            string // JSON
	Credential             []Credential
}

// Logging says what is logged, and where.
type Logging struct {
	Level  LogLevel
	Format LogFormat
	File   string // "": stderr

	MaxBytes int // the size at which a new file is begun
	Keep     int // full files that are kept
}

// Transport is how MCP messages reach the server.
type Transport string

// The transports.
const (
	TransportStdio Transport = "stdio" // one JSON-RPC message per line on stdin and stdout
	TransportHTTP  Transport = "http"  // MCP's streamable HTTP
	TransportBoth  Transport = "both"
)

// ControlMode says what may be done over the control socket.
type ControlMode string

// The modes.
const (
	ControlDisabled  ControlMode = "disabled"  // there is no socket
	ControlReadOnly  ControlMode = "readonly"  // watch
	ControlReadWrite ControlMode = "readwrite" // everything, as the operator
)

// TelnetEnter is what the enter key sends on a Telnet connection, unless the call says so.
type TelnetEnter string

// What Enter may become.
const (
	TelnetEnterAuto  TelnetEnter = "auto" // what the server's negotiation calls for
	TelnetEnterCR    TelnetEnter = "cr"
	TelnetEnterCRLF  TelnetEnter = "crlf"
	TelnetEnterCRNUL TelnetEnter = "crnul"
	TelnetEnterLF    TelnetEnter = "lf"
)

// TelnetBinary says when eight-bit data is agreed to (RFC 856).
type TelnetBinary string

// The policies.
const (
	TelnetBinaryAuto   TelnetBinary = "auto" // when the server asks for it
	TelnetBinaryAlways TelnetBinary = "always"
	TelnetBinaryNever  TelnetBinary = "never"
)

// AuditFsync says when the audit log is forced to the disk.
type AuditFsync string

// The policies.
const (
	AuditFsyncAlways   AuditFsync = "always"
	AuditFsyncInterval AuditFsync = "interval" // once a second
	AuditFsyncNever    AuditFsync = "never"
)

// AuditCommands says how much of a command's text the audit log keeps.
type AuditCommands string

// The choices.
const (
	AuditCommandsRedacted AuditCommands = "redacted" // without what looks like a secret
	AuditCommandsHash     AuditCommands = "hash"     // SHA-256 and length
	AuditCommandsNone     AuditCommands = "none"     // length
)

// PolicyMode says whether the rules are enforced.
type PolicyMode string

// The choices.
const (
	PolicyModeEnforce PolicyMode = "enforce"
	PolicyModeReport  PolicyMode = "report" // what they deny is recorded, and done all the same
)

// PolicyPreset is a list of rules for commands that comes with ptyctl.
type PolicyPreset string

// The lists. Package policy has them.
const (
	PolicyPresetNone            PolicyPreset = ""
	PolicyPresetReadOnlyLinux   PolicyPreset = "read-only-linux"
	PolicyPresetReadOnlyNetwork PolicyPreset = "read-only-network"
)

// PolicyConsent says what becomes of commands that take a person's consent.
type PolicyConsent string

// The choices.
const (
	PolicyConsentDeny   PolicyConsent = "deny"   // they are denied
	PolicyConsentElicit PolicyConsent = "elicit" // the person at the client is asked, each time
)

// PolicyTyping says what may be typed where commands are judged.
type PolicyTyping string

// The choices.
const (
	PolicyTypingAuto  PolicyTyping = "auto"  // deny if rules judge commands; lines if only Policy.Permissions does
	PolicyTypingDeny  PolicyTyping = "deny"  // nothing
	PolicyTypingLines PolicyTyping = "lines" // what reads as allowed commands
	PolicyTypingAllow PolicyTyping = "allow" // everything
)

// LogLevel is the least severe level that is logged.
type LogLevel string

// The levels, from most to least talkative.
const (
	LogDebug LogLevel = "debug"
	LogInfo  LogLevel = "info"
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"
)

// LogFormat is the shape of a log line.
type LogFormat string

// The formats: text for people, json for collectors.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// HostKeyPolicy says what happens when a server shows a host key that is not in
// known_hosts. See StrictHostKeyChecking in ssh_config(5), whose word for each
// policy is given below.
type HostKeyPolicy string

// The policies, from strongest to weakest.
const (
	HostKeyStrict    HostKeyPolicy = "strict"     // yes: refuse an unknown key
	HostKeyAsk       HostKeyPolicy = "ask"        // ask: the caller decides about an unknown key
	HostKeyAcceptNew HostKeyPolicy = "accept_new" // accept-new: record an unknown key, refuse a changed one
	HostKeyDisabled  HostKeyPolicy = "disabled"   // no: accept any key
)

// WeakerThan reports whether p checks less than floor does. A policy that is
// none of the four constants is weaker than all of them.
func (p HostKeyPolicy) WeakerThan(floor HostKeyPolicy) bool {
	return p.strength() < floor.strength()
}

func (p HostKeyPolicy) strength() int {
	switch p {
	case HostKeyStrict:
		return 4
	case HostKeyAsk:
		return 3
	case HostKeyAcceptNew:
		return 2
	case HostKeyDisabled:
		return 1
	}
	return 0
}

// Default returns the configuration of a machine without file, environment and
// flags.
func Default() Config {
	var c Config
	table(&c, "")
	return c
}

// Origin says which layer set the key: "default", "FILE:LINE", the name of an
// environment variable, or a flag with its dashes. It is "" if there is no key
// of that path.
func (c Config) Origin(key string) string {
	if o, ok := c.origin[key]; ok {
		return o
	}
	for _, k := range Keys() {
		if k.Path == key {
			return "default"
		}
	}
	return ""
}
