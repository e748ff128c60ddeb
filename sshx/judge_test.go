package sshx_test

import (
	"context"
	"testing"

	"ptyctl/sshx"
	"ptyctl/term"
)

// judge records the plans submitted to an Approve, and refuses those for which
// refuse is true.
type judge struct {
	plans  []term.Plan
	refuse func(term.Plan) bool
	grant  term.Grant
}

// approve is the Approve.
func (a *judge) approve(_ context.Context, p term.Plan) (term.Grant, error) {
	a.plans = append(a.plans, p)
	if a.refuse != nil && a.refuse(p) {
		return term.Grant{}, &term.Error{Op: "open", Kind: term.PolicyDenied, Msg: "refused by the test"}
	}
	return a.grant, nil
}

// final returns the plan that was carried out.
func (a *judge) final(t *testing.T) term.Plan {
	t.Helper()
	if len(a.plans) == 0 {
		t.Fatal("no plan was asked about")
	}
	return a.plans[len(a.plans)-1]
}

// judged opens a shell with a as its Approve.
func (l *lab) judged(t term.Target, a *judge) error {
	l.t.Helper()
	confide(l.t, t.Auth)
	tr, err := sshx.NewNetwork(l.opts).OpenShell(l.t.Context(), t, nil, a.approve)
	if err == nil {
		l.t.Cleanup(func() { _ = tr.Close() })
	}
	return err
}
