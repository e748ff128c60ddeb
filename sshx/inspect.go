package sshx

import (
	"context"
	"slices"

	"ptyctl/sshx/auth"
	"ptyctl/sshx/hostkeys"
	"ptyctl/sshx/plan"
	"ptyctl/sshx/reach"
	"ptyctl/sshx/sshconfig"
	"ptyctl/term"
)

// An Inspection is the plan for a target before any packet is sent, for people
// who look for a problem.
type Inspection struct {
	// Hosts are the hosts that ssh_config was evaluated for: the target first,
	// then its jump hosts in the order in which they were found.
	Hosts []InspectedHost

	Way      []string // user@host:port of each login, the target last; nil after an error
	Warnings []string // the warnings of a session
}

// An InspectedHost is one host of the plan, with the settings for the login
// there.
type InspectedHost struct {
	Name   string // the name in the call or the list of jumps
	Config *sshconfig.Config

	HostKeyPolicy hostkeys.Policy // with the operator's floor applied
	KnownHosts    []string        // known_hosts files, the user's first
	Methods       []string        // allowed authentication methods, the preferred one first
	Agent         string          // its socket, or "the agent of this program"; empty for none

	cred *auth.Credentials // nil: not planned, because an earlier step was refused
}

// An Identity is a key, or a certificate for one, that a login could use. It
// contains no secret.
type Identity = auth.Identity

// A CertificateInfo describes a user certificate.
type CertificateInfo = auth.CertificateInfo

// ErrNoAgent is the agent's error where the one that the system has by default does not run.
var ErrNoAgent = auth.ErrNoAgent

// Planned reports whether the fields after Config are set. They are not after a
// refusal.
func (h *InspectedHost) Planned() bool { return h.cred != nil }

// ProxyProgram returns the path of the host's ProxyCommand program, found in PATH. It is empty without a
// ProxyCommand, or if only the shell can tell.
func (h *InspectedHost) ProxyProgram() (path string, err error) {
	return reach.Command{Line: h.Config.ProxyCommand}.Program()
}

// Identities lists the keys that a login at h could use: those of the agent, then
// those in files. It omits default files that do not exist. agentErr is the
// agent's error, and nil without an agent.
func (h *InspectedHost) Identities(ctx context.Context) (ids []Identity, agentErr error) {
	if h.cred == nil {
		return nil, nil
	}
	return auth.Identities(ctx, h.cred.Agent, h.Config.IdentityFiles, h.Config.CertificateFiles)
}

// Inspect evaluates the plan of Dial. The error is the one with which Dial would
// refuse the target before it connects; the Inspection then has the findings up
// to that point.
func Inspect(ctx context.Context, t term.Target, o Options) (*Inspection, error) {
	p, r, err := plan.Explain(ctx, t, o.withDefaults().settings())
	// Without a planning there are no findings to show.
	if p == nil {
		return new(Inspection), err
	}
	in := &Inspection{Warnings: p.Route.Warnings}
	for _, e := range p.Evaluated {
		host := InspectedHost{Name: e.Name, Config: e.Config}
		if h := e.Hop; h != nil {
			host.HostKeyPolicy, host.Agent = h.HostKeys.Policy, h.Cred.Agent.Socket
			if h.Cred.Agent.Agent != nil {
				host.Agent = h.Cred.Agent.String()
			}
			host.KnownHosts = slices.Concat(h.HostKeys.UserFiles, h.HostKeys.GlobalFiles, h.HostKeys.CallerFiles)
			host.Methods, host.cred = h.Cred.Preferred, &h.Cred
		}
		in.Hosts = append(in.Hosts, host)
	}
	if err == nil {
		for _, h := range r.Hops {
			in.Way = append(in.Way, h.String())
		}
	}
	return in, err
}
