package policy

import (
	"context"
	"slices"

	"ptyctl/term"
)

// Abroad returns the Gate for actions that another node of a cluster does for
// callers of this one. It judges them as Gate does, with these differences:
//
//   - These rules may not have seen the opening of the session. So before an action there, they also judge whether
//     the session could have been opened.
//   - Rules about paths of this machine cannot judge programs of another one, and rules for credentials cannot be
//     combined with those of the other node. Actions under such rules are refused.
//
// It returns nil if there are no rules.
func (p *Policy) Abroad() term.Gate {
	gate := p.Gate()
	if gate == nil {
		return nil
	}
	return func(ctx context.Context, a term.Action) (term.Ruling, error) {
		ruling, err := p.abroad(ctx, a, gate)
		d, denied := asDenial(err)
		switch {
		case !denied:
			return ruling, err
		case p.rules.Report:
			return term.Ruling{Reported: d.refusal(a)}, nil
		}
		return term.Ruling{}, d.refusal(a)
	}
}

// acts are the actions that need a session which these rules would let the caller open.
var acts = []term.Verb{
	term.VerbExec, term.VerbWrite, term.VerbSignal, term.VerbForward, term.VerbFileRead, term.VerbFileWrite,
}

func (p *Policy) abroad(ctx context.Context, a term.Action, gate term.Gate) (term.Ruling, error) {
	if a.Protocol == local && (a.Verb == term.VerbOpen || a.Verb == term.VerbExec || a.Verb == term.VerbWrite) {
		if rule, ok := p.ofPaths(); ok {
			return term.Ruling{}, &denial{rule: rule, why: "it is about paths of this machine, and the program is to run on another node"}
		}
	}
	if slices.Contains(acts, a.Verb) {
		if err := p.openAbroad(ctx, &a); err != nil {
			return term.Ruling{}, err
		}
	}
	ruling, err := gate(ctx, a)
	if err == nil && ruling.Grant.Credentials != nil && ruling.Grant.Report == nil {
		return term.Ruling{}, &denial{
			rule: whole([]Rule{p.rules.Credentials[0].Rule()}),
			why:  "it limits the credentials of a login that another node makes by rules of its own",
		}
	}
	return ruling, err
}

// openAbroad judges whether the session of a could be opened, and gives its host all names under which these rules know
// it.
func (p *Policy) openAbroad(ctx context.Context, a *term.Action) error {
	opening := term.Action{Verb: term.VerbOpen, Target: &term.Target{Protocol: a.Protocol}}
	if a.Protocol == local { // its commands are judged one by one
		opening.Target.PTY.Disabled = true
		if len(p.rules.Protocols) == 0 {
			return nil
		}
		protocols := &Policy{rules: Rules{Protocols: p.rules.Protocols}}
		_, err := protocols.open(ctx, opening)
		return err
	}
	var far term.PlannedHop
	switch {
	case a.Far != nil:
		far = *a.Far
	case a.Protocol != "serial":
		far = term.PlannedHop{Alias: a.Host, Host: a.Host, Vouched: []string{a.Host}}
	}
	if far.Host != "" {
		opening.Plan = p.identified(ctx, &term.Plan{Hops: []term.PlannedHop{far}})
		a.Far = opening.Plan.Target()
	}
	_, err := p.open(ctx, opening)
	return err
}

// ofPaths returns the first rule about paths of this machine.
func (p *Policy) ofPaths() (Rule, bool) {
	switch {
	case p.ruled():
		return p.programRule(), true
	case len(p.rules.WorkDirs) > 0:
		return whole(p.rules.WorkDirs), true
	case p.commands.permissions != nil && p.commands.permissions.external.why() != "":
		return Rule{Text: "external_directory", Name: permissionsName}, true
	}
	return Rule{}, false
}
