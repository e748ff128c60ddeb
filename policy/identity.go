package policy

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"ptyctl/term"
)

// A Meaning is the host to which a name of the operator leads.
type Meaning struct {
	Host      string       // according to the operator's configuration
	Port      int          // the operator's port for the name; 0: any
	Addresses []netip.Addr // empty: not known here
}

// Limits of the lookups for one plan.
const (
	maxLookups = 16 // at the same time
	lookupTime = 3 * time.Second
)

// restricted returns the names without wildcards of hosts on which not
// everything is allowed.
func (r Rules) restricted() []string {
	var names []string
	for _, rule := range slices.Concat(r.DenyHosts, r.ReadOnlyHosts, r.ExecOnlyHosts) {
		pattern := newHostPattern(rule.Text)
		if name, literal := pattern.text.Literal(); literal && !isAddress(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// identified returns the plan with more names: those under which the operator
// has restricted a host that the plan reaches by its address or another name.
func (p *Policy) identified(ctx context.Context, plan *term.Plan) *term.Plan {
	names := p.rules.restricted()
	// Without Meaning or names there is nothing to compare, so the plan must not
	// wait for lookups.
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

// meanings resolves all names concurrently. A name that cannot be resolved
// means only itself.
func (p *Policy) meanings(ctx context.Context, names []string) []Meaning {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	found := make([]Meaning, len(names))
	// A semaphore bounds the lookups: a rule list may have thousands of names.
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

// withNames adds to h those of names that mean the same host.
func withNames(h term.PlannedHop, names []string, meanings []Meaning) term.PlannedHop {
	forms := known(&h)
	for i, m := range meanings {
		// The operator's configuration may map one name to a port of a forwarding
		// host.
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
