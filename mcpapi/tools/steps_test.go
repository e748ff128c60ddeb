package tools_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/policy"
	"ptyctl/session"
	"ptyctl/term"
)

// member returns a member of a result as JSON.
func member(r mcptest.Reply, name string) string {
	text, _ := json.Marshal(r.Members[name])
	return string(text)
}

// wrote is a call that writes with these members.
func wrote(members string) string {
	members = strings.ReplaceAll(members, "\n", " ") // a message is one line
	return `{"action":"write","session_id":"$S","timeout_ms":10000,"format":"clean",` + members + `}`
}

// begun starts a call, and returns a function that waits for its result.
func begun(l *mcptest.Lab, args string) func() mcptest.Reply {
	_, answer := l.Start("tools/call", l.Params(mcptest.IOTool, args))
	return func() mcptest.Reply {
		got := <-answer
		return l.Read(got.Result)
	}
}

func TestSteps(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.OpenShell()
	for _, tt := range []struct {
		name, steps   string
		stopped, step string
		chunk         string // in it
		not           string // not in it
	}{
		{"a dialogue", `{"data":"read -p 'Name: ' n; read -p 'Town: ' t; echo $n-in-$t\r","until_regex":"Name: $"},
			{"data":"Ann\r","until_regex":"Town: $"},{"data":"Ulm\r","until_prompt":true}`, "null", "null", "Ann-in-Ulm\n$ ", "~~~"},
		{"a condition that fails", `{"data":"echo a$((1+1))b\r","until_prompt":true},{"data":"echo no\r","until_regex":"never","timeout_ms":100},{"data":"echo evil$((1+1))\r"}`,
			`"unmatched"`, "1", "a2b", "evil"},
		{"a question in place of the prompt", `{"data":"read -p 'Password: ' n\r","until_prompt":true},{"data":"evil\r"}`,
			`"unmatched"`, "0", "Password: ", "evil"},
		{"an answer to that", `{"key":"ctrl_c","until_prompt":true}`, "null", "null", "$ ", "~~~"},
		{"keys", `{"data":"echo axc"},{"keys":["backspace","backspace","b","c","Return"],"until_prompt":true}`, "null", "null", "\nabc\n", "~~~"},
		{"every field", `{"data":"","key":"","keys":["e","x","p","r","space","4","space","+","space","4","enter"],"sensitive":false,"paste":false,
			"until_regex":"","until_prompt":true,"until_idle_ms":0,"timeout_ms":0}`, "null", "null", "\n8\n", "~~~"},
		{"all null", `{"data":"echo n$((1+1))\r","key":null,"keys":null,"until_regex":null,"until_prompt":true,"until_idle_ms":null,"timeout_ms":null}`,
			"null", "null", "n2", "~~~"},
		{"not by its own echo", `{"data":"echo xy"},{"data":"zzy\r","until_regex":"xyzzy\\n"}`, "null", "null", "\nxyzzy\n", "~~~"},
	} {
		r := l.OK(mcptest.IOTool, wrote(`"steps":[`+tt.steps+`]`))
		if member(r, "stopped") != tt.stopped || member(r, "step") != tt.step ||
			!strings.Contains(r.Chunk, tt.chunk) || strings.Contains(r.Chunk, tt.not) || r.NextCursor == "" {
			t.Errorf("%s: %s; want stopped %s at step %s, with %q and without %q in the chunk",
				tt.name, r.Text, tt.stopped, tt.step, tt.chunk, tt.not)
		}
	}
	// A condition of the call itself comes after the last step. The prompt of the command before may come behind the echo.
	r := l.OK(mcptest.IOTool, wrote(`"steps":[{"data":"echo p"},{"data":"q$((1+1))\r"}],"until_regex":"pq2\\n"`))
	if member(r, "stopped") != "null" || !strings.Contains(r.Chunk, "pq2\n") {
		t.Errorf("a condition of the call: %s; want it met", r.Text)
	}
	// The result asks about times that may be meant in seconds: the step's time and the call's time.
	for _, tt := range []struct{ args, stopped, warning string }{
		{`"steps":[{"data":"true\r","until_prompt":true},{"data":"sleep 0.2\r","until_regex":"never","timeout_ms":5}]`,
			`"unmatched"`, "steps[1].timeout_ms is in milliseconds, and these 5 are over; 5 s are 5000"},
		{`"steps":[{"data":"sleep 0.2\r","until_regex":"never"}],"timeout_ms":6`,
			`"time"`, "timeout_ms is in milliseconds, and these 6 are over; 6 s are 6000"},
	} {
		r = l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S",`+tt.args+`}`)
		if member(r, "stopped") != tt.stopped || len(r.Warnings) != 1 || r.Warnings[0] != tt.warning {
			t.Errorf("%s: %s; want %s and the warning %q", tt.args, r.Text, tt.stopped, tt.warning)
		}
	}
	l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","until_prompt":true}`)
	// Of much output it returns the end.
	r = l.OK(mcptest.IOTool, wrote(`"steps":[{"data":"seq 1000\r","until_prompt":true}],"max_bytes":20`))
	if !strings.HasSuffix(r.Chunk, "\n1000\n$ ") || len(r.Chunk) > 20 || len(r.Warnings) != 1 {
		t.Errorf("much output: %s; want its end and a warning", r.Text)
	}
}

