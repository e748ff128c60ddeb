package session

import (
	"context"

	"ptyctl/term"
)

// approve returns the term.Approve of the session's opening: the Gate judges what the Dialer makes of t, and the plan is on
// record before anything goes out. It speaks for whoever opened the session, since the dialing goes on without the call.
func (s *Session) approve(t term.Target) term.Approve {
	return func(ctx context.Context, p term.Plan) (term.Grant, error) {
		ctx = term.WithActor(ctx, s.o.Opener)
		d := s.begin(ctx, term.VerbPlan, term.Event{Plan: &p, Command: p.RemoteCommand})
		a := term.Action{Verb: term.VerbOpen, Target: &t, Plan: &p}
		if p.Unresolved {
			_, err := s.desk.judged(ctx, a)
			if err != nil {
				d.end(err)
			}
			return term.Grant{}, err // there is nothing to use yet
		}
		ruling, err := s.desk.allowed(ctx, a, &d.event)
		d.permitted = err == nil
		d.end(err)
		if err != nil {
			return term.Grant{}, err
		}
		if target := p.Target(); target != nil {
			far := *target // which observers may still hold
			far.Names = ruling.Grant.Names
			s.desk.far.Store(&far)
		}
		if others := ruling.Grant.Report; others != nil {
			ruling.Grant.Report = func(credential string, why error) {
				others(credential, why)
				s.observe(term.Event{Verb: term.VerbPlan, Actor: s.o.Opener, Detail: credential, Reported: why})
			}
		}
		return ruling.Grant, nil
	}
}
