package policy

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"ptyctl/term"
)

// A Meaning is where a name of the operator's leads.
type Meaning struct {
	Host      string       // by the operator's configuration
	Port      int          // if the operator has set one for the name; 0: any
	Addresses []netip.Addr // none: they are not known here
}

// The bounds of what is looked up for one plan.
const (
	maxLookups = 16 // at a time
	lookupTime = 3 * time.Second
)

// restricted are the names, without wildcards, of hosts about which less than everything is allowed.
func (r Rules) restricted() []string {
	var names []string
	for _, rule := range slices.Concat(r.DenyHosts, r.ReadOnlyHosts, r.ExecOnlyHosts) {
		pattern := newHostPattern(rule.Text)
		if name, literal := pattern.text.literal(); literal && !isAddress(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// identified returns the plan with the names by which the operator has restricted a host that the plan calls otherwise: by
// its address, or by another name of it.
func (p *Policy) identified(ctx context.Context, plan *term.Plan) *term.Plan {
	names := p.rules.restricted()
	if p.rules.Meaning == nil || len(names) == 0 {
		return plan
	}
	meanings := p.meanings(ctx, names)
	same := *plan
	if plan.Proxy != nil {
		proxy := withNames(*plan.Proxy, names, meanings)
		same.Proxy = &proxy
	}
	same.Hops = slices.Clone(plan.Hops)
	for i, h := range same.Hops {
		same.Hops[i] = withNames(h, names, meanings)
	}
	return &same
}

// meanings asks for all names at a time. One that cannot be looked up has none beyond itself.
func (p *Policy) meanings(ctx context.Context, names []string) []Meaning {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	found := make([]Meaning, len(names))
	turns := make(chan struct{}, maxLookups)
	var wg sync.WaitGroup
	for i, name := range names {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			found[i] = p.rules.Meaning(ctx, name)
		})
	}
	wg.Wait()
	return found
}

// withNames adds to h those of names that mean it.
func withNames(h term.PlannedHop, names []string, meanings []Meaning) term.PlannedHop {
	forms := known(&h)
	for i, m := range meanings {
		if m.Port != 0 && m.Port != h.Port {
			continue
		}
		if slices.Contains(forms, allowedForm(m.Host)) || slices.ContainsFunc(m.Addresses, func(a netip.Addr) bool {
			return slices.Contains(forms, a.WithZone("").Unmap().String())
		}) {
			h.Names = append(slices.Clip(h.Names), names[i])
		}
	}
	return h
}
