package sshx

import (
	"context"
	"net/netip"

	"ptyctl/sshx/sshconfig"
	"ptyctl/term"
)

// Preview returns the plan that a Dialer would ask about for t. Nothing is sent to any host; the first name is looked up,
// if that is possible. The error is the one with which the Dialer would refuse t.
func Preview(ctx context.Context, t term.Target, o Options) (term.Plan, error) {
	o = o.withDefaults()
	r, err := planRoute(ctx, t, o)
	if err != nil {
		return term.Plan{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.ConnectTimeout)
	defer cancel()
	r.hops[0].lookUp(ctx)
	return r.plan(false), nil
}

// Means says where a name leads by the operator's own configuration: the host, the port if the operator has set one, and,
// unless a jump host or a proxy would look it up, the addresses. A name of which nothing can be found out means itself.
func Means(ctx context.Context, name string, o Options) (host string, port int, addrs []netip.Addr) {
	p, _, err := newPlanning(term.Target{Host: name}, o.withDefaults())
	if err != nil {
		return name, 0, nil
	}
	cfg, err := p.evaluate(ctx, sshconfig.Options{Host: name})
	if err != nil {
		return name, 0, nil
	}
	if cfg.Origin("Port").Source != sshconfig.Default {
		port = cfg.Port
	}
	if len(cfg.ProxyJump) == 0 {
		addrs, _ = resolve(ctx, &hop{host: cfg.HostName, family: "tcp"})
	}
	return cfg.HostName, port, addrs
}
