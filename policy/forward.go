package policy

import (
	"context"
	"net"
	"slices"

	"ptyctl/term"
)

// forward judges a forward by the host of its session, and by the host to which it leads.
func (p *Policy) forward(ctx context.Context, a term.Action) error {
	if err := p.mayAct(a, "forward connections"); err != nil {
		return err
	}
	if err := p.execOnly(a, "nothing is forwarded"); err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(a.To)
	if err != nil { // no address, so no rule can be about it
		host = a.To
	}
	forms := p.destination(ctx, host)
	if slices.Contains(forms, "localhost") { // the host of the session itself
		return nil
	}
	for _, list := range []struct {
		rules []hostRule
		why   string
	}{
		{p.hosts.deny, "the host to which the forward leads is denied"},
		{p.hosts.readOnly, "the host to which the forward leads is read-only, and connections to it may change it"},
		{p.hosts.execOnly, "on the host to which the forward leads commands are run, and nothing is forwarded there"},
	} {
		if rule, ok := first(list.rules, forms); ok {
			return &denial{rule: rule, part: a.To, why: list.why}
		}
	}
	return nil
}

// destination returns the names and addresses under which a rule may know the host of a forward. The meaning of a
// name at the far side is unknown here. The operator's configuration may have the port of the host's SSH server,
// which is not the port of the forward, so a restricted name counts at every port of its host.
func (p *Policy) destination(ctx context.Context, host string) []string {
	to := term.PlannedHop{Alias: host, Host: host}
	forms := known(&to)
	names := p.rules.restricted()
	if p.rules.Meaning == nil || len(names) == 0 || slices.Contains(forms, "localhost") {
		return forms
	}
	meanings := p.meanings(ctx, names)
	for i := range meanings {
		meanings[i].Port = 0
	}
	to = withNames(to, names, meanings)
	return known(&to)
}
