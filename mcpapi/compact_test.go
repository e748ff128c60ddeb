package mcpapi_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
)

// A formCase is a call, and its whole result in a form. $S is the session.
type formCase struct{ tool, args, want string }

// TestCompact checks the commonest results byte by byte: a model pays for each of them.
func TestCompact(t *testing.T) {
	for name, tt := range map[string]struct {
		handler sshserver.Handler
		cases   []formCase
	}{
		"exec": {nil, []formCase{
			{mcptest.ExecTool, `{"session_id":"$S","cmd":"echo hello"}`, `{"stdout":"hello\n","exit_code":0}`},
			{mcptest.ExecTool, `{"session_id":"$S","cmd":"exit 3"}`, `{"stdout":"","exit_code":3}`},
			{
				mcptest.ExecTool, `{"session_id":"$S","cmd":"echo '<&>' >&2"}`,
				`{"stdout":"","stderr":"<&>\n","exit_code":0}`,
			},
			{
				mcptest.ExecTool, `{"session_id":"$S","cmd":"kill -9 $$"}`,
				`{"stdout":"","exit_code":137,"exit_signal":"KILL"}`,
			},
			{mcptest.SessionTool, `{"action":"list"}`, `{"sessions":[{"session_id":"$S"}]}`},
		}},
		"io": {mcptest.Echo, []formCase{
			{
				mcptest.IOTool, `{"action":"read","session_id":"$S","timeout_ms":1000}`,
				`{"next_cursor":"0","timed_out":true}`,
			},
			{
				mcptest.IOTool, `{"action":"read","session_id":"$S","until_regex":"x","timeout_ms":1000}`,
				`{"next_cursor":"0","matched":false,"timed_out":true}`,
			},
			{mcptest.IOTool, `{"action":"write","session_id":"$S","data":"abc"}`, `{"cursor":"0"}`},
			{
				mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"0","until_regex":"abc","timeout_ms":9000}`,
				`{"next_cursor":"3","chunk":"abc"}`,
			},
			{
				mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"0","until_idle_ms":20,"timeout_ms":9000}`,
				`{"next_cursor":"3","chunk":"abc"}`,
			},
			{
				mcptest.ConfigTool, `{"action":"resize","session_id":"$S","cols":100,"rows":30}`,
				`{"cols":100,"rows":30}`,
			},
			{mcptest.SessionTool, `{"action":"close","session_id":"$S"}`, `{"success":true}`},
			{mcptest.SessionTool, `{"action":"close","session_id":"$S"}`, `{"success":true,"already_closed":true}`},
			{mcptest.SessionTool, `{"action":"list"}`, `{"sessions":[{"session_id":"$S","state":"closed"}]}`},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := mcptest.NewLab(t, mcptest.Config{
				Options: mcpapi.Options{Results: identity.Compact}, SSH: sshserver.Config{Handler: tt.handler},
			})
			if r := l.Open(""); r.Text != `{"session_id":"`+l.Session+`"}` {
				t.Errorf("open = %s, want the session_id alone", r.Text)
			}
			for _, c := range tt.cases {
				r := l.Call(c.tool, c.args)
				if want := strings.ReplaceAll(c.want, "$S", l.Session); r.Text != want || r.Structured != nil {
					t.Errorf("%s %s = %s (structured: %s), want %s and nothing else", c.tool, c.args, r.Text, r.Structured, want)
				}
			}
		})
	}
}

