package tools_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/policy"
	"ptyctl/session"
	"ptyctl/term"
)

// onHost are the arguments of a command on the lab's host; more is a list of members that begins with a comma.
func onHost(l *mcptest.Lab, more string) string {
	return fmt.Sprintf(`{"host":"demo@127.0.0.1:%d"%s}`, l.SSH.Port(), more)
}

// A command on a host opens a session, which the next one uses, as it uses one that the caller has opened.
func TestExecOnHost(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	r := l.OK(mcptest.ExecTool, onHost(l, `,"cmd":"echo out; echo err >&2; exit 3"`))
	if r.Stdout != "out\n" || r.Stderr != "err\n" || r.ExitCode == nil || *r.ExitCode != 3 || r.SessionID == "" ||
		r.ExecLane != "channel" {
		t.Fatalf("a command on a host: %s", r.Text)
	}
	first := r.SessionID
	list := l.OK(mcptest.SessionTool, `{"action":"list"}`)
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != first || !list.Sessions[0].Auto ||
		list.Sessions[0].SessionType != "exec" {
		t.Errorf("list: %s; want one session for commands, which closes by itself", list.Text)
	}
	if r = l.OK(mcptest.ExecTool, onHost(l, `,"argv":["echo","a b"],"lane":"auto"`)); r.SessionID != first ||
		r.Stdout != "a b\n" {
		t.Errorf("a second command: %s; want it in %s", r.Text, first)
	}
	if r = l.OK(mcptest.ExecTool, fmt.Sprintf(
		`{"host":"ssh://demo@127.0.0.1:%d/","cmd":"true","session_id":""}`, l.SSH.Port())); r.SessionID != first {
		t.Errorf("another spelling: %s; want it in %s", r.Text, first)
	}
	l.Open("")
	if r = l.OK(mcptest.ExecTool, onHost(l, `,"cmd":"true"`)); r.SessionID != l.Session {
		t.Errorf("after an open: %s; want it in %s", r.Text, l.Session)
	}
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"cd /\r"}`)
	if r = l.OK(mcptest.ExecTool, onHost(l, `,"cmd":"true"`)); r.SessionID != first {
		t.Errorf("after something was typed into that: %s; want it in %s", r.Text, first)
	}
	l.OK(mcptest.SessionTool, fmt.Sprintf(`{"action":"lock","session_id":%q,"task_id":"t2"}`, first))
	if r = l.OK(mcptest.ExecTool, onHost(l, `,"cmd":"true","task_id":"t1"`)); r.SessionID == first {
		t.Errorf("while another task has locked it: %s; want it in a new session", r.Text)
	}
	if r = l.OK(mcptest.ExecTool, onHost(l, `,"cmd":"true","task_id":"t2"`)); r.SessionID == first {
		t.Errorf("the task that has locked it: %s; want the newest session", r.Text)
	}
	// A command that goes on is found by the session that the result names.
	r = l.OK(mcptest.ExecTool, onHost(l, `,"cmd":"read x; echo $x","stdin":"late\n","wait_ms":0`))
	l.Session = r.SessionID
	if r = l.OK(mcptest.ExecTool, fmt.Sprintf(`{"session_id":"$S","exec_id":%q}`, r.ExecID)); r.Stdout != "late\n" {
		t.Errorf("the rest of a command on a host: %s", r.Text)
	}
	if n := l.SSH.Stats().Authenticated; n != 3 {
		t.Errorf("%d connections were made, want 3", n)
	}
}

func TestExecOnHostRefused(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	for _, tt := range []struct{ args, field, part string }{
		{`{"cmd":"true"}`, "session_id", "session_id is missing, and so is host"},
		{`{"session_id":"web1-k3f9q2zd","host":"web1","cmd":"true"}`, "host", "exclude each other"},
		{`{"host":"web1"}`, "cmd", "cmd is empty"},
		{`{"host":"web1","cmd":"a","argv":["b"]}`, "argv", "exclude each other"},
		{`{"host":"web1","exec_id":"exec-1"}`, "session_id", "exec_id needs session_id"},
		{`{"host":"web1","cancel":true}`, "session_id", "exec_id needs session_id"},
		{`{"host":"web1","cmd":"true","lane":"terminal"}`, "lane", "ptyctl_session open"},
		{`{"host":"telnet://web1","cmd":"true"}`, "host", "open a Telnet host with ptyctl_session open"},
		{`{"host":"http://web1","cmd":"true"}`, "host", "not ssh or telnet"},
		{`{"host":"web1:99999","cmd":"true"}`, "host", "a number from 1 to 65535"},
		{`{"host":"alice:typed-secret-1138@web1","cmd":"true"}`, "host", "a password"},
		{`{"host":"web1","cmd":"true","env":["A"]}`, "env[0]", "NAME=value"},
	} {
		if r := l.Fails(mcptest.ExecTool, tt.args, term.InvalidArgument, tt.part); r.Details.Field != tt.field {
			t.Errorf("%s: field %q, want %q", tt.args, r.Details.Field, tt.field)
		}
	}
	if n := len(l.Manager.List()); n != 0 {
		t.Errorf("%d sessions were opened by calls that were refused", n)
	}
	l.Fails(mcptest.ExecTool, `{"host":"127.0.0.1:1","cmd":"true"}`, term.ConnectFailed)
}

// A login that asks is the result, in the form of open's. The command has not run, so that the same call runs it later,
// also with the same request_id.
func TestExecOnHostAsks(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{
		SSH: sshserver.Config{Passwords: map[string]string{"demo": "correct horse-1138"}},
	})
	args := onHost(l, `,"cmd":"echo ran","request_id":"r1"`)
	for range 2 {
		r := l.OK(mcptest.ExecTool, args)
		if r.State != "authenticating" || r.Prompt == nil || !strings.Contains(r.Prompt.Text, "assword") ||
			len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "was not run") || r.ExitCode != nil {
			t.Fatalf("a login that asks: %s", r.Text)
		}
		if l.Session != "" && l.Session != r.SessionID {
			t.Errorf("the second call has another session: %s; want %s", r.Text, l.Session)
		}
		l.Session = r.SessionID
	}
	if list := l.OK(mcptest.SessionTool, `{"action":"list"}`).Sessions; len(list) != 1 || !list[0].Auto ||
		list[0].SessionType != "exec" || !list[0].Waiting {
		t.Errorf("list while the login asks: %+v; want one session for commands", list)
	}
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"correct horse-1138"}`)
	for range 2 { // the second time it is the result of the first
		if r := l.OK(mcptest.ExecTool, args); r.Stdout != "ran\n" || r.SessionID != l.Session {
			t.Errorf("after the answer: %s; want it run in %s", r.Text, l.Session)
		}
	}
	if s := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`).Session; s.Execs != 1 {
		t.Errorf("%d commands ran, want 1", s.Execs)
	}
}

// A retry is known by its host too: one request_id on two hosts is two commands.
func TestExecOnHostRequestID(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	one := l.OK(mcptest.ExecTool, onHost(l, `,"cmd":"echo $$","request_id":"1"`))
	again := l.OK(mcptest.ExecTool, onHost(l, `,"cmd":"echo $$","request_id":"1"`))
	other := l.OK(mcptest.ExecTool, fmt.Sprintf(
		`{"host":"ssh://demo@127.0.0.1:%d","cmd":"echo $$","request_id":"1"}`, l.SSH.Port()))
	if one.Stdout != again.Stdout || one.Stdout == other.Stdout {
		t.Errorf("one request_id: %q, again %q, for another host %q; want the first two alike",
			one.Stdout, again.Stdout, other.Stdout)
	}
	l.Fails(mcptest.ExecTool, onHost(l, `,"cmd":"true","request_id":"1"`), term.InvalidArgument, "other arguments")
}

// The results are short, and name the session.
func TestExecOnHostForms(t *testing.T) {
	l, srv := mcptest.NewServer(t, mcptest.Config{Options: mcpapi.Options{Results: identity.Text}})
	a := mcptest.NewAgent(t, srv, "")
	call := func(tool, args string) string {
		t.Helper()
		var r struct{ Content []struct{ Text string } }
		a.Decode(a.Request("tools/call", a.Params(tool, args)).Result, &r)
		return r.Content[0].Text
	}
	call(mcptest.ExecTool, onHost(l, `,"cmd":"true"`)) // the connection takes its time
	id := l.Manager.List()[0].ID
	for _, tt := range [][3]string{
		{mcptest.ExecTool, onHost(l, `,"cmd":"echo hello"`), "[$S exit 0]\nhello\n"},
		{mcptest.SessionTool, `{"action":"list"}`, `[sessions [{"session_id":"$S","auto":true}]]` + "\n"},
	} {
		if got, want := call(tt[0], tt[1]), strings.ReplaceAll(tt[2], "$S", id); got != want {
			t.Errorf("%s %s = %q, want %q", tt[0], tt[1], got, want)
		}
	}
	compact := mcptest.NewAgent(t, mcpapi.NewServer(mcpapi.Options{Sessions: l.Manager, Plan: l.Plan}), "")
	want := `{"stdout":"hello\n","exit_code":0,"session_id":"` + id + `"}`
	if r := compact.OK(mcptest.ExecTool, onHost(l, `,"cmd":"echo hello"`)); r.Text != want {
		t.Errorf("a command on a host = %s, want %s", r.Text, want)
	}
}

// A write that names its host opens a terminal there each time, and types at its prompt.
func TestWriteOnHost(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	write := func(more string) string { return onHost(l, `,"action":"write","timeout_ms":20000,`+more) }
	r := l.OK(mcptest.IOTool, write(`"steps":[{"data":"cd /\r","until_prompt":true},{"data":"echo at-$PWD\r","until_prompt":true}]`))
	if r.SessionID == "" || !strings.Contains(r.Chunk, "\nat-/\n") || member(r, "stopped") != "null" {
		t.Fatalf("steps on a host: %s", r.Text)
	}
	first := r.SessionID
	l.Session = first
	if r = l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"echo still-$PWD\r","until_regex":"still-/"}`); r.SessionID != "" {
		t.Errorf("a write by session_id names the session: %s", r.Text)
	}
	r = l.OK(mcptest.IOTool, write(`"data":"echo h$((1+1))\r","until_regex":"h2\\n","request_id":"1"`))
	if r.SessionID == "" || r.SessionID == first || !strings.Contains(r.Chunk, "\nh2\n") {
		t.Errorf("another write on the host: %s; want a session of its own", r.Text)
	}
	again := l.OK(mcptest.IOTool, write(`"data":"echo h$((1+1))\r","until_regex":"h2\\n","request_id":"1"`))
	if again.SessionID != r.SessionID {
		t.Errorf("the retry of that has the session %s, want %s", again.SessionID, r.SessionID)
	}
	// A command beside the terminals uses none of them, because input was typed into them.
	if e := l.OK(mcptest.ExecTool, onHost(l, `,"cmd":"true"`)); e.SessionID == first || e.SessionID == r.SessionID {
		t.Errorf("a command on the host ran in the terminal's session %s", e.SessionID)
	}
	// The first step may wait for a text in place of the prompt, and earlier output counts.
	r = l.OK(mcptest.IOTool, write(`"steps":[{"until_regex":"\\$ $"},{"key":"enter"},{"data":"echo w$((1+1))\r","until_prompt":true}]`))
	if !strings.Contains(r.Chunk, "w2") || member(r, "stopped") != "null" {
		t.Errorf("after a step that only waits: %s", r.Text)
	}
	r = l.OK(mcptest.IOTool, write(`"steps":[{"data":"","until_regex":"never","timeout_ms":100},{"data":"echo evil$((1+1))\r"}]`))
	if member(r, "stopped") != `"unmatched"` || member(r, "step") != "0" || r.SessionID == "" || strings.Contains(r.Chunk, "evil") {
		t.Errorf("after a step that waits in vain: %s; want a stop there", r.Text)
	}
}

