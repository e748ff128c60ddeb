package ssh

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// The tests in this file go through the built program, as an agent would.

// A login with a key on a jump host and with a password and a one-time code on the target.
func labProgramLogin(t *testing.T, l *lab.Namespace) {
	hop := l.SSHD(t, lab.ServerConfig{Config: "AllowUsers alice"})
	target := l.SSHD(
		t,
		lab.ServerConfig{
			PAM:    lab.PAMPasswordCode,
			Config: "KbdInteractiveAuthentication yes\nAuthenticationMethods keyboard-interactive",
		},
	)
	h := lab.NewHome(t)
	h.Trust(t, hop.Known(), target.Known())
	key := h.Dir + "/id_alice"
	h.Write(t, key, l.Users["alice"].Key.PEM)
	h.Write(t, h.SSHConfig, fmt.Sprintf(`IdentityAgent none
Host hop
	HostName 127.0.0.1
	Port %d
	User alice
	IdentityFile %s
Host target
	HostName 127.0.0.1
	Port %d
	User bob
	ProxyJump hop
`, hop.Port, key, target.Port))
	c := h.Connect(t)
	bob := l.Users["bob"]
	c.Hide(bob.Password)
	r := c.Call(
		t,
		lab.ToolSession,
		`{"action":"open","protocol":"ssh","host":"target","auth":{"method":"password","password":%s}}`,
		bob.Password,
	)
	if r.State != "authenticating" || !r.WaitingForInput || r.Prompt == nil ||
		!strings.Contains(r.Prompt.Text, "Verification code: ") {
		t.Fatalf("the code is not asked for: %s", r.Text)
	}
	code := lab.OneTimeCode()
	c.Hide(code)
	if a := c.Call(
		t, lab.ToolIO, `{"action":"write","session_id":%s,"data":%s}`, r.SessionID, code+"\n",
	); a.State != "open" {
		t.Fatalf("the session did not open: %s", a.Text)
	}
	e := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"id -un; exit 4"}`, r.SessionID)
	if e.Stdout != "bob\n" || e.ExitCode == nil || *e.ExitCode != 4 {
		t.Errorf("the command: %s", e.Text)
	}
	c.Close(t, r.SessionID)
}

func labProgramRestricted(t *testing.T, l *lab.Namespace) {
	noTTY := l.SSHD(t, lab.ServerConfig{Config: "PermitTTY no"})
	forced := l.SSHD(
		t,
		lab.ServerConfig{
			Config: `ForceCommand echo "forced [$SSH_ORIGINAL_COMMAND]"; [ -n "$SSH_ORIGINAL_COMMAND" ] || read line; exit 7`,
		},
	)
	h := lab.NewHome(t)
	h.Trust(t, noTTY.Known(), forced.Known())
	key := h.Dir + "/id_alice"
	h.Write(t, key, l.Users["alice"].Key.PEM)
	h.Write(t, h.SSHConfig, "IdentityAgent none\nUser alice\nIdentityFile "+key+"\n")
	c := h.Connect(t)

	const open = `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s}`
	r := c.Call(t, lab.ToolSession, open, noTTY.Port)
	if !strings.Contains(r.Text, "no terminal") || !strings.Contains(r.Text, `"pty_enabled":false`) {
		t.Errorf("open does not say that there is no terminal: %s", r.Text)
	}
	if e := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"id -un"}`, r.SessionID); e.Stdout != "alice\n" {
		t.Errorf("the command: %s", e.Text)
	}
	c.Close(t, r.SessionID)
	r = c.Call(
		t,
		lab.ToolSession,
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"pty":{"enabled":false}}`,
		noTTY.Port,
	)
	c.Enter(t, r.SessionID, "echo the-$((40+2))\n", "the-42")
	c.Close(t, r.SessionID)

	r = c.Call(t, lab.ToolSession, open, forced.Port)
	e := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"id -un"}`, r.SessionID)
	if e.Stdout != "forced [id -un]\n" || e.ExitCode == nil || *e.ExitCode != 7 {
		t.Errorf("the command: %s", e.Text)
	}
}

