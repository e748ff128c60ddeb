package secret

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// TestPrograms has a program of this machine read a secret: one that the operator names, of a secret for this machine, and
// once a person has given it.
func TestPrograms(t *testing.T) {
	const given = "Planted-1138-given"
	h := newHome(t, lab.ReadWrite, "[limits]", "max_wait_ms = 500", "[session]", "read_timeout_ms = 500",
		"[secret.tool]", "source = 'person'", "local = true",
		"commands = ['wc -c', 'cat']", "[secret.used]", "source = 'env:USED'", "local = true", "commands = ['cat']")
	h.Env = append(h.Env, "USED="+localValue)
	c := h.Connect(t)
	c.Hide(given)
	const run = `{"argv":%s,"stdin_secret":%s,"stdin":"more\n"}`
	r := c.Call(t, "ptyctl_run", run, []string{"cat"}, "used")
	if r.Stdout != "********\nmore\n" {
		t.Errorf("a program that repeats its input gives %s, want a mask before the input", r.Text)
	}
	if r = c.Call(t, "ptyctl_run", `{"argv":["printenv"]}`); strings.Contains(r.Stdout, "USED") {
		t.Errorf("another program has the variables %s, want none of a secret", r.Text)
	}
	for _, tt := range []struct {
		name, rule string
		argv       []string
	}{
		{"used", "secret.used.commands", []string{"wc", "-c"}},
		{"here", "secret.here.commands", []string{"cat"}},
		{"tool", "secret.tool.commands", []string{"sh", "-c", "read x; cat"}},
		{"web", "secret.web.local", []string{"cat"}},
	} {
		c.DeniedBy(t, tt.rule, "ptyctl_run", run, tt.argv, tt.name)
	}
	c.Refused(t, "NOT_FOUND", "ptyctl_run", run, []string{"cat"}, "nothing")

	busy := c.Refused(t, "BUSY", "ptyctl_run", run, []string{"wc", "-c"}, "tool")
	if !strings.Contains(busy.Text, `"waiting_for":{"kind":"person"`) {
		t.Errorf("the program gives %s, want that it waits for a person", busy.Text)
	}
	p := h.AtTerminal(t, "answer")
	p.Sees("value of tool")
	p.Types(given + "\r")
	p.Sees("is answered")
	p.Leaves(0)
	if r := c.Call(t, "ptyctl_run", run, []string{"wc", "-c"}, "tool"); r.Stdout != "24\n" {
		t.Errorf("the same call gives %s, want that the program has read the value, its line end and the input", r.Text)
	}
	c.Refused(t, "BUSY", "ptyctl_run", run, []string{"wc", "-c"}, "tool")
}

// TestLoginThatNeedsConsent has a login wait until a person agrees to its secret: a command there, status and read say
// so, and none takes it for a slow connection.
func TestLoginThatNeedsConsent(t *testing.T) {
	s := lab.ServeSSH(t, sshserver.Config{KeyboardInteractive: func(_ string, ask ssh.KeyboardInteractiveChallenge) error {
		answers, err := ask("", "", []string{"Password: "}, []bool{false})
		if err == nil && (len(answers) != 1 || answers[0] != localValue) {
			err = errors.New("this answer is wrong")
		}
		return err
	}})
	value := filepath.Join(t.TempDir(), "value")
	h := lab.NewHome(t, lab.ReadWrite, "[limits]", "max_wait_ms = 500", "[session]", "read_timeout_ms = 500",
		"[secret.web]", "source = 'file:"+value+"'", "hosts = ['web1']", "auto = true", "confirm = 'always'")
	h.Write(t, value, localValue+"\n")
	h.Write(t, h.SSHConfig, fmt.Sprintf("Host web1\n\tHostName 127.0.0.1\n\tPort %d\n\tUser alice\n\tIdentityAgent none\n"+
		"\tIdentityFile none\n", s.Port()))
	h.Trust(t, s.KnownHostsLine())
	c := h.Connect(t)
	const waits = `"waiting_for":{"kind":"person","text":"secret web"}`
	const run = `{"host":"web1","cmd":"echo ran"}`
	first := c.Call(t, lab.ToolExec, run)
	id := first.SessionID
	status := func() lab.Result { return c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id) }
	for what, r := range map[string]lab.Result{
		"exec": first, "the same exec": c.Call(t, lab.ToolExec, run), "status": status(),
		"read": c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"timeout_ms":1}`, id),
	} {
		if r.State == "open" || !strings.Contains(r.Text, waits) {
			t.Errorf("%s gives %s, want that the login waits for a person", what, r.Text)
		}
	}
	p := h.AtTerminal(t, "answer")
	p.Sees("yes or no")
	p.Types("yes\r")
	p.Sees("is agreed to")
	p.Leaves(0)
	lab.Eventually(t, "the session is open", func() bool { return status().State == "open" })
	if r := status(); strings.Contains(r.Text, waits) {
		t.Errorf("when it is open, status gives %s, want no person that it waits for", r.Text)
	}
	if r := c.Call(t, lab.ToolExec, run); r.Stdout != "ran\n" || r.SessionID != id {
		t.Errorf("then the same exec gives %s, want that the command has run there", r.Text)
	}
}
