package policy

import (
	"errors"
	"strings"
	"testing"

	"ptyctl/term"
)

func TestReport(t *testing.T) {
	rules := Rules{
		Allow: []Rule{{Text: "uptime", Name: "policy.allow", Where: "f:1"}}, Ask: []Rule{{Text: "reboot", Name: "policy.ask"}},
		ReadOnlyHosts: []Rule{{Text: "core1", Name: "policy.read_only_hosts", Where: "f:2"}}, Consent: true,
	}
	enforced, err := New(rules)
	if err != nil {
		t.Fatal(err)
	}
	rules.Report = true
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
			t.Errorf("%s: the rules that only report refuse it: %v", name, err)
		case ruling.Command != "" || ruling.Program != "":
			t.Errorf("%s: the ruling %+v changes what is run", name, ruling)
		case (want == nil) != (ruling.Reported == nil), want != nil && want.Error() != ruling.Reported.Error():
			t.Errorf("%s: reported %v, want %v", name, ruling.Reported, want)
		case want != nil && !errors.Is(ruling.Reported, term.PolicyDenied):
			t.Errorf("%s: reported %v, want an error of kind %s", name, ruling.Reported, term.PolicyDenied)
		}
	}
	if all := reported.rules.All(); len(all) == 0 || !strings.HasPrefix(all[0].String(), `policy.mode "report"`) {
		t.Errorf("All() = %v, want policy.mode first", all)
	}
}
