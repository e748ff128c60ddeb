package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// TestPolicyOnCommands checks that in both lanes a denied command never runs, that typed input is refused with the
// reason, and that the audit log has all of it. All other tests show that nothing is refused without such a
// configuration.
func TestPolicyOnCommands(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s}, "[policy]", `deny = ["rm -rf *", "> /etc/*"]`, `ask = ["systemctl *"]`)
	c := h.Connect(t)
	id := c.Open(t, s)
	victim := filepath.Join(s.Dir, "victim")
	if err := os.Mkdir(victim, 0o700); err != nil {
		t.Fatal(err)
	}
	const run = `{"session_id":%s,"cmd":%s,"lane":%s}`
	for _, lane := range []string{"channel", "terminal"} {
		if r := c.Call(t, lab.ToolExec, run, id, "echo fine | cat", lane); r.Stdout != "fine\n" {
			t.Errorf("%s: %s", lane, r.Text)
		}
		for _, command := range []string{
			"rm -rf " + victim, "true && rm -r -f " + victim, "sh -c 'rm -rf " + victim + "'",
			"echo " + victim + " | xargs rm -rf",
		} {
			c.DeniedBy(t, "policy.deny", lab.ToolExec, run, id, command, lane)
		}
		// No rule allows these.
		for _, command := range []string{"f() { rm -rf " + victim + "; }; f", "$(echo rm) -rf " + victim} {
			c.DeniedBy(t, "policy.ask", lab.ToolExec, run, id, command, lane)
		}
		c.DeniedBy(t, "policy.ask", lab.ToolExec, run, id, "systemctl restart nginx", lane)
	}
	c.DeniedBy(t, "policy.deny", lab.ToolExec, `{"session_id":%s,"cmd":"ls","lane":"channel","env":["PATH=/tmp"]}`, id)
	c.DeniedBy(
		t,
		"policy.deny",
		lab.ToolExec,
		`{"session_id":%s,"cmd":"sh","lane":"channel","stdin":%s}`,
		id,
		"rm -rf "+victim,
	)
	for _, arguments := range []string{
		`"data":"ls\r"`, `"data":"ls not-1138\r","sensitive":true`, `"data":"ls","paste":true`, `"key":"arrow_up"`,
		`"key":"ctrl_c"`, `"key":"break"`,
	} {
		c.DeniedBy(t, "policy.typing", lab.ToolIO, `{"action":"write","session_id":%s,`+arguments+`}`, id)
	}
	if _, err := os.Stat(victim); err != nil {
		t.Errorf("the victim is gone: %v", err)
	}
	c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0"}`, id)
	c.Close(t, id)
	c.Finish()
	refused := 0
	for _, event := range []string{"exec", "write"} {
		for _, n := range lab.AuditLines(t, h.Audit, event) {
			if n.Outcome == "POLICY_DENIED" && n.Refused {
				refused++
			}
		}
	}
	if want := 2*7 + 2 + 6; refused != want {
		t.Errorf("%d refused actions are on record, want %d", refused, want)
	}
}

// TestPolicyOnHosts: hosts that may not be opened, those that are only read, and those where commands are run alone.
func TestPolicyOnHosts(t *testing.T) {
	s := lab.StartSSHD(t)
	for name, tt := range map[string]struct {
		rules       []string
		open        string // the rule that denies it; empty: none
		exec, write string
	}{
		"another host": {[]string{`hosts = ["web*"]`}, "policy.hosts", "", ""},
		"denied":       {[]string{`deny_hosts = ["127.*"]`}, "policy.deny_hosts", "", ""},
		"protocol":     {[]string{`protocols = ["telnet"]`}, "policy.protocols", "", ""},
		"allowed":      {[]string{`hosts = ["127.0.0.1"]`, `protocols = ["ssh"]`}, "", "", ""},
		"read-only":    {[]string{`read_only_hosts = ["127.0.0.?"]`}, "", "policy.read_only_hosts", "policy.read_only_hosts"},
		"exec-only":    {[]string{`exec_only_hosts = ["127.0.0.1"]`}, "", "", "policy.exec_only_hosts"},
		"lines":        {[]string{`deny = ["shutdown"]`, `typing = "lines"`}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := lab.HomeFor(t, []*lab.SSHD{s}, append([]string{"[policy]"}, tt.rules...)...).Connect(t)
			if tt.open != "" {
				c.DeniedBy(t, tt.open, lab.ToolSession, lab.OpenSSH, s.Port, s.User)
				return
			}
			id := c.Open(t, s)
			check := func(rule, tool, arguments string) {
				t.Helper()
				if rule == "" {
					c.Call(t, tool, arguments, id)
				} else {
					c.DeniedBy(t, rule, tool, arguments, id)
				}
			}
			check(tt.exec, lab.ToolExec, `{"session_id":%s,"cmd":"true","lane":"channel"}`)
			check("", lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0"}`)
			check(tt.write, lab.ToolIO, `{"action":"write","session_id":%s,"data":"true\r"}`)
			check(tt.write, lab.ToolIO, `{"action":"write","session_id":%s,"key":"enter"}`)
			c.Close(t, id)
		})
	}
}

