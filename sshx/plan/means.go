package plan

import (
	"context"
	"net/netip"

	"ptyctl/sshx/reach"
	"ptyctl/sshx/sshconfig"
	"ptyctl/term"
)

// Means returns where a name leads by the operator's own configuration: the host,
// the port if the operator has set one, and the addresses, unless a jump host, a
// proxy or a program would look them up. If the configuration fails, the name means itself.
func Means(ctx context.Context, name string, o Settings) (host string, port int, addrs []netip.Addr) {
	p, _, err := newPlanning(ctx, term.Target{Host: name}, o)
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
	// Through a jump host or a program the name would be looked up there, with another result.
	if len(cfg.ProxyJump) == 0 && cfg.ProxyCommand == "" {
		addrs, _ = reach.Resolve(ctx, &reach.Endpoint{Host: cfg.HostName, Family: "tcp"})
	}
	return cfg.HostName, port, addrs
}
