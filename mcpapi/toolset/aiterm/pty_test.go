package aiterm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/toolset/aiterm"
	"ptyctl/session"
	"ptyctl/term"
)

// The life of a terminal: start, input, output, size, signal, end, exit code.
func TestLifecycle(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{})
	began := time.Now().Add(-time.Second)
	r := l.ok(
		"pty_open",
		`{"argv":["sh","-c","stty size; stty -echo; while read line; do [ \"$line\" = end ] && exit 5; stty size; echo got $line; done"],"rows":33,"cols":77,`+path+`}`,
	)
	started, err := time.Parse(time.RFC3339, r.StartedAt)
	if err != nil || started.Before(began) || started.After(time.Now()) || !strings.HasPrefix(r.ID, "sh-") {
		t.Errorf("%v: %s", err, r.text)
	}
	_, seq := l.until(r.ID, 0, "33 77\r\n")
	l.send(r.ID, "one\n")
	_, seq = l.until(r.ID, seq, "got one\r\n")
	l.ok("pty_resize", `{"id":"`+r.ID+`","rows":50,"cols":200}`)
	l.send(r.ID, "two\n")
	if got, _ := l.until(r.ID, seq, "got two\r\n"); !strings.Contains(got, "50 200\r\n") {
		t.Errorf("after the resize: %q", got)
	}
	l.send(r.ID, "end\n")
	l.rest(r.ID, seq)
	for range 2 { // a second close returns the same result
		if c := l.ok("pty_close", `{"id":"`+r.ID+`"}`); c.RC == nil || *c.RC != 5 || c.Signal != "" {
			t.Errorf("pty_close = %s, want the exit code", c.text)
		}
	}
	for tool, more := range map[string]string{
		"pty_send": `,"data":"YQ=="`, "pty_resize": `,"rows":1,"cols":1`,
		"pty_signal": `,"signal":"INT"`,
	} {
		if f := l.fails(tool, `{"id":"`+r.ID+`"`+more+`}`, aiterm.ESessionClosed, "status 5", "pty_read",
			"pty_open"); f.Details.ID != r.ID {
			t.Errorf("failure after the end = %s, want it to say so", f.text)
		}
	}
	if again := l.ok("pty_read", `{"id":"`+r.ID+`"}`); !again.Closed || !strings.Contains(again.data(), "got two") {
		t.Errorf("pty_read after the end = %s, want the whole output", again.text)
	}
}

func TestSignals(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{})
	for signal, rc := range map[string]int{"INT": 130, "TERM": 143, "HUP": 129, "KILL": 137, "QUIT": 131} {
		id := l.open(`["sh","-c","ulimit -c 0; echo up; exec sleep 1000"]`, "")
		l.until(id, 0, "up")
		l.ok("pty_signal", `{"id":"`+id+`","signal":"`+signal+`"}`)
		l.rest(id, 0)
		if r := l.ok("pty_close", `{"id":"`+id+`"}`); r.RC == nil || *r.RC != rc || r.Signal != signal {
			t.Errorf("%s: %s", signal, r.text)
		}
	}
}

// A terminal may have a time limit. It is hard: the program is killed, even if it ignores
// signals.
func TestTerminalTimeout(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{})
	id := l.open(`["sh","-c","trap '' HUP TERM INT; echo up; while :; do sleep 0.01; done"]`, `,"timeout_ms":500`)
	if got := l.rest(id, 0); got != "up\r\n" {
		t.Errorf("output before the limit = %q, want up", got)
	}
	l.fails("pty_send", `{"id":"`+id+`","data":""}`, aiterm.ESessionClosed, "500ms, its timeout")
	if r := l.ok("pty_close", `{"id":"`+id+`"}`); r.RC == nil || *r.RC != 137 || r.DurationMS < 500 {
		t.Errorf("pty_close after the limit = %s, want rc 137 after 500 ms", r.text)
	}
}

