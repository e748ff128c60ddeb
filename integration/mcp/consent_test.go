package mcp

import (
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/internal/lab"
)

// A command that needs consent must run only after the person at the client has agreed, with a session and without one,
// and the audit log must say so.
func TestConsentOfAPerson(t *testing.T) {
	s := lab.StartSSHD(t)
	asked := make(chan string, 10)
	h := lab.HomeFor(t, []*lab.SSHD{s}, "[policy]\nask = ['echo pushed*']\ndeny = ['rm *']\nconsent = 'elicit'")
	c := connectPerson(t, h, func(q *mcp.ElicitParams) *mcp.ElicitResult {
		asked <- q.Message
		if strings.Contains(q.Message, "'pushed' 'no'") {
			return &mcp.ElicitResult{Action: "decline"}
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow_once"}}
	})
	id := c.Open(t, s)
	if r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo pushed"}`, id); r.Stdout != "pushed\n" {
		t.Errorf("exec of echo pushed = %s, want stdout \"pushed\\n\"", r.Text)
	}
	if r := c.Call(t, lab.ToolRun, `{"argv":["echo","pushed"],"cwd":%s,"env":["LANG=C"]}`, h.Dir); r.Stdout != "pushed\n" {
		t.Errorf("run of echo pushed = %s, want stdout \"pushed\\n\"", r.Text)
	}
	c.Refused(t, "POLICY_DENIED", lab.ToolExec, `{"session_id":%s,"cmd":"echo pushed no"}`, id)
	c.Refused(t, "POLICY_DENIED", lab.ToolExec, `{"session_id":%s,"cmd":"echo pushed; rm x"}`, id)
	c.Refused(t, "POLICY_DENIED", lab.ToolIO, `{"action":"write","session_id":%s,"data":"echo pushed\r"}`, id)
	close(asked)
	var questions []string
	for q := range asked {
		questions = append(questions, q)
	}
	if len(questions) != 3 || !strings.Contains(questions[1], "on this machine") ||
		!strings.Contains(questions[1], "In the folder:\n| "+h.Dir) ||
		!strings.Contains(questions[1], "LANG=C") {
		t.Errorf("questions = %q, want 3, the second with the machine, the folder %s and LANG=C", questions, h.Dir)
	}
	c.Close(t, id)
	trail, err := os.ReadFile(h.Audit)
	if err != nil {
		t.Fatal(err)
	}
	agreed := 0
	for line := range strings.Lines(string(trail)) {
		if strings.Contains(line, `"consent":"policy.ask \"echo pushed*\"`) {
			agreed++
			if !strings.Contains(line, `"client":`) || strings.Contains(line, `"refused":true`) {
				t.Errorf("audit line of an approved command = %s, want a client and no refusal", line)
			}
		}
	}
	if agreed < 2 {
		t.Errorf("%d audit lines with a consent:\n%s", agreed, trail)
	}
}
