package sshx

import (
	"context"
	"net/netip"

	"ptyctl/sshx/plan"
	"ptyctl/term"
)

// Preview returns the plan that a Dialer would submit for t. It sends nothing to
// any host; it looks the first name up if possible. The error is the one with
// which the Dialer would refuse t.
func Preview(ctx context.Context, t term.Target, o Options) (term.Plan, error) {
	o = o.withDefaults()
	r, err := plan.Login(ctx, t, o.settings())
	if err != nil {
		return term.Plan{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.ConnectTimeout)
	defer cancel()
	r.Hops[0].LookUp(ctx)
	return r.Plan(false), nil
}

// Plan is the term.Planner of SSH.
func (n *Network) Plan(ctx context.Context, t term.Target) (term.Plan, error) {
	r, err := plan.Login(ctx, t, n.o.settings())
	if err != nil {
		return term.Plan{}, err
	}
	return r.Plan(true), nil
}

// Means returns where a name leads by the operator's own configuration: the host,
// the port if the operator has set one, and the addresses, unless a jump host or
// a proxy would look them up. If the configuration fails, the name means itself.
func Means(ctx context.Context, name string, o Options) (host string, port int, addrs []netip.Addr) {
	return plan.Means(ctx, name, o.withDefaults().settings())
}