// TestPolicyCheck runs an operator's queries, and checks the messages for wrong rules.
func TestPolicyCheck(t *testing.T) {
	h := lab.NewHome(t, "[policy]", `deny = ["rm -rf *"]`, `hosts = ["web*"]`)
	rule := `policy.deny "rm -rf *" (` + h.Config + `:5)`
	for _, tt := range []struct {
		args   []string
		status int
		want   string // in stdout
	}{
		{[]string{"--", "ls", "-la"}, 0, "allowed"},
		{[]string{"--", "rm", "-r", "-f", "/"}, 1, rule},
		{[]string{"--", "ls; sudo rm -rf /"}, 1, rule},
		{[]string{"--", "ls; sudo rm -rf /"}, 1, "‘rm -rf /’"},
		{[]string{"--host", "web1", "--", "ls"}, 0, "allowed"},
		{[]string{"--host", "db1", "--", "ls"}, 1, "policy.hosts"},
		{[]string{"--type", "--", "ls"}, 1, "typed input cannot be judged"},
		{nil, 2, ""},
	} {
		out, errs, status := h.Run(t, append([]string{"policy", "check", "--config", h.Config}, tt.args...)...)
		if status != tt.status || !strings.Contains(out, tt.want) {
			t.Errorf("%q: status %d, %s%s", tt.args, status, out, errs)
		}
	}
	for lines, want := range map[string]int{"deny -- rm -rf /\n": 0, "deny -- ls\n": 1, "deny rm\n": 2, "# none\n": 2} {
		file := filepath.Join(t.TempDir(), "rules.txt")
		if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, errs, status := h.Run(t, "policy", "test", "--config", h.Config, file); status != want {
			t.Errorf("policy test of %q: status %d, want %d: %s%s", lines, status, want, out, errs)
		}
	}
	if out, _, status := h.Run(t, "policy", "show", "--config", h.Config); status != 0 || !strings.Contains(out, rule) ||
		!strings.Contains(out, `policy.hosts "web*"`) {
		t.Errorf("show: status %d, %s", status, out)
	}
	for _, line := range []string{`permissions = '{"bash": {"ls": "maybe"}}'`, `deny = [" "]`, `typing = "some"`} {
		h := lab.NewHome(t, "[policy]", line)
		for _, command := range [][]string{
			{"mcp", "--config", h.Config},
			{"config", "check", "--config", h.Config},
			{"policy", "check", "--config", h.Config, "--", "ls"},
			{"policy", "show", "--config", h.Config},
		} {
			if _, errs, status := h.Run(t, command...); status != 2 || errs == "" {
				t.Errorf("%s, %q: status %d, %s", line, command, status, errs)
			}
		}
	}
}