// The result of a write on a host is that of any write: the output from the typed line on, and whether the condition
// was met.
func TestWriteOnHostShows(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{
		Handler: func(ctx context.Context, r *sshserver.Request) sshserver.Exit {
			_, _ = io.WriteString(r.Stdout, "Welcome to the host\r\n\r\n$ ")
			return mcptest.Echo(ctx, r)
		},
	}})
	a := mcptest.NewAgent(t, mcpapi.NewServer(mcpapi.Options{Sessions: l.Manager, Plan: l.Plan}), "")
	for more, want := range map[string]string{
		`"data":"one"`: `"chunk":"$ `,
		`"data":"one","until_regex":"never","timeout_ms":150`: `"chunk":"$ one","matched":false,"timed_out":true,"warnings":["timeout_ms`,
		`"steps":[{"data":"one","until_regex":"never","timeout_ms":150}]`: `"chunk":"$ one","warnings":["steps[0].timeout_ms is in ` +
			`milliseconds, and these 150 are over; 150 s are 150000"],"stopped":"unmatched","step":0,"typed":true}`,
		`"steps":[{"until_regex":"\\$ $"},{"data":"one"}]`: `"chunk":"Welcome to the host\n\n$ `,
	} {
		r := a.OK(mcptest.IOTool, onHost(l, `,"action":"write",`+more))
		if !strings.Contains(r.Text, want) {
			t.Errorf("a write on a host with %s = %s, want %s in it", more, r.Text, want)
		}
	}
}

