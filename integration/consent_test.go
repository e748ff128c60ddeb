package integration

import (
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The person at the client agrees to a command that takes his consent, in a terminal's session and without one; the audit
// log knows.
func TestConsentOfAPerson(t *testing.T) {
	s := startSSHD(t)
	asked := make(chan string, 10)
	h := homeFor(t, []*sshd{s}, "[policy]\nask = ['echo pushed*']\ndeny = ['rm *']\nconsent = 'elicit'")
	c := h.connectPerson(t, func(q *mcp.ElicitParams) *mcp.ElicitResult {
		asked <- q.Message
		if strings.Contains(q.Message, "'pushed' 'no'") {
			return &mcp.ElicitResult{Action: "decline"}
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow_once"}}
	})
	id := c.open(t, s)
	if r := c.call(t, toolExec, `{"session_id":%s,"cmd":"echo pushed"}`, id); r.Stdout != "pushed\n" {
		t.Errorf("%s", r.text)
	}
	if r := c.call(t, toolRun, `{"argv":["echo","pushed"],"cwd":%s,"env":["LANG=C"]}`, h.dir); r.Stdout != "pushed\n" {
		t.Errorf("%s", r.text)
	}
	c.refused(t, "POLICY_DENIED", toolExec, `{"session_id":%s,"cmd":"echo pushed no"}`, id)
	c.refused(t, "POLICY_DENIED", toolExec, `{"session_id":%s,"cmd":"echo pushed; rm x"}`, id)
	c.refused(t, "POLICY_DENIED", toolIO, `{"action":"write","session_id":%s,"data":"echo pushed\r"}`, id)
	close(asked)
	var questions []string
	for q := range asked {
		questions = append(questions, q)
	}
	if len(questions) != 3 || !strings.Contains(questions[1], "on this machine") ||
		!strings.Contains(questions[1], "In the folder:\n| "+h.dir) ||
		!strings.Contains(questions[1], "LANG=C") {
		t.Errorf("%q", questions)
	}
	c.close(t, id)
	trail, err := os.ReadFile(h.audit)
	if err != nil {
		t.Fatal(err)
	}
	agreed := 0
	for line := range strings.Lines(string(trail)) {
		if strings.Contains(line, `"consent":"policy.ask \"echo pushed*\"`) {
			agreed++
			if !strings.Contains(line, `"client":`) || strings.Contains(line, `"refused":true`) {
				t.Errorf("%s", line)
			}
		}
	}
	if agreed < 2 {
		t.Errorf("%d lines tell of a consent:\n%s", agreed, trail)
	}
}