// TestCompactSays checks that unusual facts are in the result.
func TestCompactSays(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{Options: mcpapi.Options{Results: identity.Compact}})
	l.Open("")
	l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"0","until_regex":"\\$ $","timeout_ms":10000}`)
	for _, c := range []struct {
		tool, args string
		want       []string // members, and no others
	}{
		{mcptest.ExecTool, `{"session_id":"$S","cmd":"sleep 1.1"}`, []string{"stdout", "exit_code", "duration_ms"}},
		{
			mcptest.ExecTool, `{"session_id":"$S","cmd":"seq 9999","max_output_bytes":100}`,
			[]string{"stdout", "exit_code", "truncated", "exec_id", "stdout_bytes", "stdout_omitted"},
		},
		{
			mcptest.ExecTool, `{"session_id":"$S","cmd":"sleep 60","wait_ms":1000}`,
			[]string{"stdout", "exit_code_reason", "done_reason", "exec_id", "remaining_ms", "duration_ms"},
		},
		{
			mcptest.ExecTool, `{"session_id":"$S","cmd":"sleep 60","timeout_ms":1000}`,
			[]string{"stdout", "exit_code", "exit_signal", "done_reason", "timed_out", "killed", "duration_ms"},
		},
		{
			mcptest.IOTool, `{"action":"write","session_id":"$S","data":"cd /\r","until_regex":"\\$ $","timeout_ms":10000}`,
			[]string{"next_cursor", "chunk"},
		},
		{mcptest.ExecTool, `{"session_id":"$S","cmd":"pwd"}`, []string{"stdout", "exit_code", "exec_lane"}},
		{ // silence ends the wait, and maybe not the command
			mcptest.ExecTool,
			`{"session_id":"$S","cmd":"sleep 30","class":"unknown","rc_mode":{"enabled":false},"until_idle_ms":1000,"timeout_ms":20000}`,
			[]string{"stdout", "exit_code_reason", "exec_lane", "done_reason", "duration_ms", "prompt_detected"},
		},
		{
			mcptest.IOTool, `{"action":"search","session_id":"$S","pattern":"nothing such"}`,
			nil,
		},
	} {
		r := l.OK(c.tool, c.args)
		got := slices.Sorted(maps.Keys(r.Members))
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %s = %s, want the members %q", c.tool, c.args, r.Text, c.want)
		}
	}
}

// TestText checks the form that models read best: a line of facts, and the output as it is.
func TestText(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.Open("")
	a := mcptest.NewAgent(t, mcpapi.NewServer(mcpapi.Options{Sessions: l.Manager, Results: identity.Text}), "")
	for _, c := range []formCase{
		{mcptest.ExecTool, `{"session_id":"$S","cmd":"echo hello"}`, "[$S exit 0]\nhello\n"},
		{
			mcptest.ExecTool, `{"session_id":"$S","cmd":"printf '\"a\\n'; echo b >&2; exit 2"}`,
			"[$S stderr 2 bytes exit 2]\n\"a\n[stderr]\nb\n",
		},
		{
			mcptest.SessionTool, `{"action":"list"}`,
			`[sessions [{"session_id":"$S"}]]` + "\n",
		},
		{mcptest.SessionTool, `{"action":"close","session_id":"$S"}`, "[$S success true]\n"},
	} {
		got := a.Request("tools/call", l.Params(c.tool, c.args))
		var r struct {
			Content []struct{ Text string }
		}
		if err := json.Unmarshal(got.Result, &r); err != nil || len(r.Content) != 1 {
			t.Fatalf("%s %s = %s (%v)", c.tool, c.args, got.Result, err)
		}
		if want := strings.ReplaceAll(c.want, "$S", l.Session); r.Content[0].Text != want {
			t.Errorf("%s %s = %q, want %q", c.tool, c.args, r.Content[0].Text, want)
		}
	}
}

// TestFailedStep checks that no form leaves out that a step of a connection has failed: without a word it would pass for
// one that went well.
func TestFailedStep(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	for _, form := range []identity.Results{identity.Compact, identity.Full, identity.Text} {
		a := mcptest.NewAgent(t, mcpapi.NewServer(mcpapi.Options{Sessions: l.Manager, Results: form}), "")
		args := `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":1,"username":"demo"}`
		text := string(a.Request("tools/call", a.Params(mcptest.SessionTool, args)).Result)
		if !strings.Contains(text, `\"name\":\"tcp\",\"ok\":false`) {
			t.Errorf("%s in form %s = %s, want the step tcp with ok: false", args, form, text)
		}
	}
}

// TestStatusWithoutSteps checks that the compact form of status leaves out the steps of a connection that was made.
func TestStatusWithoutSteps(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{Options: mcpapi.Options{Results: identity.Compact}})
	l.Open("")
	r := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`)
	if strings.Contains(r.Text, "ladder") || !strings.Contains(r.Text, `"host_key_fingerprint":"SHA256:`) {
		t.Errorf("status of an open session = %s, want it without the ladder", r.Text)
	}
}
