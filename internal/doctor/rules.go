package doctor

import (
	"context"
	"slices"
	"sync"

	"ptyctl/internal/cliadvice"
	"ptyctl/term"
)

// An inquiry asks the operator's rules about the way to a host, as the opening of a session does, and records each
// denial in report mode.
type inquiry struct {
	gate   term.Gate // nil: there are no rules
	target term.Target

	mu    sync.Mutex
	would []Finding
}

// approve returns the function that a Dialer asks; nil: there are no rules.
func (q *inquiry) approve() term.Approve {
	if q.gate == nil {
		return nil
	}
	return func(ctx context.Context, p term.Plan) (term.Grant, error) {
		ruling, err := q.gate(ctx, term.Action{
			Verb: term.VerbOpen, Protocol: q.target.Protocol, Host: q.target.Host, User: q.target.User,
			Target: &q.target, Plan: &p,
		})
		if err != nil || p.Unresolved { // the Dialer asks again once it is resolved
			return term.Grant{}, err
		}
		if ruling.Reported != nil {
			q.keep(ruling.Reported)
		}
		if ruling.Grant.Report != nil {
			ruling.Grant.Report = func(_ string, why error) { q.keep(why) }
		}
		return ruling.Grant, nil
	}
}

func (q *inquiry) keep(why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.would = append(q.would, Finding{
		Status: noted, Check: "policy", Text: "this would be denied if policy.mode were enforce: " + why.Error(),
		Do: "if callers are to have it, change the rule before policy.mode; ptyctl policy show says where each rule is",
	})
}

func (q *inquiry) findings() []Finding {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.would)
}

// refused is the finding about a way that the rules deny, or a login for which they withhold every credential.
func refused(e *term.Error) Finding {
	rule := "the rule"
	if d := term.FactOf[term.Denial](e); d.Rule != "" {
		rule = d.Rule
	}
	return Finding{
		Status: failing, Check: "policy", Text: cliadvice.Fact(e),
		Do: "if callers are to have it, change " + rule + "; ptyctl policy show says where each rule is",
	}
}
