package plan

import (
	"context"
	"net"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"ptyctl/term"
)

// Settings are the operator's settings that a plan obeys. The fields are those of sshx.Options,
// with their defaults; there is no default here.
type Settings struct {
	HostKeyPolicy  string // "strict", "ask", "accept_new" or "disabled"
	HostKeyFloor   string // the weakest policy for a caller, same words
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

	ConnectTimeout    time.Duration // unless the target has one, or ssh_config a longer one
	KeepaliveInterval time.Duration // negative: no keepalives
	KeepaliveCountMax int

	SettingName func(s term.Setting) string // the operator's name of a setting; may be nil

	Answerer term.Answerer // answers questions of logins before a person is asked; nil: none

	Dial func(ctx context.Context, network, address string) (net.Conn, error) // nil: TCP
}

// named returns the operator's name of a setting in parentheses, after a space; empty if
// it has none.
func (o Settings) named(s term.Setting) string {
	if o.SettingName == nil || o.SettingName(s) == "" {
		return ""
	}
	return " (" + o.SettingName(s) + ")"
}
