package policy

import (
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// Where the socket has a token, a person who takes a terminal may type input that the rules deny to agents. All others
// stay under the rules: the agent, a program at the socket that has not taken the terminal, and one that ptyctl has
// started, even with the token.
func TestPersonIsNotJudged(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s}, "[policy]\nread_only_hosts = ['127.0.0.1']\n"+lab.ReadWrite+
		"\ncontrol_auth_token = 'typist-token-1138'")
	c := h.Connect(t)
	id := c.Open(t, s)
	const write = `{"action":"write","session_id":%s,"data":"echo not-by-rule\r"}`
	c.DeniedBy(t, "policy.read_only_hosts", lab.ToolIO, write, id)
	arguments := strings.ReplaceAll(write, "%s", `"`+id+`"`)
	if out, errs, status := h.Run(t, "call", "--config", h.Config, lab.ToolIO, arguments); status == 0 ||
		!strings.Contains(out+errs, "policy.read_only_hosts") {
		t.Errorf("ptyctl call of a write: status %d, %s%s; want that the rule denies it", status, out, errs)
	}
	own := c.OpenLocal(t, []string{
		"env", "XDG_RUNTIME_DIR=" + h.RuntimeDir, "HOME=" + h.Dir, h.Program, "attach", "--config", h.Config, "--take", id,
	}, "")
	const denied = "typing is denied by policy.read_only_hosts"
	if out := c.AwaitEnd(t, own); !strings.Contains(strings.Join(strings.Fields(out.Chunk), " "), denied) {
		t.Errorf("attach --take by a program of ptyctl's own: %s, want that the rule denies it", out.Text)
	}
	p := h.AtTerminal(t, "attach", "--config", h.Config, "--take", id)
	p.Sees("you have taken " + id)
	p.Types("echo per''son\r")
	p.Sees("person\r\n")
	c.Refused(t, "LOCKED", lab.ToolIO, write, id)
	p.Types("\x1d")
	p.Leaves(0)
	c.Refused(t, "LOCKED", lab.ToolIO, write, id) // once: the person has typed
	c.DeniedBy(t, "policy.read_only_hosts", lab.ToolIO, write, id)
	c.Finish()
	for _, n := range lab.AuditLines(t, h.Audit, "write") {
		person := n.Actor != nil && n.Actor.Transport == "socket" && n.Actor.Client == "ptyctl attach"
		if person == n.Refused || n.Refused && n.Outcome != "POLICY_DENIED" && n.Outcome != "LOCKED" {
			t.Errorf("audit line %+v, want that the writes of the person alone were done", n)
		}
	}
}
