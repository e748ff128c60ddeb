package mcp

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// A kReply is an answer of k_pty.
type kReply struct {
	OK        bool
	ErrorCode string `json:"error_code"`
	SessionID string `json:"session_id"`
	Output    string
	ExitCode  *int `json:"exit_code"`
	Cols      int
	Rows      int
	Help      string
	Sessions  []struct{}
	text      string
}

// callKPTY calls k_pty. Each %s in the arguments is replaced by one of values, as JSON.
func callKPTY(tb testing.TB, c *lab.Client, arguments string, values ...any) (r kReply) {
	tb.Helper()
	for i, v := range values {
		b, err := json.Marshal(v)
		if err != nil {
			tb.Fatal(err)
		}
		values[i] = b
	}
	a, err := c.CallTool(tb.Context(), "k_pty", json.RawMessage(fmt.Sprintf(arguments, values...)))
	if err != nil {
		tb.Fatal(err)
	}
	r.text = a.Content[0].Text
	if err := json.Unmarshal([]byte(r.text), &r); err != nil || r.OK == a.IsError {
		tb.Fatalf("%v, isError %v: %s", err, a.IsError, r.text)
	}
	return r
}

func toolNames(tb testing.TB, c *lab.Client) (names []string) {
	tb.Helper()
	list, err := c.Session.ListTools(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	return names
}

// The tool set k_pty in the built program: off by default, beside the other tools or alone, with each agent's actions
// in the audit log.
func TestKPTY(t *testing.T) {
	if names := toolNames(t, lab.NewHome(t).Connect(t)); slices.Contains(names, "k_pty") {
		t.Errorf("k_pty is offered unasked: %v", names)
	}
	h := lab.NewHome(t)
	c := h.Connect(t, "--toolsets", "core,k_pty")
	if names := toolNames(t, c); len(names) != 5 || !slices.Contains(names, "k_pty") {
		t.Fatalf("the tools are %v", names)
	}
	if r := callKPTY(t, c, `{"action":"help"}`); !strings.Contains(r.Help, "PTY_PROCESS_EXITED") {
		t.Errorf("help = %s, want PTY_PROCESS_EXITED in it", r.text)
	}
	dir := t.TempDir()
	s := callKPTY(t, c, `{"action":"spawn","shell":"bash","cwd":%s,"agent_id":"leader","evidence_id":"ev-7"}`, dir)
	if s.Cols != 120 || s.Rows != 30 {
		t.Errorf("spawn of bash = %s, want 120 columns and 30 rows", s.text)
	}
	for command, want := range map[string]string{
		"echo x # comment":                "x\n",
		"echo a && echo b":                "a\nb\n",
		"cat <<EOF\nhere\nEOF":            "here\n",
		"echo __KR_DONE_a1b2c3d4__":       "__KR_DONE_a1b2c3d4__\n",
		"printf '%s\\n' \"$(stty size)\"": "30 120\n",
	} {
		r := callKPTY(
			t,
			c,
			`{"action":"run","session_id":%s,"command":%s,"sentinel":"__KR_DONE_a1b2c3d4__","agent_id":"leader","evidence_id":"ev-7"}`,
			s.SessionID,
			command,
		)
		if r.Output != want || !lab.IsCode(r.ExitCode, 0) {
			t.Errorf("%q: %s", command, r.text)
		}
	}
	// The tools are different views of the same sessions.
	if r := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, s.SessionID); r.Text == "" ||
		!strings.Contains(r.Text, `"buffer_limit_bytes":102400`) {
		t.Errorf("status of a k_pty session = %s, want buffer_limit_bytes 102400", r.Text)
	}
	if r := callKPTY(
		t, c, `{"action":"run","session_id":%s,"command":"echo bye; exit 3"}`, s.SessionID,
	); r.ErrorCode != "PTY_PROCESS_EXITED" ||
		!lab.IsCode(r.ExitCode, 3) ||
		!strings.HasPrefix(r.Output, "bye\n") {
		t.Errorf("run of echo bye; exit 3 = %s, want PTY_PROCESS_EXITED, exit code 3 and \"bye\\n\"", r.text)
	}
	if r := callKPTY(t, c, `{"action":"list"}`); len(r.Sessions) != 0 {
		t.Errorf("list after the shell's exit = %s, want no sessions", r.text)
	}
	named := 0
	for _, n := range lab.AuditLines(t, h.Audit, "exec") {
		if n.Actor.Agent == "leader" && n.Actor.Evidence == "ev-7" && n.Command != "" {
			named++
		}
	}
	if named != 5 {
		text, _ := os.ReadFile(h.Audit)
		t.Errorf("%d commands are on record with their agent:\n%s", named, text)
	}
}