// Commands and logins with secrets, through the built program and with rules about commands.
func labProgramSecrets(t *testing.T, l *lab.Namespace) {
	sudoFiles(t, l)
	web := l.SSHD(t, lab.ServerConfig{})
	asks := l.SSHD(t, lab.ServerConfig{PAM: lab.PAMPassword, Config: "PasswordAuthentication yes\nAuthenticationMethods password"})
	h := lab.NewHome(t, `
[policy]
allow = ["sudo id *", "id *", "wc *", "cat *"]
[secret.web-sudo]
source = "file:SUDO"
hosts = ["web"]
users = ["alice"]
uses = ["stdin"]
hint = "sudo on web"
[secret.web-count]
source = "file:SUDO"
hosts = ["web"]
commands = ["wc -c"]
[secret.web-shown]
source = "file:SUDO"
hosts = ["web"]
commands = ["cat"]
[secret.asks-login]
source = "file:LOGIN"
hosts = ["asks"]
`)
	for name, user := range map[string]string{"SUDO": "alice", "LOGIN": "bob"} {
		h.Write(t, h.Dir+"/"+name, l.Users[user].Password+"\n")
		text, err := os.ReadFile(h.Config)
		if err != nil {
			t.Fatal(err)
		}
		h.Write(t, h.Config, strings.ReplaceAll(string(text), "file:"+name, "file:"+h.Dir+"/"+name))
	}
	h.Trust(t, web.Known(), asks.Known())
	key := h.Dir + "/id_alice"
	h.Write(t, key, l.Users["alice"].Key.PEM)
	h.Write(t, h.SSHConfig, fmt.Sprintf("IdentityAgent none\nHost web\n\tPort %d\n\tUser alice\n\tIdentityFile %s\nHost asks\n\tPort %d\n"+
		"\tUser bob\n\tIdentitiesOnly yes\nHost *\n\tHostName 127.0.0.1\n", web.Port, key, asks.Port))
	c := h.Connect(t)
	if r := c.Call(t, lab.ToolSession, `{"action":"secrets"}`); !strings.Contains(r.Text, `"hint":"sudo on web"`) ||
		!strings.Contains(r.Text, `"commands":["wc -c"]`) || strings.Contains(r.Text, h.Dir) {
		t.Errorf("the list of secrets is %s", r.Text)
	}
	count := len(l.Users["alice"].Password) + 1
	for _, tt := range []struct{ args, want string }{
		{`{"host":"web","cmd":"id -un","sudo_secret":"web-sudo"}`, `"stdout":"root\n"`},
		{`{"host":"web","argv":["id","-un"],"sudo_secret":"web-sudo"}`, `"stdout":"root\n"`},
		{`{"host":"web","cmd":"cat /etc/shadow","sudo_secret":"web-sudo"}`, `‘sudo cat /etc/shadow’: no entry allows it`},
		{`{"host":"web","cmd":"id -un; cat","sudo_secret":"web-sudo"}`, `POLICY_DENIED`},
		{`{"host":"web","cmd":"id -un","sudo_secret":"web-count","stdin_secret":"web-count"}`, `exclude each other`},
		{`{"host":"web","cmd":"wc -c","stdin_secret":"web-count"}`, fmt.Sprintf(`"stdout":"%d\n"`, count)},
		{`{"host":"web","cmd":"wc -c","stdin":"abc","stdin_secret":"web-count"}`, fmt.Sprintf(`"stdout":"%d\n"`, count+3)},
		{`{"host":"web","cmd":"wc -c; cat","stdin_secret":"web-count"}`, `secret web-count is not given`},
		{`{"host":"web","cmd":"wc -c | cat","stdin_secret":"web-count"}`, `secret web-count is not given`},
		{`{"host":"web","cmd":"cat","stdin_secret":"web-count"}`, `secret.web-count.commands`},
		// The secret is hidden in the output of a permitted command.
		{`{"host":"web","cmd":"cat","stdin_secret":"web-shown"}`, `"exit_code":0`},
		{`{"host":"web","cmd":"cat","stdin":"after","stdin_secret":"web-shown"}`, "\nafter"},
		{`{"host":"web","cmd":"wc -c","stdin_secret":"web-sudo"}`, `it names no commands`},
		{`{"host":"asks","cmd":"id -un","login_secret":"web-count"}`, `secret.web-count.hosts`},
		{`{"host":"asks","cmd":"id -un","login_secret":"web-sudo"}`, `secret.web-sudo.uses`},
		{`{"host":"asks","cmd":"id -un","login_secret":"x"}`, `no secret of that name`},
		{`{"host":"asks","cmd":"id -un","login_secret":"asks-login"}`, `"stdout":"bob\n"`},
	} {
		r, err := c.Try(t.Context(), lab.ToolExec, tt.args)
		if !strings.Contains(strings.ReplaceAll(r.Text, `\n`, "\n"), tt.want) && !strings.Contains(r.Text, tt.want) {
			t.Errorf("exec %s = %s, %v, want %s", tt.args, r.Text, err, tt.want)
		}
		if strings.Contains(r.Text, "the password of") {
			t.Errorf("exec %s = %s, which shows the value", tt.args, r.Text)
		}
	}
	r := c.Call(t, lab.ToolSession, `{"action":"open","protocol":"ssh","host":"asks","auth":{"secret":"asks-login"}}`)
	if r.State != "open" {
		t.Errorf("open with a secret: %s", r.Text)
	}
	c.Close(t, r.SessionID)
	out, errs, status := h.Run(t, "exec", "--config", h.Config, "--sudo-secret", "web-sudo", "web", "--", "id", "-un")
	if out != "root\n" || status != 0 {
		t.Errorf("ptyctl exec --sudo-secret prints %q, %q with status %d", out, errs, status)
	}
	uses := map[string]int{}
	for _, e := range lab.AuditLines(t, h.Audit, "secret") {
		name, rest, _ := strings.Cut(e.Detail, " for ")
		what, _, _ := strings.Cut(rest, " of ")
		uses[name+" "+what]++
		if e.Host != "127.0.0.1" || !strings.Contains(rest, "sha256:") {
			t.Errorf("the audit log has %+v", e)
		}
	}
	if uses["web-sudo sudo"] == 0 || uses["web-count the input"] == 0 || uses["asks-login the login"] == 0 {
		t.Errorf("the audit log has the uses %v", uses)
	}
}
