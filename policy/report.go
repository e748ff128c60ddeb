package policy

import (
	"context"

	"ptyctl/term"
)

// report is the Gate of rules that are tried out: it allows every action as it was asked for, and says why it would have
// been refused. Nobody is asked for consent. With a plan go the names by which later actions are judged, and what would be
// withheld from a login.
func (p *Policy) report(ctx context.Context, a term.Action) (term.Ruling, error) {
	a = p.planned(ctx, a)
	_, err := p.rule(ctx, a)
	ruling := term.Ruling{Reported: err}
	if a.Plan != nil && !a.Plan.Unresolved {
		ruling.Grant = p.grant(a.Plan)
		if len(ruling.Grant.Credentials) > 0 {
			ruling.Grant.Report = func(string, error) {} // whoever keeps records puts its own in place of it
		}
	}
	return ruling, nil
}
