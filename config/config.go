package config

import "time"

// Config is the whole configuration. Use [Default] or [Load] to get one: the zero value
// is not usable, because most limits must not be 0. Load does not keep a reference to it,
// so any number of goroutines may read copies.
type Config struct {
	Server  Server
	Session Session
	Limits  Limits
	SSH     SSH
	Telnet  Telnet
	Serial  Serial
	Local   Local
	FS      FS
	Forward Forward
	Fleet   Fleet
	Auth    Auth
	Locks   Locks
	Audit   Audit
	Record  Record
	Notify  Notify
	Policy  Policy
	Logging Logging
	Daemon  Daemon
	Cluster Cluster

	Toolsets Toolsets
	Secret   []NamedSecret
	Groups   []HostGroup

	// origin names the layer that set a key, for keys that do not have their defaults. Set
	// by Load.
	origin map[string]string
}

// Server configures the transports and the tools offered to MCP clients.
type Server struct {
	Transport Transport
	Results   Results  // of calls, for clients that ask for no form
	ReadOnly  bool     // offer only tools that do not type
	Toolsets  []string // empty: core, local, fs and health
	HTTP      HTTP
	Control   Control
	Apps      Apps

	JSONRPCErrors bool // answer a failed call on stdio with a JSON-RPC error instead of a result
}

// Apps configures the view of terminals in the chat of clients that draw pages of their servers.
type Apps struct{ Enabled bool }

// Toolsets configure single tool sets.
type Toolsets struct {
	PTY PTYTools
	R2  R2Tools
}

// PTYTools configure the tool set pty.
type PTYTools struct {
	MaxBufferLines int // lines of output kept for each session
}

// R2Tools configure the tool set r2.
type R2Tools struct {
	Program string   // radare2, rizin or another that speaks their pipe protocol
	Args    []string // before the file
	Shell   bool     // commands may leave the program
}

// Control configures the control socket, at which people on this machine watch sessions
// and step in.
type Control struct {
	ControlSocketPath string // "": a socket of this process in the user's runtime folder
	ControlMode       ControlMode
	ControlAuthToken  Secret // "": every process of this user may connect
}

// HTTP configures the HTTP transport: its address, who may use it, and TLS.
type HTTP struct {
	Listen         string
	AuthToken      Secret
	Tokens         Secret        // see ParseTokens
	TokensFile     string        // a file for ParseTokens
	Isolate        bool          // a token sees only its own sessions
	AllowedHosts   []string      // names of this server, besides localhost and its addresses
	AllowedOrigins []string      // web pages that may call, besides those of this server
	RateLimit      int           // requests per second and token; 0: no limit
	SessionTTL     time.Duration // life of an unused MCP session
	TLSCertFile    string
	TLSKeyFile     string
	TLSSelfSigned  bool // make a certificate at each start
	Watch          bool // serve the watch page, to tokens of people
	OAuth          OAuth
}

// OAuth configures the access tokens of an authorization server. Without an Issuer, none is accepted.
type OAuth struct {
	Issuer   string // URL
	Audience string
	Roles    []OAuthRole
}

// Session holds defaults and limits of a terminal session.
type Session struct {
	MaxSessions           int
	IdleTimeout           time.Duration // 0: never
	AutoIdle              time.Duration // of a session that was opened for a command
	MaxAge                time.Duration // 0: no limit
	ClosedRetention       time.Duration // 0: forget at once
	OrphanTTL             time.Duration // of a daemon's session without a client
	OutputBufferMaxBytes  int
	OutputBufferMaxLines  int
	ConnectTimeout        time.Duration
	ReadTimeout           time.Duration // 0: do not wait
	DefaultExecTimeout    time.Duration
	UnattendedExecTimeout time.Duration // from a result that says running
	WriteTimeout          time.Duration
	QuietLine             time.Duration
	Format                Format // of output for a call that names none
	Answer                Answer // to queries of the output
	RecordTxEvents        bool   // remember the times and sizes of inputs, never their text
}

// Limits are the operator's limits. A caller may request less, never more.
type Limits struct {
	MaxWait            time.Duration // of one call
	MaxReadBytes       int           // in one result
	MaxExecOutputBytes int           // for each stream of one command
	MaxConnectTimeout  time.Duration
	MaxExecTimeout     time.Duration // of one command
	MaxMessageBytes    int           // of one JSON-RPC message
	MaxInFlight        int           // concurrent requests

	MaxTotalBufferBytes int // bytes of output of all sessions and commands together
	MaxWaitingReads     int // of all sessions
}

