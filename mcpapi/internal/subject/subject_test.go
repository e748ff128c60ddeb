package subject_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"ptyctl/mcpapi/internal/subject"
	"ptyctl/mcpapi/tools"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/toolset/kpty"
	"ptyctl/mcpapi/toolset/pty"
)

// TestOf reads calls of the tools that clients have.
func TestOf(t *testing.T) {
	all := make(map[string]*toolset.Tool)
	for _, set := range append(tools.Sets(), kpty.Toolset(nil), pty.Toolset(pty.Options{})) {
		for _, tool := range set.Tools {
			all[tool.Name] = tool
		}
	}
	for _, c := range []struct{ tool, arguments, want string }{
		{"ptyctl_session_io", `{"action":"write","session_id":"a","data":"x"}`, "[{a  false}]"},
		{"ptyctl_session_io", `{"action":"Write","session_id":"\u0061","key":"ctrl_c"}`, "[{a  false}]"},
		{"ptyctl_session_io", `{"action":"read","session_id":"a"}`, "[]"},
		{"ptyctl_session_io", `{"action":"write","session_id":1}`, "[]"},
		{"ptyctl_session_io", `[]`, "[]"},
		{"ptyctl_session_io", ``, "[]"},
		{"ptyctl_session_exec", `{"session_id":"a","cmd":"id"}`, "[{a  false}]"},
		{"ptyctl_session_exec", `{"session_id":"a","exec_id":"exec-5t2k9w3m"}`, "[]"},
		{"ptyctl_session_exec", `{"host":"a","cmd":"id"}`, "[]"},
		{"ptyctl_session", `{"action":"close","session_id":"a"}`, "[]"},
		{"ptyctl_session", `{"action":"open","protocol":"local"}`, "[]"},
		{"ptyctl_run", `{"argv":["ls"]}`, "[]"},
		{"ptyctl_fs", `{"action":"write","path":"/srv//app/../x","data":""}`, "[{ /srv/x false}]"},
		{"ptyctl_fs", `{"action":"read","path":"x","session_id":"a"}`, "[{a x true}]"},
		{"ptyctl_fs", `{"action":"list","path":"/","session_id":"a"}`, "[{a / true}]"},
		{"ptyctl_fs", `{"action":"copy","from":{"path":"/a"},"to":{"host":"web1","path":"/b/"}}`, "[{ /a true} {web1 /b false}]"},
		{"ptyctl_fs", `{"action":"copy","from":"{\"path\":\"/a\"}","to":" {\"path\":\"/b\"}"}`, "[{ /a true} { /b false}]"},
		{"ptyctl_fs", `{"action":"collect","hosts":["w"],"path":"/a","to":{"path":"b"}}`, "[{ /a false} { b false}]"},
		{"ptyctl_fs", `{"action":"read","path":"~/.//x"}`, "[{ x true}]"},
		{"ptyctl_fs", `{"action":"copy","from":"/a","to":null}`, "[]"},
		{"k_pty", `{"action":"talk","session_id":"a","command":"x"}`, "[{a  false}]"},
		{"k_pty", `{"action":"run","session_id":"a","command":"x"}`, "[{a  false}]"},
		{"k_pty", `{"action":"kill","session_id":"a"}`, "[]"},
		{"pty_write", `{"id":"a","data":"x"}`, "[{a  false}]"},
		{"pty_read", `{"id":"a"}`, "[]"},
	} {
		tool := all[c.tool]
		if tool == nil {
			t.Fatalf("there is no tool %s", c.tool)
		}
		if got := fmt.Sprint(subject.Of(tool.Tool, json.RawMessage(c.arguments))); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.tool, c.arguments, got, c.want)
		}
	}
}