// TestPolicyOnThisMachine checks the rules for programs, their folders and their children, for terminals and for
// ptyctl_run.
func TestPolicyOnThisMachine(t *testing.T) {
	top := t.TempDir()
	inside, outside := filepath.Join(top, "in"), filepath.Join(top, "out")
	for _, d := range []string{inside, outside} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(inside, "link")); err != nil {
		t.Fatal(err)
	}
	victim := filepath.Join(outside, "victim")
	if err := os.WriteFile(victim, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h := lab.NewHome(t, "[policy]", `deny = ["rm *"]`, `deny_programs = ["/usr/bin/id"]`, "work_dirs = ['"+inside+"']")
	c := h.Connect(t)
	if r := c.Call(t, lab.ToolRun, `{"argv":["sh","-c","pwd"],"cwd":%s}`, inside); r.Stdout != inside+"\n" {
		t.Error(r.Text)
	}
	const run = `{"argv":%s,"cwd":%s}`
	c.DeniedBy(t, "policy.deny", lab.ToolRun, run, []string{"rm", victim}, inside)
	c.DeniedBy(t, "policy.deny", lab.ToolRun, run, []string{"/bin/sh", "-c", "true; rm " + victim}, inside)
	c.DeniedBy(t, "policy.deny", lab.ToolRun, run, []string{"env", "-i", "rm", victim}, inside)
	c.DeniedBy(t, "policy.deny", lab.ToolRun, `{"argv":["sh"],"cwd":%s,"stdin":%s}`, inside, "rm "+victim)
	c.DeniedBy(t, "policy.deny", lab.ToolRun, `{"argv":["ls"],"cwd":%s,"env":["LD_PRELOAD=/tmp/x.so"]}`, inside)
	c.DeniedBy(t, "policy.deny_programs", lab.ToolRun, run, []string{"id"}, inside)
	for _, dir := range []string{outside, filepath.Join(inside, "link"), filepath.Join(inside, "..")} {
		c.DeniedBy(t, "policy.work_dirs", lab.ToolRun, run, []string{"true"}, dir)
	}
	c.DeniedBy(t, "policy.work_dirs", lab.ToolRun, `{"argv":["true"]}`)
	c.DeniedBy(t, "policy.work_dirs", lab.ToolSession, `{"action":"open","protocol":"local","argv":["sh"]}`)
	c.DeniedBy(
		t,
		"policy.deny",
		lab.ToolSession,
		`{"action":"open","protocol":"local","argv":["rm",%s],"cwd":%s}`,
		victim,
		inside,
	)
	id := c.Call(t, lab.ToolSession, `{"action":"open","protocol":"local","argv":["sh"],"cwd":%s}`, inside).SessionID
	if r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"pwd"}`, id); r.Stdout != inside+"\n" {
		t.Error(r.Text)
	}
	c.DeniedBy(t, "policy.deny", lab.ToolExec, `{"session_id":%s,"cmd":%s}`, id, "cd / && rm "+victim)
	c.DeniedBy(t, "policy.typing", lab.ToolIO, `{"action":"write","session_id":%s,"data":"pwd\r"}`, id)
	c.Close(t, id)
	if _, err := os.Stat(victim); err != nil {
		t.Errorf("the victim is gone: %v", err)
	}
}

// TestPolicyFromTheEnvironment: rules in the form of other servers, as their users have them.
func TestPolicyFromTheEnvironment(t *testing.T) {
	h := lab.NewHome(t)
	h.Wrap = []string{"/usr/bin/env", "PTY_PERMISSIONS=" + `{
	  "bash": {"git push": "deny", "terraform *": "ask", "sh *": "allow"},
	  "external_directory": "deny"
	}`}
	c := h.Connect(t)
	if r := c.Call(t, lab.ToolRun, `{"argv":["echo","git","status"]}`); r.Stdout != "git status\n" {
		t.Error(r.Text)
	}
	c.DeniedBy(t, "PTY_PERMISSIONS", lab.ToolRun, `{"argv":["git","push","origin"]}`)
	c.DeniedBy(t, "PTY_PERMISSIONS", lab.ToolRun, `{"argv":["terraform"]}`)
	c.DeniedBy(t, "PTY_PERMISSIONS", lab.ToolRun, `{"argv":["true"],"cwd":"/"}`)
	id := c.Call(t, lab.ToolSession, `{"action":"open","protocol":"local","argv":["sh"]}`).SessionID
	c.Enter(t, id, "'printf' '%s%s' 'o' 'k'\r", "ok")
	c.DeniedBy(t, "PTY_PERMISSIONS", lab.ToolIO, `{"action":"write","session_id":%s,"data":"ls; git push\r"}`, id)
	c.Close(t, id)
}
