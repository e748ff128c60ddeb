package sshx

import (
	"context"
	"log/slog"
	"net"
	"time"
)

// Options are the operator's: what every connection has in common, and what a caller may not loosen.
// The zero value is OpenSSH's behaviour with strict host key checking.
type Options struct {
	HostKeyPolicy  string // "strict" (empty means that), "ask", "accept_new", "disabled"
	HostKeyFloor   string // the weakest policy a caller may reach, same words; empty: accept_new
	KnownHostsPath string // in place of the user's files; empty: as ssh_config(5)
	ConfigPath     string // in place of the user's and the system's ssh_config; empty: those
	NoConfig       bool   // read no ssh_config at all

	AllowExecDirectives  bool     // honour Match exec and the like in the operator's own files
	AllowAgentForwarding bool     //
	CallerPaths          []string // folders in which paths given by a caller must lie; empty: anywhere
	IdentityAgent        string   // agent socket in place of SSH_AUTH_SOCK; "none": no agent
	HomeDir              string   // for ~ and ~/.ssh; empty: the user's

	ConnectTimeout    time.Duration // when neither Target nor ssh_config has one; 0: 15 s
	KeepaliveInterval time.Duration // 0: 30 s; negative: no keepalives
	KeepaliveCountMax int           // unanswered keepalives before the connection counts as lost; 0: 3

	MaxConnectionsPerHost int // of one Client, when a server limits channels per connection; 0: 4

	Logger *slog.Logger // nil: silent

	dialFirst func(ctx context.Context, network, address string) (net.Conn, error) // tests only: in place of TCP
}

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