// SSH configures SSH sessions. Paths are absolute.
type SSH struct {
	HostKeyPolicy         HostKeyPolicy
	HostKeyFloor          HostKeyPolicy // the weakest policy that a call may choose
	KnownHostsPath        string        // "": ~/.ssh/known_hosts, as in OpenSSH
	UseOpenSSHConfig      bool
	ConfigPath            string // "": ~/.ssh/config and /etc/ssh/ssh_config, as in OpenSSH
	AllowExecDirectives   bool   // run programs of Match exec and ProxyCommand in ssh_config
	AllowAgentForwarding  bool
	CallerPaths           []string      // folders of files that callers may name; empty: all
	KeepaliveInterval     time.Duration // 0: no keepalives
	KeepaliveCountMax     int           // unanswered keepalives before the connection counts as lost
	MaxConnectionsPerHost int
	IdentityAgent         string // as IdentityAgent in ssh_config(5); "": SSH_AUTH_SOCK
}

// Telnet configures Telnet sessions.
type Telnet struct {
	Enter        TelnetEnter
	Binary       TelnetBinary
	SendUsername bool     // send the username to a server that asks for the environment (RFC 1572)
	Environment  []string // "NAME=value": more variables for such a server
	TLSCAFile    string   // PEM file with certificate authorities; "": the system's
}

// Serial configures serial lines of this machine. Without Allow, no line can be opened.
type Serial struct {
	Allow []string // patterns for devices, see package serial
}

// Local configures programs on this machine. A limit of 0 is no limit.
type Local struct {
	Stdio         bool     // clients on stdio and the control socket may start programs
	HTTP          bool     // clients over HTTP may start programs
	InheritEnv    []string // variables to inherit besides PATH, HOME, USER and LANG; a trailing * matches any rest
	MaxCPUSeconds int
	MaxMemoryMiB  int
	MaxOpenFiles  int
	MaxProcesses  int
	ReadPaths     []string // files and folders that programs may read and run; empty: all
	WritePaths    []string // files and folders that they may change; empty: all, or none if ReadPaths is set
}

// FS configures file access for clients. Without Roots and Remote they have none.
type FS struct {
	Roots         []string // folders on this machine
	Remote        bool     // files on the hosts of SSH sessions
	MaxReadBytes  int      // in one result
	MaxWriteBytes int      // in one call
	MaxEntries    int      // of a folder in one result
	MaxCopyBytes  int      // of one copy
	MaxCopyFiles  int      // of one copy, with folders
}

// Forward configures connections from this machine to addresses that the hosts of SSH sessions reach. Without Allow,
// no address is allowed.
type Forward struct {
	Allow          []string // patterns for addresses, see package session/forward/address
	TCP            bool     // from ports of 127.0.0.1, too
	Max            int      // forwards of a session
	MaxConnections int      // of a forward at a time
	MaxRate        int      // new connections of a forward per second
}

// Fleet configures commands on many hosts.
type Fleet struct {
	MaxHosts       int // in all runs that go on
	MaxParallel    int // hosts of a run at a time, for a call that names no number
	MaxPerJumpHost int // of them behind one jump host

	Inventories []string // Ansible's, in INI or YAML
	Genders     string   // a file of genders(5); "": none
}

// Auth configures questions during logins.
type Auth struct {
	Elicitation   bool          // ask the person at the client, if the client supports it
	Interactive   bool          // let a session wait for the caller's answer
	PromptTimeout time.Duration // wait for one answer
}

// Locks limits the locks that callers take on sessions.
type Locks struct {
	DefaultTTL time.Duration
	MaxTTL     time.Duration
	AllowForce bool // a caller without the lock may force a session to close

	AllowTakeOver bool   // a caller may take the lock from its holder
	DeviceDir     string // folder in which processes record who uses which console; "": in the runtime folder
}

// Audit configures the audit log.
type Audit struct {
	Path       string // "": no audit log
	MaxBytes   int    // size of a file before rotation
	Keep       int    // number of rotated files
	Fsync      AuditFsync
	FailClosed bool // refuse an action that cannot be recorded first
	Commands   AuditCommands
}

// Record configures the recordings of sessions.
type Record struct {
	Dir         string   // "": no recordings
	MaxBytes    int      // of one recording
	MaxTotalMiB int      // of all that are in Dir
	MaxFiles    int      // in Dir
	MaxDays     int      // after which a recording is removed; 0: never
	Recipients  []string // of age; empty: not encrypted
	FailClosed  bool     // refuse an action that cannot be recorded, and end its session
}

