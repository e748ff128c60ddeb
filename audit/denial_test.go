//go:build unix

package audit

import (
	"errors"
	"strings"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/term"
)

// An entry about a denial must not hold more of the caller's text than the rest of the
// entry.
func TestDenial(t *testing.T) {
	leaktest.Secret(t, "denial-1138")
	denied := &term.Error{
		Op: "exec", Session: "s-1", Kind: term.PolicyDenied, Msg: "policy.deny denies this: ‘curl --token denial-1138’: " +
			"no entry allows it",
		Facts: term.Facts{term.Denial{Rule: `policy.deny "curl *" (f:3)`}},
	}
	const reason = "policy.deny denies this: ‘curl --token [redacted] no entry allows it"
	for _, tt := range []struct {
		verb     term.Verb
		commands Commands
		err      error
		want     Denial
	}{
		{term.VerbExec, CommandsRedacted, denied, Denial{term.FactOf[term.Denial](denied).Rule, reason}},
		{term.VerbExec, "", denied, Denial{term.FactOf[term.Denial](denied).Rule, reason}},
		{term.VerbExec, CommandsHash, denied, Denial{term.FactOf[term.Denial](denied).Rule, ""}},
		{term.VerbExec, CommandsNone, denied, Denial{term.FactOf[term.Denial](denied).Rule, ""}},
		{term.VerbWrite, CommandsRedacted, denied, Denial{term.FactOf[term.Denial](denied).Rule, ""}},
		{term.VerbExec, CommandsRedacted, errors.New(strings.Repeat("x", 600)), Denial{"", strings.Repeat("x", 512) + "[... 88 bytes more]"}},
	} {
		e := term.Event{Verb: tt.verb, Reported: tt.err}
		n := newEntry(e, tt.commands)
		if n.Would == nil || *n.Would != tt.want || n.Refused || n.Outcome != "ok" {
			t.Errorf(
				"a line on %s with commands %q has %+v, outcome %q, refused %v; want %+v of an action that was done",
				tt.verb,
				tt.commands,
				n.Would,
				n.Outcome,
				n.Refused,
				tt.want,
			)
		}
		leaktest.Output(t, "line", asJSON(t, n))
	}
	if n := newEntry(term.Event{Verb: term.VerbExec}, ""); n.Would != nil {
		t.Errorf("entry about an allowed action = %+v, want no would_deny", n)
	}
}