func TestWriteOnHostRefused(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	for _, tt := range []struct{ args, field, part string }{
		{`{"action":"write","data":"x"}`, "session_id", "session_id is missing, and so is host"},
		{`{"action":"write","host":"web1","session_id":"web1-k3f9q2zd","data":"x"}`, "host", "exclude each other"},
		{`{"action":"write","host":"web1"}`, "data", "nothing to write"},
		{`{"action":"write","host":"web1","data":"x","key":"enter"}`, "data", "exclude each other"},
		{`{"action":"write","host":"web1","steps":[{"data":"a"},{"until_regex":"b"}]}`, "steps[1].data", "belongs to the step"},
		{`{"action":"write","host":"web1","data":"x","until_regex":"("}`, "until_regex", "missing closing"},
		{`{"action":"write","host":"web1:99999","data":"x"}`, "host", "a number from 1 to 65535"},
		{`{"action":"write","host":"alice:typed-secret-1138@web1","data":"x"}`, "host", "a password"},
		{`{"action":"read","host":"web1"}`, "host", "host"},
	} {
		if r := l.Fails(mcptest.IOTool, tt.args, term.InvalidArgument, tt.part); r.Details.Field != tt.field {
			t.Errorf("%s: field %q, want %q", tt.args, r.Details.Field, tt.field)
		}
	}
	if n := len(l.Manager.List()); n != 0 {
		t.Errorf("%d sessions were opened by calls that were refused", n)
	}
	l.Fails(mcptest.IOTool, `{"action":"write","host":"127.0.0.1:1","data":"x"}`, term.ConnectFailed)
}

