package policy

import (
	"slices"
	"strings"

	"ptyctl/policy/grammar"
	"ptyctl/term"
)

// covers reports whether the entry applies to logins at h.
func (c Credential) covers(h *term.PlannedHop) bool {
	return (len(c.Hosts) == 0 || slices.ContainsFunc(h.Vouched, c.names)) &&
		(len(c.Users) == 0 || slices.ContainsFunc(c.Users, func(u string) bool { return grammar.NewPart(u).Must(h.User) }))
}

// names reports whether one of the entry's patterns matches the host.
func (c Credential) names(host string) bool {
	form := allowedForm(host)
	return slices.ContainsFunc(c.Hosts, func(text string) bool { return newHostPattern(text).matches(form) })
}

// grant returns the credentials that a plan may use, and the names under which
// rules know its target.
func (p *Policy) grant(plan *term.Plan) (g term.Grant) {
	if far := plan.Target(); far != nil {
		g.Names = far.Names
	}
	list := p.rules.Credentials
	if len(list) == 0 {
		return g
	}
	keep := slices.ContainsFunc(list, func(c Credential) bool { return c.HostKey != "" })
	for i := range plan.Hops {
		h := &plan.Hops[i]
		use := term.CredentialGrant{
			Ruled: true, KeepRecord: keep, Keys: make(map[string]term.CredentialCondition),
			Password: p.condition(h, "password"), Agent: p.condition(h, "agent"),
			OtherKeys: p.condition(h, ""), // no entry names these keys
		}
		for _, c := range list {
			if print, ok := strings.CutPrefix(c.Source, "key:"); ok {
				use.Keys[print] = p.condition(h, c.Source)
			}
		}
		g.Credentials = append(g.Credentials, use)
	}
	return g
}

// proofs are the values of term.HostKeyProof, the weakest first.
var proofs = []term.HostKeyProof{term.HostKeyAccepted, term.HostKeyRecorded, term.HostKeyPinned}

// condition returns the weakest condition on which an entry allows a source at
// h.
func (p *Policy) condition(h *term.PlannedHop, source string) term.CredentialCondition {
	what := "this key"
	if source == "password" {
		what = "a password or an answer"
	}
	best := term.CredentialCondition{
		Never: true, Why: "no rule for credentials allows " + what + " here",
		Rule: Rule{Name: p.rules.Credentials[0].Rule().Name, Where: p.rules.Credentials[0].Where}.String(),
	}
	for _, c := range p.rules.Credentials {
		switch {
		case c.Source != source:
		case best.Never && !c.covers(h):
			best.Rule = c.Rule().String()
		case c.covers(h) && (best.Never ||
			slices.Index(proofs, term.HostKeyProof(c.HostKey)) < slices.Index(proofs, best.HostKey)):
			best = term.CredentialCondition{HostKey: term.HostKeyProof(c.HostKey), Rule: c.Rule().String()}
		}
	}
	return best
}
