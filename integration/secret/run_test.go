package secret

import (
	"strings"
	"testing"

	"ptyctl/internal/lab"
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
