package plan

import (
	"context"
	"fmt"
	"strings"

	"ptyctl/sshx/sshconfig"
	"ptyctl/term"
)

// tunnelOptions has the keywords of ssh_config with a meaning for a connection
// without SSH.
var tunnelOptions = map[string]bool{
	"proxyjump": true, "addressfamily": true, "bindaddress": true, "bindinterface": true,
	"connecttimeout": true, "connectionattempts": true, "tcpkeepalive": true, "loglevel": true,
}

// Tunnel plans the route to a target without SSH.
func Tunnel(ctx context.Context, network string, t term.Target, o Settings) (*Route, error) {
	bad := func(field term.Field, format string, args ...any) error {
		return &term.Error{
			Op:    "open",
			Kind:  term.InvalidArgument,
			Msg:   fmt.Sprintf(format, args...),
			Facts: term.Facts{term.ArgumentFault{Field: field}},
		}
	}
	switch {
	case t.Host == "":
		return nil, bad(term.FieldHost, "host is missing; pass the name or address to connect to")
	case t.Port < 1 || t.Port > 65535:
		return nil, bad(term.FieldPort, "port %d does not exist; pass one from 1 to 65535", t.Port)
	case network != "tcp" && network != "tcp4" && network != "tcp6":
		return nil, bad("", "network %q cannot be tunneled; use tcp, tcp4 or tcp6", network)
	}
	// Options about the target's SSH server would be ignored silently; refuse
	// them instead.
	for _, f := range []struct {
		name term.Field
		set  bool
	}{
		{term.FieldHostKeyPolicy, t.SSH.HostKeyPolicy != ""},
		{term.FieldFingerprint, t.SSH.HostKeyFingerprint != ""},
		{term.FieldKnownHosts, t.SSH.KnownHostsPath != ""},
		{term.FieldLegacy, t.SSH.Legacy},
	} {
		if f.set {
			return nil, bad(
				f.name,
				"an option applies to SSH servers only, and %s is not one; leave it out, "+
					"and configure jump hosts in ssh_config",
				t.Host,
			)
		}
	}
	p, overrides, err := newPlanning(ctx, t, o)
	if err != nil {
		return nil, err
	}
	for _, v := range overrides {
		if !tunnelOptions[strings.ToLower(v.Keyword)] {
			return nil, &term.Error{
				Op:   "open",
				Kind: term.Unsupported,
				Msg: fmt.Sprintf(
					"extra arguments: %s has no meaning for %s, which is not an SSH server; leave it out, "+
						"and configure jump hosts in ssh_config",
					v.Keyword,
					t.Host,
				),
				Facts: term.Facts{term.ArgumentFault{Field: term.FieldExtraArgs}},
			}
		}
	}
	cfg, err := p.evaluate(ctx, sshconfig.Options{Host: t.Host, Port: t.Port, NoFiles: true, Overrides: overrides})
	if err != nil {
		return nil, err
	}
	if err := p.jumps(ctx, cfg, 1); err != nil {
		return nil, err
	}
	h, err := p.endpoint(cfg, t.Host)
	if err != nil {
		return nil, err
	}
	if network != "tcp" {
		h.Family = network
	}
	h.Vouched = []string{t.Host, h.Host} // no configuration can change this name
	p.add(h)
	return p.complete()
}
