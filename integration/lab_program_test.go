package integration

import (
	"fmt"
	"strings"
	"testing"
)

// The tests in this file go through the built program, as an agent would.

// A login with a key on a jump host and with a password and a one-time code on the target.
func labProgramLogin(t *testing.T, l *lab) {
	hop := l.sshd(t, labSSHD{config: "AllowUsers alice"})
	target := l.sshd(
		t,
		labSSHD{
			pam:    labPAMPasswordCode,
			config: "KbdInteractiveAuthentication yes\nAuthenticationMethods keyboard-interactive",
		},
	)
	h := newHome(t)
	h.trust(t, hop.known(), target.known())
	key := h.dir + "/id_alice"
	h.write(t, key, l.users["alice"].key.pem)
	h.write(t, h.sshConfig, fmt.Sprintf(`IdentityAgent none
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
`, hop.port, key, target.port))
	c := h.connect(t)
	bob := l.users["bob"]
	c.hide(bob.password)
	r := c.call(
		t,
		toolSession,
		`{"action":"open","protocol":"ssh","host":"target","auth":{"method":"password","password":%s}}`,
		bob.password,
	)
	if r.State != "authenticating" || !r.WaitingForInput || r.Prompt == nil ||
		!strings.Contains(r.Prompt.Text, "Verification code: ") {
		t.Fatalf("the code is not asked for: %s", r.text)
	}
	code := labCode()
	c.hide(code)
	if a := c.call(t, toolIO, `{"action":"write","session_id":%s,"data":%s}`, r.SessionID, code+"\n"); a.State != "open" {
		t.Fatalf("the session did not open: %s", a.text)
	}
	e := c.call(t, toolExec, `{"session_id":%s,"cmd":"id -un; exit 4"}`, r.SessionID)
	if e.Stdout != "bob\n" || e.ExitCode == nil || *e.ExitCode != 4 {
		t.Errorf("the command: %s", e.text)
	}
	c.close(t, r.SessionID)
}

func labProgramRestricted(t *testing.T, l *lab) {
	noTTY := l.sshd(t, labSSHD{config: "PermitTTY no"})
	forced := l.sshd(
		t,
		labSSHD{
			config: `ForceCommand echo "forced [$SSH_ORIGINAL_COMMAND]"; [ -n "$SSH_ORIGINAL_COMMAND" ] || read line; exit 7`,
		},
	)
	h := newHome(t)
	h.trust(t, noTTY.known(), forced.known())
	key := h.dir + "/id_alice"
	h.write(t, key, l.users["alice"].key.pem)
	h.write(t, h.sshConfig, "IdentityAgent none\nUser alice\nIdentityFile "+key+"\n")
	c := h.connect(t)

	const open = `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s}`
	if r := c.refused(t, "UNSUPPORTED", toolSession, open, noTTY.port); !strings.Contains(r.Message, "pty.enabled") {
		t.Errorf("the message does not say what to do: %s", r.text)
	}
	r := c.call(
		t,
		toolSession,
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"pty":{"enabled":false}}`,
		noTTY.port,
	)
	c.enter(t, r.SessionID, "echo the-$((40+2))\n", "the-42")
	c.close(t, r.SessionID)

	r = c.call(t, toolSession, open, forced.port)
	e := c.call(t, toolExec, `{"session_id":%s,"cmd":"id -un"}`, r.SessionID)
	if e.Stdout != "forced [id -un]\n" || e.ExitCode == nil || *e.ExitCode != 7 {
		t.Errorf("the command: %s", e.text)
	}
}
