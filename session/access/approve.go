package access

import (
	"context"
	"fmt"
	"strings"

	"ptyctl/term"
)

// Approve returns the term.Approve of a session's opening: the Gate judges the plan that the Dialer makes of t, and
// the plan is on record before anything is sent. It acts for the opener, since the dialing goes on without the call.
func (k *Authorizer) Approve(opener term.Actor, t term.Target) term.Approve {
	return func(ctx context.Context, p term.Plan) (term.Grant, error) {
		ctx = term.WithActor(ctx, opener)
		c := k.Begin(ctx, term.VerbPlan, term.Event{Plan: &p, Command: p.RemoteCommand})
		a := term.Action{Verb: term.VerbOpen, Target: &t, Plan: &p}
		if p.Unresolved {
			_, err := k.Judge(ctx, a)
			if err != nil {
				c.End(err)
			}
			return term.Grant{}, err // there is nothing to use yet
		}
		ruling, err := k.authorize(ctx, a, &c.Event)
		c.permitted = err == nil
		c.End(err)
		if err != nil {
			return term.Grant{}, err
		}
		if target := p.Target(); target != nil {
			far := &farSide{host: *target, route: route(p)} // observers may still hold the plan's
			far.host.Names = ruling.Grant.Names
			k.far.Store(far)
		}
		if others := ruling.Grant.Report; others != nil {
			ruling.Grant.Report = func(credential string, why error) {
				others(credential, why)
				k.Observe(term.Event{Verb: term.VerbPlan, Actor: opener, Detail: credential, Reported: why})
			}
		}
		return ruling.Grant, nil
	}
}

// route writes down the hosts of a plan that lead to the target. Two plans of one route reach one machine.
func route(p term.Plan) string {
	hops := p.Hops
	if p.Proxy != nil {
		hops = append([]term.PlannedHop{*p.Proxy}, hops...)
	}
	var b strings.Builder
	for i, h := range hops {
		if p.ProxyCommand && i == 0 { // the program may know the host by this name alone
			fmt.Fprintf(&b, "%q ", h.Alias)
		}
		fmt.Fprintf(&b, "%q@%q port %d ", h.User, strings.ToLower(h.Host), h.Port)
	}
	return b.String()
}
