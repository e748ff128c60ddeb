package policy

import (
	"context"

	"ptyctl/term"
)

// report is the Gate of rules in trial: it allows every action unchanged and
// returns the denial that the rules would make. It asks no person for consent.
// For a plan it still returns the names by which later actions are judged, and
// the credentials that would be withheld.
func (p *Policy) report(ctx context.Context, a term.Action) (term.Ruling, error) {
	p = p.in(ctx)
	a = p.planned(ctx, a)
	_, err := p.rule(ctx, a)
	ruling := term.Ruling{Reported: err}
	if a.Plan != nil && !a.Plan.Unresolved {
		ruling.Grant = p.grant(a.Plan)
		if len(ruling.Grant.Credentials) > 0 {
			// The session replaces it by a function that records the credentials.
			ruling.Grant.Report = func(string, error) {}
		}
	}
	return ruling, nil
}
