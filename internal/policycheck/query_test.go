package policycheck

import (
	"strings"
	"testing"

	"ptyctl/internal/app"
	"ptyctl/internal/app/apptest"
)

// A query gets the verdict of the first action that is not allowed: the host before the command.
func TestJudge(t *testing.T) {
	cfg := apptest.Config(t,
		"[policy]", `allow = ["ls", "git status", "git push"]`, `ask = ["git push"]`, `deny_hosts = ["db*"]`, `consent = "elicit"`, `mode = "report"`,
		"[ssh]", "use_openssh_config = false",
	)
	p, err := app.NewPolicy(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		q       Query
		verdict string
		rule    string // in the rule or the reason
	}{
		{Query{Command: "ls"}, Allow, ""},
		{Query{Command: "git status"}, Allow, ""},
		{Query{Command: "rm -rf /"}, Deny, "policy.allow"},
		{Query{Command: "git push"}, Ask, "policy.ask"},
		{Query{Host: "192.0.2.1", Command: "ls"}, Allow, ""},
		{Query{Host: "db1", Command: "ls"}, Deny, "policy.deny_hosts"},
		{Query{Host: "db1"}, Deny, "policy.deny_hosts"},
		{Query{Host: "192.0.2.1"}, Allow, ""},
	} {
		tt.q.Protocol, tt.q.Class = "ssh", "posix"
		if err := tt.q.Check(); err != nil {
			t.Errorf("Check(%+v) = %v, want nil", tt.q, err)
		}
		got := tt.q.Judge(t.Context(), cfg, p)
		if got.Verdict != tt.verdict || !strings.Contains(got.Rule, tt.rule) || (got.Reason == nil) != (tt.verdict == Allow) {
			t.Errorf("Judge(%+v) = %+v, want %s by %q", tt.q, got, tt.verdict, tt.rule)
		}
	}
	free, err := app.NewPolicy(apptest.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	q := Query{Protocol: "ssh", Class: "posix", Command: "rm -rf /"}
	if got := q.Judge(t.Context(), cfg, free); got.Verdict != Allow {
		t.Errorf("Judge without rules = %+v, want allow", got)
	}
}

func TestCheckQuery(t *testing.T) {
	for want, q := range map[string]Query{
		"--class is":       {Protocol: "ssh", Class: "bassh"},
		"--protocol is":    {Protocol: "tlenet", Class: "posix"},
		"--host is for":    {Protocol: "local", Host: "web1", Class: "posix"},
		"--port is":        {Protocol: "ssh", Class: "posix", Host: "a", Port: 70_000},
		"are about a host": {Protocol: "ssh", Class: "posix", User: "root"},
		"--jump is for":    {Protocol: "telnet", Class: "posix", Host: "a", Jump: "gate"},
	} {
		if err := q.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%+v) = %v, want %q", q, err, want)
		}
	}
}
