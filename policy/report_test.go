package policy

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"ptyctl/term"
)

func TestReport(t *testing.T) {
	rules := Rules{
		Allow: []Rule{
			{Text: "uptime", Name: "policy.allow", Where: "f:1"},
		}, Ask: []Rule{{Text: "reboot", Name: "policy.ask"}},
		ReadOnlyHosts: []Rule{{Text: "core1", Name: "policy.read_only_hosts", Where: "f:2"}}, Consent: true,
	}
	enforced, err := New(rules)
	if err != nil {
		t.Fatal(err)
	}
	rules.Report, rules.ReportName = true, "policy.mode"
	reported, err := New(rules)
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]term.Action{
		"allowed":        {Verb: term.VerbExec, Protocol: "ssh", Host: "web1", Command: "uptime"},
		"not allowed":    {Verb: term.VerbExec, Protocol: "ssh", Host: "web1", Command: "rm -rf /"},
		"asks":           {Verb: term.VerbExec, Protocol: "ssh", Host: "web1", Command: "reboot"},
		"read-only host": {Verb: term.VerbExec, Protocol: "ssh", Host: "core1", Command: "uptime"},
		"typed":          {Verb: term.VerbWrite, Protocol: "ssh", Host: "web1", Data: []byte("x")},
		"unknown verb":   {Verb: "new"},
	} {
		_, want := enforced.Gate()(t.Context(), a)
		ruling, err := reported.Gate()(t.Context(), a)
		switch {
		case err != nil:
			t.Errorf("%s in trial = %v, want it allowed", name, err)
		case ruling.Command != "" || ruling.Program != "":
			t.Errorf("%s in trial: ruling = %+v, want no change", name, ruling)
		case (want == nil) != (ruling.Reported == nil), want != nil && want.Error() != ruling.Reported.Error():
			t.Errorf("%s: reported %v, want %v", name, ruling.Reported, want)
		case want != nil && !errors.Is(ruling.Reported, term.PolicyDenied):
			t.Errorf("%s: reported %v, want an error of kind %s", name, ruling.Reported, term.PolicyDenied)
		}
	}
	plan := term.Plan{
		Hops: []term.PlannedHop{
			{Alias: "192.0.2.7", Host: "192.0.2.7", User: "u", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.7")}},
		},
	}
	rules.DenyHosts = []Rule{{Text: "router1", Name: "policy.deny_hosts"}}
	rules.Credentials = []Credential{{Source: "password", Where: "f:3"}}
	rules.Meaning = func(_ context.Context, name string) Meaning {
		if name == "router1" {
			return Meaning{Host: "192.0.2.7"}
		}
		return Meaning{Host: name}
	}
	if reported, err = New(rules); err != nil {
		t.Fatal(err)
	}
	ruling, err := reported.Gate()(
		t.Context(),
		term.Action{Verb: term.VerbOpen, Protocol: "ssh", Target: &term.Target{Protocol: "ssh"}, Plan: &plan},
	)
	switch g := ruling.Grant; {
	case err != nil || ruling.Reported == nil:
		t.Errorf("the plan ends in %v and reports %v, want a denial that is reported", err, ruling.Reported)
	case !slices.Equal(g.Names, []string{"router1"}):
		t.Errorf("the target is known as %q, want router1 besides", g.Names)
	case g.Report == nil || !g.Hop(0).Agent.Never || g.Hop(0).Password.Never:
		t.Errorf("the grant %+v does not report what credentials would be withheld", g)
	case g.Hop(0).OtherKeys.Why != "no rule for credentials allows this key here":
		t.Errorf("a key would be withheld because %q", g.Hop(0).OtherKeys.Why)
	}
	if all := reported.rules.All(); len(all) == 0 || !strings.HasPrefix(all[0].String(), `policy.mode "report"`) {
		t.Errorf("All() = %v, want policy.mode first", all)
	}
}