// Notify configures how people are called when a session asks for one, or ends.
type Notify struct {
	Events           []string      // empty: all
	Command          []string      // a program and its arguments; empty: none
	CommandTimeout   time.Duration // after which the program is ended
	CommandAtOnce    int           // programs at a time
	Webhook          Secret        // the URL, which often is one; empty: none
	WebhookTimeout   time.Duration // of one request
	WebhookTries     int           // of one notice
	WebhookTokenFile string        // file with a bearer token; empty: none is sent
	WebhookAllowHTTP bool          // the URL may be http to another machine
}

// Policy holds the operator's rules for the actions of callers; package policy defines
// their meaning. If all fields are empty, everything is allowed.
type Policy struct {
	Preset                 PolicyPreset
	Allow, Deny, Ask       []string   // patterns for commands
	Mode                   PolicyMode // patterns for commands
	Consent                PolicyConsent
	ConsentTTL             time.Duration // of a question to a person of the operator, and of the answer
	Programs, DenyPrograms []string      // paths on this machine
	WorkDirs               []string      // folders on this machine
	Hosts, DenyHosts       []string      // patterns for names and addresses
	ReadOnlyHosts          []string
	ExecOnlyHosts          []string
	Protocols              []string
	Typing                 PolicyTyping
	Permissions            string // JSON, see package policy
	Credential             []Credential
}

// Logging configures the log.
type Logging struct {
	Level  LogLevel
	Format LogFormat
	File   string // "": stderr

	MaxBytes int // size of a file before rotation
	Keep     int // number of rotated files
}

// Daemon configures the process that keeps sessions for the clients of ptyctl mcp --daemon.
type Daemon struct {
	OnDifference OnDifference  // the act of a client that meets a daemon with another configuration
	Idle         time.Duration // without a client and a session, after which it ends; 0: never
}

// Cluster joins this machine to others, which the program ptyctl-cluster can do. Without Servers, this machine joins
// no cluster.
type Cluster struct {
	Servers             []string // URLs of NATS servers
	CredentialsFile     string   // of NATS; "": none
	Node                string   // "": see NodeName
	Group               string   // of the nodes that belong together: part of subjects and of names of buckets
	Labels              []string // NAME=value, each name once
	LeaseTTL            time.Duration
	EntryOnly           bool     // the node takes clients and no sessions
	Place               []string // patterns of hosts and devices, and labels of the nodes that serve them
	MaxSessionsPerHost  int      // sessions of all nodes; 0: no limit
	MaxSessionsPerToken int      // the same
	TLSCAFile           string   // certificate authorities of the servers; "": the system's
	TLSCertFile         string   // of this node, for servers that ask for one
	TLSKeyFile          string
}

// OnDifference selects the act of a client that meets a daemon with another configuration.
type OnDifference string

// Values of OnDifference.
const (
	DifferenceStart  OnDifference = "start"  // start one more
	DifferenceRefuse OnDifference = "refuse" // end with the difference
)

// Transport selects how MCP messages reach the server.
type Transport string

// Values of Transport. TransportBoth serves stdio and HTTP at the same time.
const (
	TransportStdio Transport = "stdio" // one JSON-RPC message per line on stdin and stdout
	TransportHTTP  Transport = "http"  // MCP's streamable HTTP
	TransportBoth  Transport = "both"
)

// Results is the form of the results of calls.
type Results string

// Values of Results.
const (
	ResultsCompact Results = "compact" // only values that differ from the ordinary
	ResultsFull    Results = "full"    // every field, and structuredContent
	ResultsText    Results = "text"    // a line with the facts, and the output as it is
)

// Format is the form of the output in results.
type Format string

// Values of Format.
const (
	FormatClean Format = "clean" // text for reading
	FormatRaw   Format = "raw"   // the bytes as they came
)

// Answer says whether queries of the output are answered, as a terminal does.
type Answer string

// Values of Answer.
const (
	AnswerAuto  Answer = "auto"  // while a program waits for it and no person's terminal answers
	AnswerNever Answer = "never" // never
)

// ControlMode selects the actions allowed over the control socket.
type ControlMode string

// Values of ControlMode.
const (
	ControlDisabled  ControlMode = "disabled"  // no socket
	ControlReadOnly  ControlMode = "readonly"  // watch sessions
	ControlReadWrite ControlMode = "readwrite" // do everything as the operator
)