// Nothing is typed at a login's question, unless the first step has waited for it.
func TestWriteOnHostAsks(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{
		SSH: sshserver.Config{Passwords: map[string]string{"demo": "correct horse-1138"}},
	})
	write := func(more string) string { return onHost(l, `,"action":"write",`+more) }
	r := l.OK(mcptest.IOTool, write(`"data":"echo evil\r","request_id":"1"`))
	if r.State != "authenticating" || r.Prompt == nil || r.SessionID == "" || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "nothing was typed") {
		t.Fatalf("a login that asks: %s", r.Text)
	}
	l.Session = r.SessionID
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"correct horse-1138"}`)
	if again := l.OK(mcptest.IOTool, write(`"data":"echo evil\r","request_id":"1"`)); again.Text != r.Text {
		t.Errorf("the retry: %s, want %s", again.Text, r.Text)
	}
	r = l.OK(mcptest.IOTool, write(`"steps":[{"until_regex":"assword: ?$"},{"data":"correct horse-1138\r","sensitive":true},`+
		`{"data":"echo in$((1+1))\r","until_regex":"in2\\n"}]`))
	// The prompt may come before or after the line that was typed ahead of it.
	if r.State != "" && r.State != "open" || r.Prompt != nil || !strings.Contains(r.Chunk, "in2\n") ||
		strings.Contains(r.Chunk, "1138") {
		t.Errorf("a first step that waits for the question: %s", r.Text)
	}
	r = l.OK(mcptest.IOTool, write(`"steps":[{"until_regex":"code: $","timeout_ms":100},{"data":"correct horse-1138\r","sensitive":true}]`))
	if member(r, "stopped") != `"unmatched"` || r.Prompt == nil || r.State != "authenticating" ||
		strings.Contains(r.Text, `"typed":true`) {
		t.Errorf("a first step that waits for another question: %s; want nothing typed", r.Text)
	}
}

// A write returns only the lines that match, of all that came since its first step.
func TestWriteMatches(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	r := l.OK(mcptest.IOTool, onHost(l, `,"action":"write","match":"^v[0-9]$","steps":[`+
		`{"data":"echo v$((1+1)); echo w$((1+1))\r","until_prompt":true},{"data":"seq -f v%g 7 8\r","until_prompt":true}]`))
	if r.Chunk != "v2\nv7\nv8\n" || member(r, "matched_lines") != "3" {
		t.Errorf("steps with match: %s; want the three lines alone", r.Text)
	}
	l.Session = r.SessionID
	r = l.OK(mcptest.IOTool, wrote(`"data":"seq -f z%g 900\r","until_prompt":true,"match":"z77$","context":1,"max_bytes":200`))
	if r.Chunk != "z76\nz77\nz78\n" || member(r, "matched_lines") != "1" {
		t.Errorf("a write with match: %s; want the line with those around it", r.Text)
	}
	l.Fails(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"x","match":"y"}`, term.InvalidArgument, "what a write waits for")
	l.Fails(mcptest.IOTool, `{"action":"write","session_id":"$S","steps":[{"data":"x"}],"match":"y"}`, term.InvalidArgument, "what a write waits for")
	l.Fails(mcptest.IOTool, onHost(l, `,"action":"write","data":"x","match":"y"`), term.InvalidArgument, "what a write waits for")
	l.Fails(mcptest.IOTool, `{"action":"write","session_id":"$S","match":"(","steps":[{"data":"x"}]}`, term.InvalidArgument, "match")
	l.Fails(mcptest.IOTool, `{"action":"write","session_id":"$S","context":1,"steps":[{"data":"x"}]}`, term.InvalidArgument, "context")
}

