package sshx

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"ptyctl/term"
)

// judge submits the route to approve, and restricts the route to the approved
// plan: to the addresses that the first name has resolved to, and to the
// credentials granted. If approve refuses the names alone, no name is looked up.
func (r *route) judge(w *watchdog, approve term.Approve) error {
	if approve == nil {
		return nil
	}
	// A policy that refuses by name must prevent the lookup, which already tells
	// a resolver about the target.
	first := r.hops[0]
	if name := first.dialed(); !isAddress(name) {
		if _, err := approve(w.ctx, r.plan(true)); err != nil {
			return err
		}
	}
	first.lookUp(w.ctx)
	grant, err := approve(w.ctx, r.plan(false))
	if err != nil {
		return err
	}
	for i, h := range r.hops {
		h.may = grant.Hop(i)
		h.hostKeys.KeepRecord = h.may.KeepRecord && grant.Report == nil
		if grant.Report != nil {
			h.tried = &trial{tell: grant.Report}
		}
	}
	return nil
}

// dialed returns the name that this machine resolves to reach h as the first hop.
func (h *hop) dialed() string {
	if h.proxy != nil {
		return h.proxy.Hostname()
	}
	return h.host
}

// isAddress reports whether name is a numeric address.
func isAddress(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}

// lookUp resolves the first hop, or its proxy. The dialing step reports an error.
func (h *hop) lookUp(ctx context.Context) {
	if h.proxy == nil {
		h.addrs, h.lookUpErr = resolve(ctx, h)
		return
	}
	h.proxyAddrs, h.lookUpErr = resolve(ctx, &hop{host: h.proxy.Hostname(), family: "tcp"})
}

// plan returns the route in the form that a policy judges.
func (r *route) plan(unresolved bool) term.Plan {
	p := term.Plan{Unresolved: unresolved, Env: r.env, CallerEnv: r.callerEnv, RemoteCommand: r.remoteCommand}
	if u := r.hops[0].proxy; u != nil {
		port, _ := strconv.Atoi(u.Port())
		p.Proxy = &term.PlannedHop{
			Alias:     u.Hostname(),
			Host:      u.Hostname(),
			Port:      port,
			Vouched:   []string{u.Hostname()},
			Addresses: r.hops[0].proxyAddrs,
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
	p := term.PlannedHop{Alias: h.name, Host: h.host, Port: h.port, User: h.user, Vouched: h.vouched, Addresses: h.addrs}
	if len(p.Addresses) == 0 { // a numeric address needs no lookup
		if a, err := netip.ParseAddr(h.host); err == nil {
			p.Addresses = []netip.Addr{a}
		}
	}
	if h.user != "" {
		p.HostKeyPolicy, p.Pinned, p.Credentials = h.hostKeys.Policy.String(), h.hostKeys.Fingerprint != "", h.cred.sources()
	}
	return p
}

// inOrder returns the addresses sorted, because name servers return them in any
// order.
func inOrder(addrs []netip.Addr) []netip.Addr {
	return slices.SortedFunc(slices.Values(addrs), netip.Addr.Compare)
}

// proxyDialer connects to the proxy of a hop, at the approved addresses only.
type proxyDialer struct{ h *hop }

// Dial implements proxy.Dialer.
func (d proxyDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialContext implements proxy.ContextDialer.
func (d proxyDialer) DialContext(ctx context.Context, network, address string) (conn net.Conn, err error) {
	var dialer net.Dialer
	if d.h.lookUpErr != nil {
		return nil, d.h.lookUpErr
	}
	if len(d.h.proxyAddrs) == 0 { // no policy has judged the addresses
		return dialer.DialContext(ctx, network, address)
	}
	for _, a := range d.h.proxyAddrs {
		if conn, err = dialer.DialContext(ctx, network, net.JoinHostPort(a.String(), d.h.proxy.Port())); err == nil ||
			ctx.Err() != nil {
			return conn, err
		}
	}
	return nil, err
}