// Wrong arguments in any step are named, and nothing is typed.
func TestStepsRefused(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.OpenShell()
	before := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`).Session.BytesOut
	for _, tt := range []struct{ args, field, part string }{
		{`"steps":[{"data":"x"},{"key":"hyper"}]`, "steps[1].key", "does not exist"},
		{`"steps":[{"data":"x"},{"keys":["up","hyper"]}]`, "steps[1].keys[1]", "does not exist"},
		{`"steps":[{"data":"x"},{"data":"y","until_regex":"a("}]`, "steps[1].until_regex", "missing closing )"},
		{`"steps":[{"data":"x"},{"until_prompt":true}]`, "steps[1].data", "nothing to write"},
		{`"steps":[{"data":"x"},{"data":"y","key":"enter"}]`, "steps[1].data", "exclude each other"},
		{`"steps":[{"data":"x"},{"key":"enter","paste":true}]`, "steps[1].paste", "paste is for data"},
		{`"steps":[{"data":"x"},{"data":"y","until_idle_ms":500,"timeout_ms":100}]`, "steps[1].until_idle_ms", "never be reached"},
		{`"steps":[{"data":"x"}],"data":"y"`, "steps", "exclude data"},
		{`"steps":[{"data":"x","until_prompt":true}],"until_idle_ms":100`, "steps", "condition of its own"},
		{`"steps":[{"data":"x"},{"data":"!"}],"encoding":"base64"`, "steps[0].data", "not valid base64"},
		{`"steps":[` + strings.Repeat(`{"data":"x"},`, 50) + `{"data":"x"}]`, "steps", "at most 50"},
		{`"keys":["up","hyper"]`, "keys[1]", "does not exist"},
		{`"keys":["up"],"data":"x"`, "data", "exclude each other"},
		{`"keys":[` + strings.Repeat(`"up",`, 100) + `"up"]`, "keys", "at most 100"},
		{`"steps":[],"keys":[],"data":null`, "data", "nothing to write"},
	} {
		r := l.Fails(mcptest.IOTool, `{"action":"write","session_id":"$S",`+tt.args+`}`, term.InvalidArgument, tt.part)
		if r.Details.Field != tt.field {
			t.Errorf("%.80s: the field is %q, want %q", tt.args, r.Details.Field, tt.field)
		}
	}
	if r := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`); r.Session.BytesOut != before {
		t.Errorf("calls that were refused have typed %d bytes, want none", r.Session.BytesOut-before)
	}
}