// Rules judge the open and each input of a write that names its host. If the first input is refused, the result names
// the session that the call has opened.
func TestWriteOnHostAndPolicy(t *testing.T) {
	p, err := policy.New(policy.Rules{
		Deny: []policy.Rule{{Text: "rm *", Name: "policy.deny"}}, Typing: policy.TypingLines,
		DenyHosts: []policy.Rule{{Text: "192.0.2.*", Name: "policy.deny_hosts"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := new(mcptest.Diary)
	l := mcptest.NewLab(t, mcptest.Config{Sessions: session.Config{Gate: p.Gate(), Observers: []term.Observer{seen}}})
	l.Fails(mcptest.IOTool, `{"action":"write","host":"192.0.2.7","data":"ls\r"}`, term.PolicyDenied)
	if n := len(l.Manager.List(session.Open)); n != 0 {
		t.Errorf("%d sessions are open after an open that was denied", n)
	}
	r := l.OK(mcptest.IOTool, onHost(l, `,"action":"write","data":"rm x\r"`))
	if member(r, "stopped") != `"refused"` || member(r, "step") != "0" || r.SessionID == "" ||
		!strings.Contains(member(r, "error"), string(term.PolicyDenied)) {
		t.Errorf("a denied first input: %s; want it refused, and the session", r.Text)
	}
	seen.Take()
	r = l.OK(mcptest.IOTool, onHost(l, `,"action":"write","task_id":"t1","steps":[{"until_regex":"\\$ $"},{"data":"echo ok\r","until_prompt":true},{"data":"rm x\r"}]`))
	if member(r, "stopped") != `"refused"` || member(r, "step") != "2" || !strings.Contains(r.Chunk, "ok\n") {
		t.Errorf("a denied third step: %s", r.Text)
	}
	var steps []string
	for _, e := range seen.Take() {
		if e.Verb == term.VerbWrite {
			steps = append(steps, fmt.Sprint(e.Actor.Task, " ", *e.Step, " ", e.Outcome() == nil))
		}
	}
	if want := []string{"t1 1 true", "t1 2 false"}; !slices.Equal(steps, want) {
		t.Errorf("the record has the writes %q, want %q", steps, want)
	}
}
