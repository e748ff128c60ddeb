package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// TestPolicyReport checks that rules in report mode refuse nothing, and that the audit log and the program's log hold
// each action that they would refuse, with the rule and the reason. Settings outside [policy] must still refuse.
func TestPolicyReport(t *testing.T) {
	s := lab.StartSSHD(t)
	dir := t.TempDir()
	log := filepath.Join(dir, "ptyctl.log")
	h := lab.HomeFor(
		t,
		[]*lab.SSHD{s},
		"host_key_floor = 'strict'",
		"[logging]\nfile = '"+log+"'",
		"[policy]",
		`mode = "report"`,
		`allow = ["echo *", "uname"]`,
		`ask = ["uname"]`,
		`consent = "elicit"`,
		`exec_only_hosts = ["127.*"]`,
		`typing = "lines"`,
	)
	c := h.Connect(t)
	c.Refused(
		t,
		"POLICY_DENIED",
		lab.ToolSession,
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%v,"username":%s,"ssh_options":{"host_key_policy":"accept_new"}}`,
		s.Port,
		s.User,
	)
	id := c.Open(t, s)
	const run = `{"session_id":%s,"cmd":%s,"lane":"channel"}`
	for command, want := range map[string]string{
		"echo 'allowed'":                      "allowed\n",
		`x=" $(printf '%s' denied)"; echo $x`: "denied\n", // as it was written
		"uname":                               "Linux\n",
	} {
		if r := c.Call(t, lab.ToolExec, run, id, command); r.Stdout != want {
			t.Errorf("Exec(%q) stdout = %q, want %q", command, r.Stdout, want)
		}
	}
	c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"printf --password=report-1138","lane":"channel"}`, id)
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"ls typed-here\r","until_regex":"typed-here"}`, id)
	c.Close(t, id)
	c.Finish()

	var reasons []string
	for _, n := range lab.AuditLines(t, h.Audit, "exec") {
		switch {
		case n.Outcome != "ok" || n.Refused:
			t.Errorf("the exec %+v was refused", n)
		case strings.HasPrefix(n.Command, "echo"):
			if n.Would != nil {
				t.Errorf("%q would be denied: %+v", n.Command, n.Would)
			}
		case n.Would == nil || !strings.Contains(n.Would.Rule, h.Config+":") || n.Would.Reason == "":
			t.Errorf("%q would be denied by %+v, want a rule with its place, and a reason", n.Command, n.Would)
		default:
			reasons = append(reasons, n.Would.Reason)
		}
	}
	if len(reasons) != 3 {
		t.Errorf("%d execs would be denied, want 3: %q", len(reasons), reasons)
	}
	writes := lab.AuditLines(t, h.Audit, "write")
	if len(writes) != 1 || writes[0].Refused || writes[0].Would == nil ||
		!strings.HasPrefix(writes[0].Would.Rule, "policy.exec_only_hosts") ||
		writes[0].Would.Reason != "" {
		t.Errorf("the writes are %+v, want one that policy.exec_only_hosts would deny, without a reason", writes)
	}
	logged, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	text := string(logged)
	if got := strings.Count(text, "this would be denied"); got != 4 {
		t.Errorf("the log has %d lines about actions that would be denied, want 4:\n%s", got, text)
	}
	if !strings.Contains(text, "no rule of [policy] is enforced") || !strings.Contains(text, `policy.ask \"uname\"`) {
		t.Errorf("the log does not say that nothing is enforced, or which rule it is about:\n%s", text)
	}
	trail, err := os.ReadFile(h.Audit)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"typed-here", "report-1138"} {
		if strings.Contains(text+string(trail), secret) {
			t.Errorf("the log or the audit log has %q", secret)
		}
	}
}

// TestPolicyReportLogin checks that report mode also covers a host denied by another of its names, and credentials that
// the rules would withhold.
func TestPolicyReportLogin(t *testing.T) {
	s := lab.StartSSHD(t)
	dir := t.TempDir()
	log := filepath.Join(dir, "ptyctl.log")
	h := lab.HomeFor(t, []*lab.SSHD{s}, "[logging]\nfile = '"+log+"'",
		"[policy]", `mode = "report"`, `read_only_hosts = ["r2"]`, "[[policy.credential]]", `source = "password"`)
	had, err := os.ReadFile(h.SSHConfig)
	if err != nil {
		t.Fatal(err)
	}
	h.Write(t, h.SSHConfig, fmt.Sprintf("%s\nHost r2\n  HostName 127.0.0.1\n  Port %d\n", had, s.Port))
	c := h.Connect(t)
	id := c.Open(t, s)
	if r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo done","lane":"channel"}`, id); r.Stdout != "done\n" {
		t.Errorf("exec stdout = %q, want done", r.Stdout)
	}
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"echo typed\r","until_regex":"typed"}`, id)
	c.Close(t, id)
	c.Finish()

	for _, event := range []string{"exec", "write"} {
		lines := lab.AuditLines(t, h.Audit, event)
		if len(lines) != 1 || lines[0].Refused || lines[0].Would == nil ||
			!strings.HasPrefix(lines[0].Would.Rule, `policy.read_only_hosts "r2"`) {
			t.Errorf("the lines of %s are %+v, want one that policy.read_only_hosts would deny", event, lines)
		}
	}
	var withheld []string
	for _, n := range lab.AuditLines(t, h.Audit, "plan") {
		if n.Would != nil {
			withheld = append(withheld, n.Detail+" by "+n.Would.Rule+": "+n.Would.Reason)
		}
	}
	if len(withheld) != 1 || !strings.HasPrefix(withheld[0], "key SHA256:") ||
		!strings.Contains(withheld[0], " by policy.credential") ||
		!strings.Contains(withheld[0], "no rule for credentials allows this key here") {
		t.Errorf("credentials that would be withheld: %q, want the key, once", withheld)
	}
	logged, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(logged), "this would be denied"); got != 3 {
		t.Errorf("the log has %d lines about actions that would be denied, want 3:\n%s", got, logged)
	}
}
