package sshx

import (
	"context"
	"slices"

	"ptyctl/sshx/hostkeys"
	"ptyctl/sshx/sshconfig"
	"ptyctl/term"
)

// An Inspection is what the way to a target looks like before anything is sent: for people who want to know why.
type Inspection struct {
	// Hosts are those that ssh_config was evaluated for: the target first, then its jump hosts, as one led to another.
	Hosts []InspectedHost

	Way      []string // user@host:port to log in at, the target last; nil: there is none
	Warnings []string // what a session would be told
}

// An InspectedHost is one host of the way, and how we would log in there.
type InspectedHost struct {
	Name   string // as it was asked for
	Config *sshconfig.Config

	HostKeyPolicy hostkeys.Policy // after the operator's floor
	KnownHosts    []string        // files that are compared, the user's first
	Methods       []string        // authentication methods that may be used, most preferred first
	Agent         string          // socket; empty: none

	cred *credentials // nil: the host was not planned, because something before it is refused
}

// Planned reports whether the fields after Config are known: they are not once something is refused.
func (h *InspectedHost) Planned() bool { return h.cred != nil }

// Inspect evaluates what Dial would do. The error is the one with which Dial would refuse the target before it connects;
// the Inspection then has what was found out until then.
func Inspect(ctx context.Context, t term.Target, o Options) (*Inspection, error) {
	p, r, err := plan(ctx, t, o.withDefaults())
	if p == nil {
		return new(Inspection), err
	}
	in := &Inspection{Warnings: p.r.warnings}
	for _, e := range p.evaluated {
		host := InspectedHost{Name: e.name, Config: e.cfg}
		if h := e.hop; h != nil {
			host.HostKeyPolicy, host.Agent = h.hostKeys.Policy, h.cred.agentSocket
			host.KnownHosts = slices.Concat(h.hostKeys.UserFiles, h.hostKeys.GlobalFiles, h.hostKeys.CallerFiles)
			host.Methods, host.cred = h.cred.preferred, &h.cred
		}
		in.Hosts = append(in.Hosts, host)
	}
	if err == nil {
		for _, h := range r.hops {
			in.Way = append(in.Way, h.String())
		}
	}
	return in, err
}

// An evaluated is a host whose ssh_config was read.
type evaluated struct {
	name      string
	cfg       *sshconfig.Config
	overrides []sshconfig.Override // with which it was read
	hop       *hop                 // nil: not planned yet
}

// planned notes that cfg has become a hop.
func (p *planning) planned(cfg *sshconfig.Config, h *hop) {
	for i := range p.evaluated {
		if p.evaluated[i].cfg == cfg {
			p.evaluated[i].hop = h
		}
	}
}