// Keys without steps are one write.
func TestListOfKeys(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.OpenShell()
	r := l.OK(mcptest.IOTool, wrote(`"keys":["e","c","h","o","space","y","o","enter"],"until_regex":"yo\\n"`))
	if !r.Matched || r.BytesWritten == nil || *r.BytesWritten != 8 || !strings.Contains(r.Chunk, "\nyo\n") || member(r, "step") != "null" {
		t.Errorf("keys: %s; want 8 bytes and the output, not the echo", r.Text)
	}
	r = l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","steps":[],"keys":["ctrl_u"],"data":"","key":""}`)
	if r.Members["chunk"] != nil || *r.BytesWritten != 1 {
		t.Errorf("a key without a condition: %s; want no chunk", r.Text)
	}
}

// A refusal in the middle is no error, and nothing after it is typed; one that a retry could change is not kept.
func TestStepsAndPolicy(t *testing.T) {
	p, err := policy.New(policy.Rules{
		Deny: []policy.Rule{{Text: "rm *", Name: "policy.deny"}}, Typing: policy.TypingLines,
	})
	if err != nil {
		t.Fatal(err)
	}
	l := mcptest.NewLab(t, mcptest.Config{Sessions: session.Config{Gate: p.Gate()}})
	l.OpenShell()
	r := l.OK(mcptest.IOTool, wrote(`"request_id":"a","steps":[{"data":"echo a$((1+1))b\r","until_prompt":true},{"data":"rm x\r"},{"data":"echo evil\r"}]`))
	if member(r, "stopped") != `"refused"` || member(r, "step") != "1" || !strings.Contains(member(r, "error"), string(term.PolicyDenied)) ||
		!strings.Contains(r.Chunk, "a2b") {
		t.Errorf("a denied step: %s; want it refused at 1, with the output before", r.Text)
	}
	again := l.OK(mcptest.IOTool, wrote(`"request_id":"a","steps":[{"data":"echo a$((1+1))b\r","until_prompt":true},{"data":"rm x\r"},{"data":"echo evil\r"}]`))
	if again.Text != r.Text {
		t.Errorf("a retry: %s, want %s", again.Text, r.Text)
	}
	r = l.OK(mcptest.IOTool, wrote(`"steps":[{"data":"rm x\r"}]`))
	if member(r, "stopped") != `"refused"` || member(r, "step") != "0" {
		t.Errorf("a denied first step: %s; want it refused at 0", r.Text)
	}
	r = l.Fails(mcptest.IOTool, wrote(`"keys":["enter","tab"]`), term.PolicyDenied)
	if r.Details.BytesWritten == nil || *r.Details.BytesWritten != 1 {
		t.Errorf("a denied key: %s; want bytes_written 1", r.Text)
	}
}

// Another task waits for the steps, and may take the terminal from them.
func TestStepsAndOthers(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{Sessions: session.Config{Input: session.InputOptions{AllowTakeOver: true}}})
	l.OpenShell()
	first := begun(l, wrote(`"steps":[{"data":"sleep 1; echo on$((1+1))\r","until_regex":"on2\\n","timeout_ms":9000},{"data":"echo tw","until_idle_ms":300},{"data":"o\r","until_prompt":true}]`))
	time.Sleep(100 * time.Millisecond)
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","task_id":"other","data":"echo three\r"}`)
	r := first()
	if member(r, "stopped") != "null" || !strings.Contains(r.Chunk, "\ntwo\n") {
		t.Errorf("steps beside another write: %s; want two in one piece", r.Text)
	}
	l.OK(mcptest.SessionTool, `{"action":"lock","session_id":"$S","task_id":"mine"}`)
	first = begun(l, wrote(`"task_id":"mine","steps":[{"data":"echo four\r","until_regex":"never","timeout_ms":9000},{"data":"echo evil\r"}]`))
	time.Sleep(100 * time.Millisecond)
	l.OK(mcptest.SessionTool, `{"action":"lock","session_id":"$S","task_id":"other","take_over":true}`)
	r = first()
	if member(r, "stopped") != `"taken"` || member(r, "step") != "0" || member(r, "typed") != "true" ||
		!strings.Contains(member(r, "error"), `"taken_over_by":"other"`) {
		t.Errorf("steps after a takeover: %s; want taken at 0", r.Text)
	}
}
