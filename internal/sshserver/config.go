package sshserver

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/crypto/ssh"
)

// Config says who may log in, what they get, and what goes wrong. The zero value lets nobody in. It must not be changed
// after it was given to New or Listen.
type Config struct {
	HostKeys []ssh.Signer // at most one of each type; nil: one new ed25519 key
	Version  string       // identification string, "SSH-2.0-..."; "": the library's
	Banner   string       // shown before authentication (RFC 4252 section 5.4)

	// Transport holds the algorithms to offer and RekeyThreshold; zero fields mean the library's defaults.
	Transport ssh.Config

	// The ways to log in. Each that is set is offered; any one suffices, unless RequireAll.
	NoAuth              bool              // method "none" succeeds
	Passwords           map[string]string // by user
	AuthorizedKeys      []ssh.PublicKey   // for every user
	KeyboardInteractive func(user string, challenge ssh.KeyboardInteractiveChallenge) error

	RequireAll   bool // all of publickey, password, keyboard-interactive that are set, in this order, by partial success
	MaxAuthTries int  // failures before the server disconnects; 0: 6, negative: no limit

	// Handler runs each shell and command. nil: a process on this machine, described by the next four fields.
	Handler   Handler
	Shell     string   // "": $SHELL, else /bin/sh
	Env       []string // NAME=value; nil: PATH, HOME, USER, LOGNAME, SHELL, LANG and PS1. Nothing else is inherited
	Dir       string   // where they start; "": HOME, if it exists
	AcceptEnv []string // names a client may set, with * and ?; nil: LANG and LC_*

	// Subsystems are programs of this machine by the name of the subsystem, such as sftp, which Shell starts. An empty one
	// is left to Handler, which gets the name as Command.
	Subsystems map[string]string

	MaxSessions int // session channels at a time per connection; 0: 10, as sshd

	// AllowForward permits direct-tcpip channels, which ProxyJump needs. Dial makes their connections.
	AllowForward bool
	Dial         func(ctx context.Context, network, address string) (net.Conn, error) // nil: a net.Dialer

	Faults Faults
}

// Faults are the ways in which servers are known to misbehave. Each field is one; the zero value is a good server.
type Faults struct {
	// Before authentication.
	PreBanner         []string // lines sent before the identification string (RFC 4253 section 4.2), without line ends
	CloseAfterAccept  bool     // close after PreBanner, as sshd does above MaxStartups
	SilentAfterAccept bool     // send nothing after PreBanner
	StallBanner       bool     // send nothing after the identification string

	// Authentication.
	ZeroQuestionRound bool          // after success, a keyboard-interactive round without questions, as PAM does
	DelaySuccess      time.Duration // wait this long before saying that the login succeeded
	FreezeAfterAuth   bool          // from the login on, neither read nor write, but keep the connection

	// Connection requests and channels.
	IgnoreGlobalRequests bool // never answer one, so no keepalive@openssh.com either
	HangChannelOpen      bool // neither confirm nor refuse a session channel
	RefusePTY            bool // answer pty-req with failure, as "PermitTTY no" does
	RefuseExec           bool // answer exec with failure, as network devices do
	HangExecReply        bool // neither run nor answer an exec request
	RefuseSignals        bool // answer signal with failure, as under ForceCommand
	RefuseBreak          bool // answer break with failure, as servers that do not know it do
	NoExitStatus         bool // end without exit-status or exit-signal
	StatusWithoutClose   bool // send the exit status, but neither EOF nor close
}

// errNoLogin, errNoShell: configurations that cannot work.
var (
	errNoLogin = errors.New("sshserver: nobody could log in: set Passwords, AuthorizedKeys, KeyboardInteractive or NoAuth")
	errNoShell = fmt.Errorf(
		"sshserver: cannot run a local shell on this system: set Config.Handler (%w)",
		errors.ErrUnsupported,
	)
)

// withDefaults returns c with its zero fields filled in, or says what is missing.
func (c Config) withDefaults() (Config, error) {
	if !c.NoAuth && c.Passwords == nil && c.AuthorizedKeys == nil && c.KeyboardInteractive == nil {
		return c, errNoLogin
	}
	if c.Handler == nil && !haveProcesses {
		return c, errNoShell
	}
	if c.HostKeys == nil {
		_, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			return c, fmt.Errorf("sshserver: make a host key: %w", err)
		}
		signer, err := ssh.NewSignerFromKey(key)
		if err != nil {
			return c, fmt.Errorf("sshserver: use the new host key: %w", err)
		}
		c.HostKeys = []ssh.Signer{signer}
	}
	if len(c.HostKeys) == 0 {
		return c, errors.New("sshserver: HostKeys is empty but not nil: add a key, or leave it nil for a new one")
	}
	if c.AcceptEnv == nil {
		c.AcceptEnv = []string{"LANG", "LC_*"}
	}
	if c.MaxSessions == 0 {
		c.MaxSessions = 10
	}
	if c.Dial == nil {
		c.Dial = new(net.Dialer).DialContext
	}
	if c.Shell == "" {
		c.Shell = defaultShell()
	}
	if c.Env == nil {
		c.Env = defaultEnv(c.Shell)
	}
	return c, nil
}
