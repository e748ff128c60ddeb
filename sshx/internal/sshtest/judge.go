package sshtest

import (
	"context"
	"testing"

	"ptyctl/sshx"
	"ptyctl/term"
)

// Judge records the plans submitted to an Approve, and refuses those for which
// refuse is true.
type Judge struct {
	Plans  []term.Plan
	Refuse func(term.Plan) bool
	Grant  term.Grant
}

// Approve is the Approve.
func (a *Judge) Approve(_ context.Context, p term.Plan) (term.Grant, error) {
	a.Plans = append(a.Plans, p)
	if a.Refuse != nil && a.Refuse(p) {
		return term.Grant{}, &term.Error{Op: "open", Kind: term.PolicyDenied, Msg: "refused by the test"}
	}
	return a.Grant, nil
}

// Final returns the plan that was carried out.
func (a *Judge) Final(t *testing.T) term.Plan {
	t.Helper()
	if len(a.Plans) == 0 {
		t.Fatal("no plan was asked about")
	}
	return a.Plans[len(a.Plans)-1]
}

// Judged opens a shell with a as its Approve.
func (l *Lab) Judged(t term.Target, a *Judge) error {
	l.t.Helper()
	Confide(l.t, t.Auth)
	tr, err := sshx.NewNetwork(l.Opts).OpenShell(l.t.Context(), t, nil, a.Approve)
	if err == nil {
		l.t.Cleanup(func() { _ = tr.Close() })
	}
	return err
}
