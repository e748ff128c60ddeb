package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// deniedBy calls a tool that a rule must deny, and checks that the denial names it.
func (c tools) deniedBy(tb testing.TB, rule, tool, arguments string, values ...any) {
	tb.Helper()
	r := c.refused(tb, "POLICY_DENIED", tool, arguments, values...)
	if !strings.Contains(r.text, `"rule":"`+rule) || !strings.Contains(r.Message, rule) || r.Retryable {
		tb.Errorf("%s: %s does not name %s", arguments, r.text, rule)
	}
}

// TestPolicyOnCommands: in both lanes what is denied never runs, what is typed is refused with the reason, and all of it is
// on record. Without a line of it in the configuration nothing is refused, which all other tests show.
func TestPolicyOnCommands(t *testing.T) {
	s := startSSHD(t)
	h := homeFor(t, []*sshd{s}, "[policy]", `deny = ["rm -rf *", "> /etc/*"]`, `ask = ["systemctl *"]`)
	c := h.connect(t)
	id := c.open(t, s)
	victim := filepath.Join(s.dir, "victim")
	if err := os.Mkdir(victim, 0o700); err != nil {
		t.Fatal(err)
	}
	const run = `{"session_id":%s,"cmd":%s,"lane":%s}`
	for _, lane := range []string{"channel", "terminal"} {
		if r := c.call(t, toolExec, run, id, "echo fine | cat", lane); r.Stdout != "fine\n" {
			t.Errorf("%s: %s", lane, r.text)
		}
		for _, command := range []string{"rm -rf " + victim, "true && rm -r -f " + victim, "sh -c 'rm -rf " + victim + "'", "echo " + victim + " | xargs rm -rf"} {
			c.deniedBy(t, "policy.deny", toolExec, run, id, command, lane)
		}
		for _, command := range []string{"f() { rm -rf " + victim + "; }; f", "$(echo rm) -rf " + victim} { // neither can be allowed
			c.deniedBy(t, "policy.ask", toolExec, run, id, command, lane)
		}
		c.deniedBy(t, "policy.ask", toolExec, run, id, "systemctl restart nginx", lane)
	}
	c.deniedBy(t, "policy.deny", toolExec, `{"session_id":%s,"cmd":"ls","lane":"channel","env":["PATH=/tmp"]}`, id)
	c.deniedBy(
		t,
		"policy.deny",
		toolExec,
		`{"session_id":%s,"cmd":"sh","lane":"channel","stdin":%s}`,
		id,
		"rm -rf "+victim,
	)
	for _, arguments := range []string{`"data":"ls\r"`, `"data":"ls not-1138\r","sensitive":true`, `"data":"ls","paste":true`, `"key":"arrow_up"`, `"key":"ctrl_c"`, `"key":"break"`} {
		c.deniedBy(t, "policy.typing", toolIO, `{"action":"write","session_id":%s,`+arguments+`}`, id)
	}
	if _, err := os.Stat(victim); err != nil {
		t.Errorf("the victim is gone: %v", err)
	}
	c.call(t, toolIO, `{"action":"read","session_id":%s,"cursor":"0"}`, id)
	c.close(t, id)
	c.finish()
	refused := 0
	for _, event := range []string{"exec", "write"} {
		for _, n := range auditLines(t, h.audit, event) {
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
	s := startSSHD(t)
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
			c := homeFor(t, []*sshd{s}, append([]string{"[policy]"}, tt.rules...)...).connect(t)
			if tt.open != "" {
				c.deniedBy(t, tt.open, toolSession, openSSH, s.port, s.user)
				return
			}
			id := c.open(t, s)
			check := func(rule, tool, arguments string) {
				t.Helper()
				if rule == "" {
					c.call(t, tool, arguments, id)
				} else {
					c.deniedBy(t, rule, tool, arguments, id)
				}
			}
			check(tt.exec, toolExec, `{"session_id":%s,"cmd":"true","lane":"channel"}`)
			check("", toolIO, `{"action":"read","session_id":%s,"cursor":"0"}`)
			check(tt.write, toolIO, `{"action":"write","session_id":%s,"data":"true\r"}`)
			check(tt.write, toolIO, `{"action":"write","session_id":%s,"key":"enter"}`)
			c.close(t, id)
		})
	}
}