// A failure for wrong arguments names the field and the right form.
func TestWrongCalls(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{})
	id := l.open(`["cat"]`, "")
	for _, c := range []struct {
		tool, arguments, field string
		parts                  []string
	}{
		{"shell_run", `{}`, "argv", []string{"missing", `a correct call: shell_run {"argv":["ls"`}},
		{"shell_run", `{"argv":[]}`, "argv", []string{"empty", `["sh","-c"`}},
		{"shell_run", `{"argv":["ls -l"]}`, "argv[0]", []string{"no program", "sh"}},
		{"shell_run", `{"argv":"ls"}`, "argv", []string{"array of strings"}},
		{"shell_run", `{"argv":["ls",1]}`, "argv[1]", []string{"string"}},
		{"shell_run", `{"argv":["ls"],"cwd":"/no/such"}`, "cwd", []string{"no such file"}},
		{"shell_run", `{"argv":["ls"],"stdin":"a?="}`, "stdin", []string{"base64", "byte 1"}},
		{"shell_run", `{"argv":["ls"],"env":["A=b"]}`, "env", []string{"JSON object"}},
		{"shell_run", `{"argv":["ls"],"env":{"A=b":"c"}}`, "env", []string{"names to values", `"="`}},
		{"shell_run", `{"argv":["ls"],"env":{"":"c"}}`, "env", []string{"not be empty"}},
		{"shell_run", `{"argv":["ls"],"env":{"A":"c\u0000"}}`, "env", []string{"NUL"}},
		{"shell_run", `{"argv":["ls"],"env":{"A":1}}`, "env.A", []string{"string"}},
		{"shell_run", `{"argv":["ls"],"timeout_ms":-1}`, "timeout_ms", []string{"between"}},
		{"shell_run", `{"argv":["ls"],"shell":true}`, "shell", []string{"unknown field"}},
		{"pty_open", `{"argv":["sh"],"rows":0}`, "rows", []string{"between 1 and 10000"}},
		{"pty_open", `{"argv":["sh"],"cols":10001}`, "cols", []string{"between 1 and 10000"}},
		{"pty_open", `{"argv":["no-such-program"]}`, "argv[0]", []string{"no program"}},
		{"pty_send", `{"id":"` + id + `"}`, "data", []string{"missing"}},
		{"pty_send", `{"id":"` + id + `","data":"YQ"}`, "data", []string{"base64", "padding"}},
		{"pty_send", `{"id":"","data":"YQ=="}`, "id", []string{"empty"}},
		{"pty_read", `{"id":"` + id + `","since_seq":7}`, "since_seq", []string{"since_seq is 7", "is 0"}},
		{"pty_read", `{"id":"` + id + `","max_bytes":0}`, "max_bytes", []string{"between 1"}},
		{"pty_read", `{"id":"` + id + `","since_seq":1.5}`, "since_seq", []string{"whole number"}},
		{"pty_signal", `{"id":"` + id + `","signal":"STOP"}`, "signal", []string{"INT, TERM, HUP, KILL, QUIT"}},
		{"pty_signal", `{"id":"` + id + `","signal":"^C"}`, "signal", []string{`use signal "INT"`, `pty_send with "data":"Aw=="`}},
		{"pty_resize", `{"id":"` + id + `","rows":10}`, "cols", []string{"missing"}},
	} {
		if r := l.fails(c.tool, c.arguments, aiterm.EBadArgs, c.parts...); r.Details.Field != c.field || r.Details.Retryable {
			t.Errorf("%s %s: %s", c.tool, c.arguments, r.text)
		}
	}
	for tool, more := range map[string]string{
		"pty_send": `,"data":""`, "pty_read": "",
		"pty_resize": `,"rows":1,"cols":1`, "pty_signal": `,"signal":"INT"`, "pty_close": "",
	} {
		l.fails(tool, `{"id":"sh-nosuch"`+more+`}`, aiterm.ENotFound, "sh-nosuch", "pty_open")
	}
	// These tools do not find sessions of other tools.
	res, err := l.manager.Open(
		t.Context(),
		session.OpenRequest{Target: term.Target{Protocol: "local", Local: term.LocalOptions{Argv: []string{"cat"}}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	l.fails("pty_read", `{"id":"`+res.Session.ID()+`"}`, aiterm.ENotFound, "pty_open")
}

// A refusal by the policy and a limit are different failures.
func TestRefusals(t *testing.T) {
	deny := func(_ context.Context, a term.Action) (term.Ruling, error) {
		if strings.Contains(a.Command, "forbidden") {
			return term.Ruling{}, &term.Error{
				Kind:  term.PolicyDenied,
				Msg:   "rule policy.deny[0] forbids it",
				Facts: term.Facts{term.Denial{Rule: "policy.deny[0]"}},
			}
		}
		return term.Ruling{}, nil
	}
	l := newLab(t, mcpapi.Options{}, session.Config{Gate: deny, MaxSessions: 1})
	for _, tool := range []string{"shell_run", "pty_open"} {
		if r := l.fails(tool, `{"argv":["forbidden"]}`, aiterm.EDenied,
			"policy.deny[0]"); r.Details.Rule != "policy.deny[0]" {
			t.Errorf("%s against the policy = %s, want the rule policy.deny[0]", tool, r.text)
		}
	}
	l.open(`["cat"]`, "")
	for _, tool := range []string{"shell_run", "pty_open"} {
		if r := l.fails(tool, `{"argv":["true"]}`, aiterm.ERLimit,
			"session.max_sessions"); r.Details.Limit != "session.max_sessions" ||
			!r.Details.Retryable {
			t.Errorf("%s beyond the limit = %s, want session.max_sessions, retryable", tool, r.text)
		}
	}
}

// If tokens are isolated, a caller does not find the terminals of others.
func TestIsolation(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{})
	call := func(token, tool, arguments string) (r reply) {
		t.Helper()
		ctx := identity.WithCaller(t.Context(), identity.Caller{Transport: "http", Token: token, Isolated: true})
		answer, err := json.Marshal(
			l.server.Protocol().HandleMessage(
				ctx,
				json.RawMessage(
					`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`,
				),
			),
		)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal(answer, &got); err != nil || len(got.Result.Content) != 1 {
			t.Fatalf("%v: %s", err, answer)
		}
		if err := json.Unmarshal([]byte(got.Result.Content[0].Text), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	id := call("one", "pty_open", `{"argv":["cat"]}`).ID
	for tool, more := range map[string]string{
		"pty_send": `,"data":""`, "pty_read": `,"timeout_ms":0`,
		"pty_resize": `,"rows":1,"cols":1`, "pty_signal": `,"signal":"INT"`, "pty_close": "",
	} {
		if r := call("two", tool, `{"id":"`+id+`"`+more+`}`); r.Code != aiterm.ENotFound {
			t.Errorf("%s of another token's terminal: %+v", tool, r)
		}
	}
	if r := call("one", "pty_close", `{"id":"`+id+`"}`); r.Code != "" {
		t.Errorf("pty_close by the owner = %+v, want success", r)
	}
}

// Reads beyond the limit of waiting reads fail with that limit. Reads that do not wait
// still work.
func TestTooManyReads(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{MaxReads: 1})
	id := l.open(`["cat"]`, "")
	over := make(chan reply)
	go func() {
		r, _ := l.try(t.Context(), "pty_read", `{"id":"`+id+`","timeout_ms":20000}`)
		over <- r
	}()
	for l.manager.List()[0].Readers == 0 {
		time.Sleep(time.Millisecond)
	}
	var r reply
	for range 100 { // that it is counted is not yet that it waits
		if r = l.call("pty_read", `{"id":"`+id+`","timeout_ms":50}`); r.isError {
			break
		}
	}
	if r.Code != aiterm.ERLimit || r.Details.Limit != "limits.max_waiting_reads" {
		t.Errorf("read beyond the limit = %s, want %s for limits.max_waiting_reads", r.text, aiterm.ERLimit)
	}
	if r := l.ok("pty_read", `{"id":"`+id+`","timeout_ms":0}`); len(r.Chunks) != 0 {
		t.Errorf("read with timeout_ms 0 = %s, want no chunks", r.text)
	}
	l.send(id, "x")
	if r := <-over; r.data() != "x" {
		t.Errorf("waiting read = %s, want x", r.text)
	}
}

// A program that does not read takes only a bounded amount of input.
func TestSendStuck(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{WriteTimeout: 300 * time.Millisecond})
	id := l.open(`["sh","-c","stty raw -echo; echo up; exec sleep 1000"]`, "")
	l.until(id, 0, "up")
	r := l.fails(
		"pty_send",
		`{"id":"`+id+`","data":"`+b64(strings.Repeat("x", 200<<10))+`"}`,
		aiterm.ETimeout,
		"204800 bytes",
		"pty_read",
		"pty_signal",
	)
	if d := r.Details.Result; d == nil || d.BytesWritten <= 0 || d.BytesWritten >= 200<<10 {
		t.Errorf("pty_send of 200 KiB = %s, want some bytes written", r.text)
	}
}

// Each answer has a correlation id, which the events of the call have, too.
func TestCorrelation(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{})
	ids := map[string]bool{}
	run := l.ok("shell_run", `{"argv":["true"]}`)
	open := l.ok("pty_open", `{"argv":["cat"]}`)
	send := l.ok("pty_send", `{"id":"`+open.ID+`","data":"YQ=="}`)
	wrong := l.fails("pty_signal", `{"id":"none","signal":"INT"}`, aiterm.ENotFound)
	early := l.fails("pty_signal", `{}`, aiterm.EBadArgs)
	for _, r := range []reply{run, open, send, wrong, early} {
		if ids[r.CorrelationID] {
			t.Errorf("%s is there twice", r.CorrelationID)
		}
		ids[r.CorrelationID] = true
	}
	got := map[string]bool{}
	for _, e := range l.seen.list() {
		got[string(e.Verb)+" "+e.Actor.Call] = true
	}
	for _, want := range []string{"open " + run.CorrelationID, "exec " + run.CorrelationID, "exec_end " +
		run.CorrelationID, "open " + open.CorrelationID, "write " + send.CorrelationID, "signal " + wrong.CorrelationID} {
		if !got[want] {
			t.Errorf("%s is not on record: %v", want, got)
		}
	}
}

