package sshx

import (
	"context"
	"fmt"
	"net/netip"

	"ptyctl/sshx/hostkeys"
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

// Judge does the same as OpenShell before the first byte to any host: it submits the plan for t to approve, and looks
// for the host keys that a strict policy needs. It returns the plan; the error is the one with which OpenShell would
// refuse t then.
func (n *Network) Judge(ctx context.Context, t term.Target, approve term.Approve) (term.Plan, error) {
	r, err := plan.Login(ctx, t, n.o.settings())
	if err != nil {
		return term.Plan{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.Limit)
	defer cancel()
	if approve == nil {
		approve = func(context.Context, term.Plan) (term.Grant, error) { return term.Grant{}, nil }
	}
	if err := r.Judge(ctx, approve); err != nil {
		return term.Plan{}, err
	}
	for _, h := range r.Hops {
		if err := admitted(h); err != nil {
			return term.Plan{}, err
		}
	}
	return r.Plan(false), nil
}

// admitted returns the error for a hop without a recorded host key, if only recorded keys are accepted.
func admitted(h *plan.Hop) error {
	keys, err := hostkeys.NewVerifier(h.Host, h.Port, nil, h.HostKeys)
	if err != nil {
		return hostKeyFileError(h, err)
	}
	if keys.Admits() {
		return nil
	}
	return &term.Error{
		Op: "open", Kind: term.HostKeyUnknown,
		Msg:   fmt.Sprintf("no host key is on record for %s, and the host key policy is %s", h.Address(), h.HostKeys.Policy),
		Facts: term.Facts{term.ConnectFailure{Hop: h.String()}},
	}
}

// Means returns where a name leads by the operator's own configuration: the host,
// the port if the operator has set one, and the addresses, unless a jump host or
// a proxy would look them up. If the configuration fails, the name means itself.
func Means(ctx context.Context, name string, o Options) (host string, port int, addrs []netip.Addr) {
	return plan.Means(ctx, name, o.withDefaults().settings())
}
