package policy

import (
	"fmt"
	"slices"
	"strings"

	"ptyctl/term"
)

// plan judges where a connection leads: its proxy, every hop, and what the caller has the last of them told.
func (p *Policy) plan(plan *term.Plan) error {
	if plan.Proxy != nil {
		if err := p.hop(plan.Proxy); err != nil {
			return err
		}
	}
	for i := range plan.Hops {
		if err := p.hop(&plan.Hops[i]); err != nil {
			return err
		}
	}
	for _, v := range plan.CallerEnv {
		if err := p.commands.assignment(v.Name + "=" + v.Value); err != nil {
			return err
		}
	}
	return nil
}

// hop judges one host of a plan. It is denied by any of its names and addresses; it is allowed only by a name that the
// operator's own configuration means it by.
func (p *Policy) hop(h *term.PlannedHop) error {
	if rule, ok := first(p.hosts.deny, known(h)); ok {
		return &denial{rule: rule, part: called(h), why: "this host is denied", allowed: p.rules.Hosts}
	}
	if len(p.rules.Hosts) == 0 ||
		slices.ContainsFunc(h.Vouched, func(name string) bool { return anyAllows(p.hosts.allow, name) }) {
		return nil
	}
	d := &denial{rule: whole(p.rules.Hosts), part: called(h), why: "no entry allows this host", allowed: p.rules.Hosts}
	if anyAllows(p.hosts.allow, h.Alias) || anyAllows(p.hosts.allow, h.Host) {
		d.why = "an entry allows the name, but by the operator's own ssh_config it does not lead here"
		d.instead = "leave out what makes it mean another host: a configuration file, options such as HostName, another port"
	}
	return d
}

// called is a hop as a denial names it.
func called(h *term.PlannedHop) string {
	s := h.Alias
	if h.Host != h.Alias {
		s += fmt.Sprintf(" (%s)", h.Host)
	}
	if len(h.Addresses) > 0 && h.Addresses[0].String() != h.Host {
		s += fmt.Sprintf(" at %s", h.Addresses[0])
	}
	return cut(s)
}

// known are all the forms by which a rule may name a hop.
func known(h *term.PlannedHop) []string {
	forms := append(spellings(h.Alias), spellings(h.Host)...)
	for _, a := range h.Addresses {
		forms = append(forms, addressForms(a)...)
	}
	for _, name := range h.Names {
		forms = append(forms, spellings(name)...)
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// ruled returns the first of the rules for hosts that names the session's host, by whichever name or address.
func ruled(rules []hostRule, a term.Action) (Rule, bool) {
	if a.Protocol == local || len(rules) == 0 {
		return Rule{}, false
	}
	forms := spellings(a.Host)
	if a.Far != nil {
		forms = append(forms, known(a.Far)...)
	}
	return first(rules, forms)
}

// first returns the first rule that matches one of the forms.
func first(rules []hostRule, forms []string) (Rule, bool) {
	i := slices.IndexFunc(rules, func(r hostRule) bool { return slices.ContainsFunc(forms, r.matches) })
	if i < 0 {
		return Rule{}, false
	}
	return rules[i].Rule, true
}

// anyAllows reports whether one of the rules allows the name. Only what reads as an address in every resolver is one here.
func anyAllows(rules []hostRule, name string) bool {
	form := allowedForm(name)
	return slices.ContainsFunc(rules, func(r hostRule) bool { return r.matches(form) })
}

// hostRules are the rules for hosts, read.
type hostRules struct{ allow, deny, readOnly, execOnly []hostRule }

// A hostRule is one of them.
type hostRule struct {
	Rule
	hostPattern
}

func newHostRules(list []Rule) []hostRule {
	out := make([]hostRule, len(list))
	for i, r := range list {
		out[i] = hostRule{r, newHostPattern(r.Text)}
	}
	return out
}

// A hostPattern is a rule's text for hosts: a name, an address, or either with * and ?.
type hostPattern struct {
	text      wildcard
	addresses bool // it speaks of addresses, and no name is one: 10.* is not 10.example.net
}

func newHostPattern(text string) hostPattern {
	text = allowedForm(text)
	digits := strings.ContainsAny(text, "0123456789") && strings.Trim(text, "0123456789.*?") == "" &&
		strings.Contains(text, ".")
	return hostPattern{text: newPart(text), addresses: digits || strings.Contains(text, ":")}
}

func (h hostPattern) matches(form string) bool {
	return (!h.addresses || isAddress(form)) && h.text.must(form)
}
