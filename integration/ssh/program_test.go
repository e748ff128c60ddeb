package ssh

import (
	"fmt"
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
