package policy

import (
	"fmt"
	"slices"
	"strings"

	"ptyctl/policy/grammar"
	"ptyctl/term"
)

// plan judges the hosts of a connection: its proxy, every hop, and the
// variables that the caller sends to the last one.
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
	// Variables that a caller sends can steer a shell on the far side, for example
	// BASH_ENV.
	for _, v := range plan.CallerEnv {
		if err := p.commands.assignment(v.Name + "=" + v.Value); err != nil {
			return err
		}
	}
	return nil
}

// hop judges one host of a plan. Any of its names and addresses can deny it;
// only a name that leads to it by the operator's own configuration can allow
// it.
func (p *Policy) hop(h *term.PlannedHop) error {
	// Deny rules come first: they apply to every name and address of the hop.
	if rule, ok := first(p.hosts.deny, known(h)); ok {
		return &denial{rule: rule, part: called(h), why: "this host is denied", allowed: p.rules.Hosts}
	}
	if len(p.rules.Hosts) == 0 ||
		slices.ContainsFunc(h.Vouched, func(name string) bool { return anyAllows(p.hosts.allow, name) }) {
		return nil
	}
	d := &denial{rule: whole(p.rules.Hosts), part: called(h), why: "no entry allows this host", allowed: p.rules.Hosts}
	// The name is allowed, but the caller's options lead it to another host.
	if anyAllows(p.hosts.allow, h.Alias) || anyAllows(p.hosts.allow, h.Host) {
		d.why = "an entry allows the name, but by the operator's own ssh_config it does not lead here"
		d.instead = "leave out what makes it mean another host: " +
			"a configuration file, options such as HostName, another port"
	}
	return d
}

// called returns the name of a hop for a denial.
func called(h *term.PlannedHop) string {
	s := h.Alias
	if h.Host != h.Alias {
		s += fmt.Sprintf(" (%s)", h.Host)
	}
	if len(h.Addresses) > 0 && h.Addresses[0].String() != h.Host {
		s += fmt.Sprintf(" at %s", h.Addresses[0])
	}
	return grammar.Shorten(s)
}

// known returns all names and addresses under which a rule may know a hop.
func known(h *term.PlannedHop) []string {
	forms := append(spellings(h.Alias), spellings(h.Host)...)
	for _, a := range h.Addresses {
		forms = append(forms, addressForms(a)...)
	}
	// Names are those under which the operator has restricted the host.
	for _, name := range h.Names {
		forms = append(forms, spellings(name)...)
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// ruled returns the first of the rules that names the session's host under any
// name or address.
func ruled(rules []hostRule, a term.Action) (Rule, bool) {
	// Local sessions have no host.
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

// anyAllows reports whether one of the rules allows the name. A name counts as
// an address only if every resolver reads it as one.
func anyAllows(rules []hostRule, name string) bool {
	form := allowedForm(name)
	return slices.ContainsFunc(rules, func(r hostRule) bool { return r.matches(form) })
}

// hostRules are the parsed rules for hosts.
type hostRules struct{ allow, deny, readOnly, execOnly []hostRule }

// A hostRule is a rule with its parsed pattern.
type hostRule struct {
	Rule
	hostPattern
}

// newHostRules parses the texts of rules for hosts.
func newHostRules(list []Rule) []hostRule {
	out := make([]hostRule, len(list))
	for i, r := range list {
		out[i] = hostRule{r, newHostPattern(r.Text)}
	}
	return out
}

// A hostPattern is the pattern of a rule for hosts: a name or an address, with
// * and ?.
type hostPattern struct {
	text      grammar.Wildcard
	addresses bool // matches only addresses, never names: 10.* does not match 10.example.net
}

// newHostPattern parses a pattern.
func newHostPattern(text string) hostPattern {
	text = allowedForm(text)
	digits := strings.ContainsAny(text, "0123456789") && strings.Trim(text, "0123456789.*?") == "" &&
		strings.Contains(text, ".")
	return hostPattern{text: grammar.NewPart(text), addresses: digits || strings.Contains(text, ":")}
}

// matches reports whether a name or address has the pattern.
func (h hostPattern) matches(form string) bool {
	return (!h.addresses || isAddress(form)) && h.text.Must(form)
}
