package sshx

import (
	"context"
	"net/netip"
	"strconv"

	"ptyctl/sshx/auth"
	"ptyctl/sshx/reach"
	"ptyctl/term"
)

// judge submits the route to approve, and restricts the route to the approved
// plan: to the addresses that the first name has resolved to, and to the
// credentials granted. If approve refuses the names alone, no name is looked up.
func (r *route) judge(ctx context.Context, approve term.Approve) error {
	if approve == nil {
		return nil
	}
	// A policy that refuses by name must prevent the lookup, which already tells
	// a resolver about the target.
	first := r.hops[0]
	if name := first.Dialed(); !reach.IsAddress(name) {
		if _, err := approve(ctx, r.plan(true)); err != nil {
			return err
		}
	}
	first.LookUp(ctx)
	grant, err := approve(ctx, r.plan(false))
	if err != nil {
		return err
	}
	for i, h := range r.hops {
		h.may = grant.Hop(i)
		h.hostKeys.KeepRecord = h.may.KeepRecord && grant.Report == nil
		if grant.Report != nil {
			h.tried = &auth.Trial{Tell: grant.Report}
		}
	}
	return nil
}

// plan returns the route in the form that a policy judges.
func (r *route) plan(unresolved bool) term.Plan {
	p := term.Plan{Unresolved: unresolved, Env: r.env, CallerEnv: r.callerEnv, RemoteCommand: r.remoteCommand}
	if u := r.hops[0].Proxy; u != nil {
		port, _ := strconv.Atoi(u.Port())
		p.Proxy = &term.PlannedHop{
			Alias:     u.Hostname(),
			Host:      u.Hostname(),
			Port:      port,
			Vouched:   []string{u.Hostname()},
			Addresses: r.hops[0].ProxyAddrs,
		}
	}
	for _, h := range r.hops {
		p.Hops = append(p.Hops, h.plan())
		p.ForwardAgent = p.ForwardAgent || h.forwardAgent != ""
	}
	return p
}

// plan returns the part of the plan about h.
func (h *hop) plan() term.PlannedHop {
	p := term.PlannedHop{Alias: h.name, Host: h.Host, Port: h.Port, User: h.user, Vouched: h.vouched, Addresses: h.Addrs}
	if len(p.Addresses) == 0 { // a numeric address needs no lookup
		if a, err := netip.ParseAddr(h.Host); err == nil {
			p.Addresses = []netip.Addr{a}
		}
	}
	if h.user != "" {
		p.HostKeyPolicy, p.Pinned, p.Credentials = h.hostKeys.Policy.String(), h.hostKeys.Fingerprint != "", h.cred.Sources()
	}
	return p
}