// TestPolicyCheck is what an operator asks, and what is said of rules that are wrong.
func TestPolicyCheck(t *testing.T) {
	h := newHome(t, "[policy]", `deny = ["rm -rf *"]`, `hosts = ["web*"]`)
	rule := `policy.deny "rm -rf *" (` + h.config + `:5)`
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
		{[]string{"--type", "--", "ls"}, 1, "what is typed cannot be judged"},
		{nil, 2, ""},
	} {
		out, errs, status := h.run(t, append([]string{"policy", "check", "--config", h.config}, tt.args...)...)
		if status != tt.status || !strings.Contains(out, tt.want) {
			t.Errorf("%q: status %d, %s%s", tt.args, status, out, errs)
		}
	}
	for lines, want := range map[string]int{"deny -- rm -rf /\n": 0, "deny -- ls\n": 1, "deny rm\n": 2, "# none\n": 2} {
		file := filepath.Join(t.TempDir(), "rules.txt")
		if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, errs, status := h.run(t, "policy", "test", "--config", h.config, file); status != want {
			t.Errorf("policy test of %q: status %d, want %d: %s%s", lines, status, want, out, errs)
		}
	}
	if out, _, status := h.run(t, "policy", "show", "--config", h.config); status != 0 || !strings.Contains(out, rule) ||
		!strings.Contains(out, `policy.hosts "web*"`) {
		t.Errorf("show: status %d, %s", status, out)
	}
	for _, line := range []string{`permissions = '{"bash": {"ls": "maybe"}}'`, `deny = [" "]`, `typing = "some"`} {
		h := newHome(t, "[policy]", line)
		for _, command := range [][]string{{"mcp", "--config", h.config}, {"config", "check", "--config", h.config}, {"policy", "check", "--config", h.config, "--", "ls"}, {"policy", "show", "--config", h.config}} {
			if _, errs, status := h.run(t, command...); status != 2 || errs == "" {
				t.Errorf("%s, %q: status %d, %s", line, command, status, errs)
			}
		}
	}
}

// TestPolicyOnThisMachine: programs, their folders and what they run, for terminals and for ptyctl_run.
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
	h := newHome(t, "[policy]", `deny = ["rm *"]`, `deny_programs = ["/usr/bin/id"]`, "work_dirs = ['"+inside+"']")
	c := h.connect(t)
	if r := c.call(t, toolRun, `{"argv":["sh","-c","pwd"],"cwd":%s}`, inside); r.Stdout != inside+"\n" {
		t.Error(r.text)
	}
	const run = `{"argv":%s,"cwd":%s}`
	c.deniedBy(t, "policy.deny", toolRun, run, []string{"rm", victim}, inside)
	c.deniedBy(t, "policy.deny", toolRun, run, []string{"/bin/sh", "-c", "true; rm " + victim}, inside)
	c.deniedBy(t, "policy.deny", toolRun, run, []string{"env", "-i", "rm", victim}, inside)
	c.deniedBy(t, "policy.deny", toolRun, `{"argv":["sh"],"cwd":%s,"stdin":%s}`, inside, "rm "+victim)
	c.deniedBy(t, "policy.deny", toolRun, `{"argv":["ls"],"cwd":%s,"env":["LD_PRELOAD=/tmp/x.so"]}`, inside)
	c.deniedBy(t, "policy.deny_programs", toolRun, run, []string{"id"}, inside)
	for _, dir := range []string{outside, filepath.Join(inside, "link"), filepath.Join(inside, "..")} {
		c.deniedBy(t, "policy.work_dirs", toolRun, run, []string{"true"}, dir)
	}
	c.deniedBy(t, "policy.work_dirs", toolRun, `{"argv":["true"]}`)
	c.deniedBy(t, "policy.work_dirs", toolSession, `{"action":"open","protocol":"local","argv":["sh"]}`)
	c.deniedBy(
		t,
		"policy.deny",
		toolSession,
		`{"action":"open","protocol":"local","argv":["rm",%s],"cwd":%s}`,
		victim,
		inside,
	)
	id := c.call(t, toolSession, `{"action":"open","protocol":"local","argv":["sh"],"cwd":%s}`, inside).SessionID
	if r := c.call(t, toolExec, `{"session_id":%s,"cmd":"pwd"}`, id); r.Stdout != inside+"\n" {
		t.Error(r.text)
	}
	c.deniedBy(t, "policy.deny", toolExec, `{"session_id":%s,"cmd":%s}`, id, "cd / && rm "+victim)
	c.deniedBy(t, "policy.typing", toolIO, `{"action":"write","session_id":%s,"data":"pwd\r"}`, id)
	c.close(t, id)
	if _, err := os.Stat(victim); err != nil {
		t.Errorf("the victim is gone: %v", err)
	}
}

// TestPolicyFromTheEnvironment: rules in the form of other servers, as their users have them.
func TestPolicyFromTheEnvironment(t *testing.T) {
	h := newHome(t)
	h.wrap = []string{"/usr/bin/env", "PTY_PERMISSIONS=" + `{
	  "bash": {"git push": "deny", "terraform *": "ask", "sh *": "allow"},
	  "external_directory": "deny"
	}`}
	c := h.connect(t)
	if r := c.call(t, toolRun, `{"argv":["echo","git","status"]}`); r.Stdout != "git status\n" {
		t.Error(r.text)
	}
	c.deniedBy(t, "PTY_PERMISSIONS", toolRun, `{"argv":["git","push","origin"]}`)
	c.deniedBy(t, "PTY_PERMISSIONS", toolRun, `{"argv":["terraform"]}`)
	c.deniedBy(t, "PTY_PERMISSIONS", toolRun, `{"argv":["true"],"cwd":"/"}`)
	id := c.call(t, toolSession, `{"action":"open","protocol":"local","argv":["sh"]}`).SessionID
	c.enter(t, id, "'printf' '%s%s' 'o' 'k'\r", "ok")
	c.deniedBy(t, "PTY_PERMISSIONS", toolIO, `{"action":"write","session_id":%s,"data":"ls; git push\r"}`, id)
	c.close(t, id)
}
