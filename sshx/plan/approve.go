package plan

import (
	"context"
	"net/netip"
	"strconv"

	"ptyctl/sshx/auth"
	"ptyctl/sshx/reach"
	"ptyctl/term"
)

// Judge submits the route to approve, and restricts the route to the approved
// plan: to the addresses that the first name has resolved to, and to the
// credentials granted. If approve refuses the names alone, no name is looked up.
func (r *Route) Judge(ctx context.Context, approve term.Approve) error {
	if approve == nil {
		return nil
	}
	// A policy that refuses by name must prevent the lookup, which already tells
	// a resolver about the target.
	first := r.Hops[0]
	if name := first.Dialed(); name != "" && !reach.IsAddress(name) {
		if _, err := approve(ctx, r.Plan(true)); err != nil {
			return err
		}
	}
	first.LookUp(ctx)
	grant, err := approve(ctx, r.Plan(false))
	if err != nil {
		return err
	}
	for i, h := range r.Hops {
		h.may = grant.Hop(i)
		h.HostKeys.KeepRecord = h.may.KeepRecord && grant.Report == nil
		if grant.Report != nil {
			h.tried = &auth.Trial{Report: grant.Report}
		}
	}
	return nil
}

// Plan returns the route in the form that a policy judges.
func (r *Route) Plan(unresolved bool) term.Plan {
	p := term.Plan{Unresolved: unresolved, Env: r.Env, CallerEnv: r.callerEnv, RemoteCommand: r.RemoteCommand}
	if u := r.Hops[0].Proxy; u != nil {
		port, _ := strconv.Atoi(u.Port())
		p.Proxy = &term.PlannedHop{
			Alias:     u.Hostname(),
			Host:      u.Hostname(),
			Port:      port,
			Vouched:   []string{u.Hostname()},
			Addresses: r.Hops[0].ProxyAddrs,
		}
	}
	p.ProxyCommand = r.Hops[0].Command.Line != ""
	for _, h := range r.Hops {
		p.Hops = append(p.Hops, h.plan())
		p.ForwardAgent = p.ForwardAgent || h.ForwardAgent.Any()
	}
	return p
}

// plan returns the part of the plan about h.
func (h *Hop) plan() term.PlannedHop {
	p := term.PlannedHop{
		Alias:     h.Name,
		Host:      h.Host,
		Port:      h.Port,
		User:      h.User,
		Vouched:   h.Vouched,
		Addresses: h.Addrs,
	}
	if len(p.Addresses) == 0 { // a numeric address needs no lookup
		if a, err := netip.ParseAddr(h.Host); err == nil {
			p.Addresses = []netip.Addr{a}
		}
	}
	if h.User != "" {
		p.HostKeyPolicy, p.Pinned, p.Credentials = h.HostKeys.Policy.String(), h.HostKeys.Fingerprint != "", h.Cred.Sources()
	}
	return p
}
