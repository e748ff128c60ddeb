package sshx

import (
	"context"
	"log/slog"
	"net"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"ptyctl/sshx/plan"
	"ptyctl/term"
)

// Options are the operator's settings for all connections, and the limits that a
// caller must not loosen. The zero value means OpenSSH's behaviour with strict
// host key checking.
type Options struct {
	HostKeyPolicy  string // "strict" (default), "ask", "accept_new" or "disabled"
	HostKeyFloor   string // the weakest policy for a caller, same words; default accept_new
	KnownHostsPath string // replaces the user's files, and UserKnownHostsFile; empty: those of ssh_config(5)
	ConfigPath     string // replaces the user's and the system's ssh_config; empty: both
	NoConfig       bool   // read no ssh_config at all

	AllowExecDirectives  bool     // run Match exec and ProxyCommand of the operator's own files
	AllowAgentForwarding bool     // honour ForwardAgent
	CallerPaths          []string // folders allowed for a caller's paths; empty: all
	IdentityAgent        string   // replaces SSH_AUTH_SOCK; "none": no agent
	HomeDir              string   // for ~ and ~/.ssh; empty: the user's

	// Agent is an agent of this program, for example of keys in a KMS. It replaces IdentityAgent and that of ssh_config(5).
	// Its methods may be called at the same time. nil: the one of IdentityAgent.
	Agent agent.Agent
	// Signers are keys of this program. They are offered to every host, before those of the agent and of files.
	Signers []ssh.Signer
	// KnownHosts are lines in the format of sshd(8), SSH_KNOWN_HOSTS FILE FORMAT. If it is not nil, they are the whole
	// record: no file of known hosts is read, and none is written.
	KnownHosts []byte

	ConnectTimeout    time.Duration // unless Target has one, or ssh_config a longer one; 0: 15 s
	KeepaliveInterval time.Duration // 0: 30 s; negative: no keepalives
	KeepaliveCountMax int           // unanswered keepalives before the connection counts as lost; 0: 3

	MaxConnectionsPerHost int // of one Client, if a server limits channels per connection; 0: 4

	// SettingName returns the name under which the operator sets s, for example a key of
	// a configuration file. Warnings about a setting contain it; nil: they do not.
	SettingName func(s term.Setting) string

	// Answerer answers questions of logins, for example for passwords, before a person is asked; nil: none. It is not
	// asked about host keys.
	Answerer term.Answerer

	Logger *slog.Logger // nil: no log

	// Dial replaces TCP to the first host, for example by a network in memory. The address is
	// numeric, and one that the policy has approved. BindAddress, BindInterface and TCPKeepAlive
	// of ssh_config(5) have no effect then, and a proxy is still reached by TCP. nil: TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// withDefaults returns o with defaults in place of zero fields.
func (o Options) withDefaults() Options {
	if o.HostKeyPolicy == "" {
		o.HostKeyPolicy = "strict"
	}
	if o.HostKeyFloor == "" {
		o.HostKeyFloor = "accept_new"
	}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = 15 * time.Second
	}
	if o.KeepaliveInterval == 0 {
		o.KeepaliveInterval = 30 * time.Second
	}
	if o.KeepaliveCountMax == 0 {
		o.KeepaliveCountMax = 3
	}
	if o.MaxConnectionsPerHost == 0 {
		o.MaxConnectionsPerHost = 4
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// settings returns the part of o that a plan obeys.
func (o Options) settings() plan.Settings {
	return plan.Settings{
		HostKeyPolicy: o.HostKeyPolicy, HostKeyFloor: o.HostKeyFloor, KnownHostsPath: o.KnownHostsPath,
		ConfigPath: o.ConfigPath, NoConfig: o.NoConfig,
		AllowExecDirectives: o.AllowExecDirectives, AllowAgentForwarding: o.AllowAgentForwarding,
		CallerPaths: o.CallerPaths, IdentityAgent: o.IdentityAgent, HomeDir: o.HomeDir,
		Agent: o.Agent, Signers: o.Signers, KnownHosts: o.KnownHosts,
		ConnectTimeout: o.ConnectTimeout, KeepaliveInterval: o.KeepaliveInterval,
		KeepaliveCountMax: o.KeepaliveCountMax, Answerer: o.Answerer, SettingName: o.SettingName, Dial: o.Dial,
	}
}
