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

// Config configures logins, programs and faults. The zero value accepts no login. It must
// not be changed after a call of New or Listen.
type Config struct {
	HostKeys []ssh.Signer // at most one of each type; nil: a new ed25519 key
	Version  string       // identification string, "SSH-2.0-..."; "": the library's
	Banner   string       // shown before authentication (RFC 4252 section 5.4)

	// Transport has the algorithms to offer and RekeyThreshold; zero fields mean the
	// library's defaults.
	Transport ssh.Config

	// The login methods. Each one that is set is offered; any of them is enough, unless
	// RequireAll is set.
	NoAuth              bool              // method "none" succeeds
	Passwords           map[string]string // by user
	AuthorizedKeys      []ssh.PublicKey   // for every user
	KeyboardInteractive func(user string, challenge ssh.KeyboardInteractiveChallenge) error

	RequireAll   bool // all methods that are set: publickey, password, keyboard-interactive
	MaxAuthTries int  // failures before the server disconnects; 0: 6, negative: no limit

	// Handler runs each shell and command. Nil means a process on this machine, with the
	// next four fields.
	Handler   Handler
	Shell     string   // "": $SHELL, else /bin/sh
	Env       []string // NAME=value; nil: PATH, HOME, USER, LOGNAME, SHELL, LANG and PS1 only
	Dir       string   // first working directory; "": HOME, if it exists
	AcceptEnv []string // names that a client may set, with * and ?; nil: LANG and LC_*

	// Subsystems maps names of subsystems, for example sftp, to programs of this machine,
	// which Shell starts. For an empty program Handler is called, with the name as
	// Command.
	Subsystems map[string]string

	MaxSessions int // session channels at a time per connection; 0: 10, like sshd

	// AllowForward permits direct-tcpip channels, which ProxyJump needs. Dial connects
	// them.
	AllowForward bool
	Dial         func(ctx context.Context, network, address string) (net.Conn, error) // nil: a net.Dialer

	Faults Faults
}

// Faults are known misbehaviours of servers, one per field. The zero value is a correct
// server.
type Faults struct {
	// Before authentication.
	PreBanner         []string // lines sent before the identification string (RFC 4253 section 4.2), without line ends
	CloseAfterAccept  bool     // close after PreBanner, like sshd above MaxStartups
	SilentAfterAccept bool     // send nothing after PreBanner
	StallBanner       bool     // send nothing after the identification string
	Disconnect        string   // SSH_MSG_DISCONNECT with this text, in place of a key exchange

	// Authentication.
	ZeroQuestionRound bool          // a keyboard-interactive round without questions after success, like PAM
	DelaySuccess      time.Duration // delay before the success message
	FreezeAfterAuth   bool          // after the login, keep the connection but neither read nor write

	// Connection requests and channels.
	IgnoreGlobalRequests bool   // never answer any, not even keepalive@openssh.com
	HangChannelOpen      bool   // neither confirm nor refuse a session channel
	RefuseSessions       string // refuse every session channel, for this reason
	RefuseForward        string // refuse every direct-tcpip channel, for this reason
	RefusePTY            bool   // answer pty-req with failure, like "PermitTTY no"
	RefuseExec           bool   // answer exec with failure, like some network devices
	HangExecReply        bool   // neither run nor answer an exec request
	DropCommands         int    // close the channel of the first so many exec and subsystem requests, as a dropbear
	RefuseSignals        bool   // answer signal with failure, like a ForceCommand
	RefuseBreak          bool   // answer break with failure, like servers without RFC 4335
	NoExitStatus         bool   // end without exit-status or exit-signal
	StatusWithoutClose   bool   // send the exit status, but neither EOF nor close
}

// The errors of configurations that cannot work.
var (
	errNoLogin = errors.New("sshserver: no login method: set Passwords, AuthorizedKeys, KeyboardInteractive or NoAuth")
	errNoShell = fmt.Errorf(
		"sshserver: cannot run a local shell on this system: set Config.Handler (%w)",
		errors.ErrUnsupported,
	)
)

// withDefaults returns c with defaults in place of zero fields, or an error for a missing
// one.
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