// The answers are compared byte by byte, except for values that differ in each run.
func TestGoldenAnswers(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{})
	var b strings.Builder
	add := func(tool, arguments string) reply {
		r := l.call(tool, arguments)
		text := r.text
		for pattern, with := range map[string]string{
			`"correlation_id":"call-[a-z2-7]{16}"`: `"correlation_id":"call-ID"`, `"duration_ms":\d+`: `"duration_ms":MS`, `"(ts|started_at)":"[^"]{27}"`: `"$1":"TIME"`,
			`(sh|cat)-[a-z2-7]{8}`: `$1-ID`, `"cpu_ms":\d+`: `"cpu_ms":MS`, `"go_version":"[^"]+"`: `"go_version":"GO"`, `"uptime_s":\d+`: `"uptime_s":S`,
		} {
			text = regexp.MustCompile(pattern).ReplaceAllString(text, with)
		}
		fmt.Fprintf(&b, "%s %s\n%s\n\n", tool, arguments, text)
		return r
	}
	add("shell_run", `{"argv":["sh","-c","echo out; echo err >&2; exit 3"],"cwd":"/",`+path+`}`)
	add("shell_run", `{"argv":["no-such-program"],`+path+`}`)
	add("shell_run", `{"argv":["sleep","1000"],"cwd":"/","timeout_ms":50}`)
	add("pty_read", `{"id":"sh-nosuch"}`)
	add("pty_signal", `{"id":"sh-nosuch","signal":"STOP"}`)
	add("health_info", `{}`)
	id := add("pty_open", `{"argv":["sh","-c","read x; printf '\\033[1mbold\\033[0m\\n'; exit 4"],`+path+`}`).ID
	golden(t, "answers.txt", b.String())
	b.Reset()
	// A terminal's output may come in any pieces; their order is known only after the
	// program's end.
	l.send(id, "\n")
	l.rest(id, 0)
	for _, c := range []struct{ tool, more string }{{"pty_send", `,"data":""`}, {"pty_close", ""}} {
		r := l.call(c.tool, `{"id":"`+id+`"`+c.more+`}`)
		if c.tool == "pty_close" &&
			!regexp.MustCompile(`^\{"rc":4,"duration_ms":\d+,"correlation_id":"call-[a-z2-7]{16}"\}$`).MatchString(r.text) {
			t.Errorf("pty_close = %s, want rc 4, duration and correlation id", r.text)
		}
	}
	r := l.ok("pty_read", `{"id":"`+id+`","strip_ansi":true}`)
	if !regexp.MustCompile(
		`^\{"chunks":\[(\{"seq":\d+,"stream":"stdout","data":"[^"]*","ts":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"\},?)+\],"closed":true,"truncated":false,"correlation_id":"call-[a-z2-7]{16}","duration_ms":\d+\}$`).
		MatchString(r.text) {
		t.Errorf("pty_read with strip_ansi = %s, want chunks with numbers and times", r.text)
	}
}

// The set is offered only by name, and not beside another set with a tool of the same
// name.
func TestOffered(t *testing.T) {
	set := aiterm.New().Toolset()
	other := toolset.Set{Name: "pty", Tools: []*toolset.Tool{{Tool: &schema.Tool{Name: "pty_read"}}}}
	err := mcpapi.CheckToolsets([]string{"aiterm", "pty"}, []toolset.Set{set, other})
	if err == nil || !strings.Contains(err.Error(), "pty_read") {
		t.Errorf("CheckToolsets with two tools pty_read = %v, want an error that names it", err)
	}
	if err := mcpapi.CheckToolsets([]string{"core", "aiterm"}, []toolset.Set{set, other}); err != nil {
		t.Error(err)
	}
}