// TelnetEnter selects the bytes that the enter key sends on a Telnet connection. A call
// may override it.
type TelnetEnter string

// Values of TelnetEnter.
const (
	TelnetEnterAuto  TelnetEnter = "auto" // follow the server's negotiation
	TelnetEnterCR    TelnetEnter = "cr"
	TelnetEnterCRLF  TelnetEnter = "crlf"
	TelnetEnterCRNUL TelnetEnter = "crnul"
	TelnetEnterLF    TelnetEnter = "lf"
)

// TelnetBinary selects when to agree to eight-bit data (RFC 856).
type TelnetBinary string

// Values of TelnetBinary.
const (
	TelnetBinaryAuto   TelnetBinary = "auto" // if the server asks for it
	TelnetBinaryAlways TelnetBinary = "always"
	TelnetBinaryNever  TelnetBinary = "never"
)

// AuditFsync selects when the audit log is forced to disk.
type AuditFsync string

// Values of AuditFsync.
const (
	AuditFsyncAlways   AuditFsync = "always"
	AuditFsyncInterval AuditFsync = "interval" // once per second
	AuditFsyncNever    AuditFsync = "never"
)

// AuditCommands selects the part of a command's text that the audit log keeps.
type AuditCommands string

// Values of AuditCommands.
const (
	AuditCommandsRedacted AuditCommands = "redacted" // the text without secrets
	AuditCommandsHash     AuditCommands = "hash"     // SHA-256 and length
	AuditCommandsNone     AuditCommands = "none"     // length only
)

// PolicyMode selects whether the rules are enforced.
type PolicyMode string

// Values of PolicyMode.
const (
	PolicyModeEnforce PolicyMode = "enforce"
	PolicyModeReport  PolicyMode = "report" // allow everything, and record the denials that the rules would make
)

// PolicyPreset names a built-in list of rules for commands.
type PolicyPreset string

// Values of PolicyPreset. Package policy has the lists.
const (
	PolicyPresetNone            PolicyPreset = ""
	PolicyPresetReadOnlyLinux   PolicyPreset = "read-only-linux"
	PolicyPresetReadOnlyNetwork PolicyPreset = "read-only-network"
)

// PolicyConsent selects how to treat commands that need a person's consent.
type PolicyConsent string

// Values of PolicyConsent.
const (
	PolicyConsentDeny   PolicyConsent = "deny"   // deny them
	PolicyConsentElicit PolicyConsent = "elicit" // ask the person at the client each time
	PolicyConsentPerson PolicyConsent = "person" // ask a person at the control socket each time
)

// PolicyTyping selects the input that may be typed where rules judge commands.
type PolicyTyping string

// Values of PolicyTyping.
const (
	PolicyTypingAuto  PolicyTyping = "auto"  // deny if rules judge commands; lines if only Policy.Permissions does
	PolicyTypingDeny  PolicyTyping = "deny"  // no input
	PolicyTypingLines PolicyTyping = "lines" // lines that are allowed commands
	PolicyTypingAllow PolicyTyping = "allow" // all input
)

// LogLevel is the least severe level that is logged.
type LogLevel string

// Values of LogLevel, the most detailed first.
const (
	LogDebug LogLevel = "debug"
	LogInfo  LogLevel = "info"
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"
)

// LogFormat is the format of a log line.
type LogFormat string

// Values of LogFormat: text for people, json for collectors.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// HostKeyPolicy selects how to treat a host key that is not in known_hosts. The constants
// name the matching value of StrictHostKeyChecking in ssh_config(5).
type HostKeyPolicy string

// Values of HostKeyPolicy, the strongest first.
const (
	HostKeyStrict    HostKeyPolicy = "strict"     // yes: refuse an unknown key
	HostKeyAsk       HostKeyPolicy = "ask"        // ask: let the caller decide about an unknown key
	HostKeyAcceptNew HostKeyPolicy = "accept_new" // accept-new: record an unknown key, refuse a changed one
	HostKeyDisabled  HostKeyPolicy = "disabled"   // no: accept any key
)

// WeakerThan reports whether p checks less than floor. A policy other than the four
// constants is weaker than all of them.
func (p HostKeyPolicy) WeakerThan(floor HostKeyPolicy) bool {
	return p.strength() < floor.strength()
}

// strength orders the policies; 0 is no valid policy.
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

// Default returns the configuration without file, environment and flags.
func Default() Config {
	var c Config
	table(&c, "")
	return c
}
