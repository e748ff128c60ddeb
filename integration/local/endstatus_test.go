package local

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/internal/lab"
)

// TestEndStatus: only a program that has ended by itself has an exit status. The end by ptyctl's own hang-up gives no
// exit status, wherever the session is shown.
func TestEndStatus(t *testing.T) {
	c := lab.ConnectLocal(t)
	waits := []string{"sh", "-c", "echo up; exec sleep 1000"}
	catches := []string{"sh", "-c", "trap 'exit 4' HUP; echo up; while :; do sleep 0.01; done"}
	for _, tc := range []struct {
		name, want string
		argv       []string
		more       string
		end        string // a call
		code       int    // 0: none is shown
		signal     string
	}{
		{"closed", "closed", waits, "", `{"action":"close","session_id":%s}`, 0, ""},
		{"closed at once", "closed", waits, "", `{"action":"close","session_id":%s,"force":true}`, 0, ""},
		{"closed, and it exits", "closed", catches, "", `{"action":"close","session_id":%s}`, 0, ""},
		{"idle", "idle", waits, `,"timeouts":{"idle_timeout_ms":300}`, "", 0, ""},
		{"exited", "exited", []string{"sh", "-c", "echo up; exit 3"}, "", "", 3, ""},
		{"killed", "killed", []string{"sh", "-c", "echo up; kill -HUP $$"}, "", "", 129, "HUP"},
	} {
		id := c.OpenLocal(t, tc.argv, tc.more)
		c.Expect(t, id, "up")
		if tc.end != "" {
			c.Call(t, lab.ToolSession, tc.end, id)
		}
		read := c.Call(t, lab.ToolIO,
			`{"action":"read","session_id":%s,"until_regex":"no such output","timeout_ms":20000}`, id)
		status := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id)
		closed := c.Call(t, lab.ToolSession, `{"action":"close","session_id":%s}`, id)
		resource, err := c.Session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "ptyctl://sessions/" + id})
		if err != nil {
			t.Fatal(err)
		}
		texts := []string{read.Text, status.Text, closed.Text, resource.Contents[0].Text}
		for _, s := range c.Call(t, lab.ToolSession, `{"action":"list","state":"closed"}`).Sessions {
			if s.SessionID == id && (tc.code == 0 && s.ExitCode != nil || tc.code != 0 && !lab.IsCode(s.ExitCode, tc.code)) {
				t.Errorf("%s: exit_code in list = %v, want %d", tc.name, s.ExitCode, tc.code)
			}
		}
		for _, text := range texts {
			if !strings.Contains(text, `"end_code":"`+tc.want+`"`) {
				t.Errorf("%s: %s, want end_code %s", tc.name, text, tc.want)
			}
			if tc.code == 0 && (strings.Contains(text, `"exit_code":`) || strings.Contains(text, `"exit_signal":`)) {
				t.Errorf("%s: %s, want no exit status", tc.name, text)
			}
		}
		if tc.code != 0 && (!lab.IsCode(status.Session.ExitCode, tc.code) || !lab.IsCode(closed.ExitCode, tc.code) ||
			closed.ExitSignal != tc.signal) {
			t.Errorf("%s: status %s, close %s; want exit code %d, signal %q", tc.name, status.Text, closed.Text, tc.code, tc.signal)
		}
	}
}
