package tools_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/term"
)

// compactLab returns a lab with the results that a model gets.
func compactLab(t *testing.T, ssh sshserver.Config) *mcptest.Lab {
	return mcptest.NewLab(t, mcptest.Config{SSH: ssh, Options: mcpapi.Options{
		Results: identity.Compact, Limits: toolset.Limits{Format: "clean"},
	}})
}

// shells opens two sessions, each at its shell's prompt, and returns their ids.
func shells(l *mcptest.Lab) (a, b string) {
	l.T.Helper()
	for range 2 {
		a = l.Session
		l.Open("")
		r := l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"0","until_regex":"\\$ $","timeout_ms":20000}`)
		if r.Chunk != "$ " {
			l.T.Fatalf("no prompt came: %s", r.Text)
		}
	}
	return a, l.Session
}

// waits makes a call of wait and compares its whole result. $A and $B are the sessions.
func waits(t *testing.T, l *mcptest.Lab, a, b, args, want string) {
	t.Helper()
	names := strings.NewReplacer("$A", a, "$B", b)
	r := l.Call(mcptest.SessionTool, names.Replace(`{"action":"wait",`+args+`}`))
	if r.Text != names.Replace(want) {
		t.Errorf("wait %s = %s, want %s", args, r.Text, names.Replace(want))
	}
}

func TestWait(t *testing.T) {
	l := compactLab(t, sshserver.Config{})
	a, b := shells(l)
	const soon = `"timeout_ms":20`

	waits(t, l, a, b, `"on":[{"session_id":"$A"},{"session_id":"$B"}],`+soon,
		`{"fired":[],"cursors":{"0":"2","1":"2"},"timed_out":true,"warnings":["timeout_ms is in milliseconds, and these 20 are over; 20 s are 20000"]}`)
	waits(t, l, a, b, `"on":[{"session_id":"$A"},{"session_id":"$B","cursor":"0"}]`,
		`{"fired":[{"on":1,"session_id":"$B","chunk":"$ ","next_cursor":"2"}],"cursors":{"0":"2"}}`)
	waits(t, l, a, b, `"mode":"all","on":[{"session_id":"$A","cursor":"1"},{"session_id":"$B","cursor":"0","until_regex":"\\$"}]`,
		`{"fired":[{"on":0,"session_id":"$A","chunk":" ","next_cursor":"2"},{"on":1,"session_id":"$B","chunk":"$","next_cursor":"1"}]}`)
	// The same session twice: the output of an entry that did not fire stays readable.
	waits(t, l, a, b, `"on":[{"session_id":"$A","cursor":"0","until_regex":"never"},{"session_id":"$A","cursor":"0","until_idle_ms":20}]`,
		`{"fired":[{"on":1,"session_id":"$A","chunk":"$ ","next_cursor":"2"}],"cursors":{"0":"0"}}`)
	waits(t, l, a, b, `"on":[{"session_id":"$A","cursor":"0","until_regex":"never","until_idle_ms":20}]`,
		`{"fired":[{"on":0,"session_id":"$A","chunk":"$ ","next_cursor":"2","matched":false}]}`)
	waits(t, l, a, b, `"mode":"all","on":[{"session_id":"$A"},{"session_id":"$B","cursor":"0"}],"timeout_ms":0`,
		`{"fired":[{"on":1,"session_id":"$B","chunk":"$ ","next_cursor":"2"}],"cursors":{"0":"2"},"timed_out":true}`)
	waits(t, l, a, b, `"on":[{"session_id":"$B","until_prompt":true}]`,
		`{"fired":[{"on":0,"session_id":"$B","next_cursor":"2"}]}`)

	// The end of a session: its program's exit code, at once from then on.
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"exit 7\r"}`)
	const ended = `{"fired":[{"on":1,"session_id":"$B","chunk":"exit 7\n","next_cursor":"10","eof":true,"exit_code":7,"state":"closed","end_code":"exited"}],"cursors":{"0":"2"}}`
	for _, condition := range []string{`"until_exit":true`, `"until_regex":"never"`, `"until_idle_ms":9000`} {
		waits(t, l, a, b, `"on":[{"session_id":"$A"},{"session_id":"$B","cursor":"2",`+condition+`}]`,
			strings.Replace(ended, `"eof"`, map[bool]string{true: `"matched":false,`}[strings.Contains(condition, "regex")]+`"eof"`, 1))
	}
}

func TestWaitForExec(t *testing.T) {
	l := compactLab(t, sshserver.Config{})
	a, b := shells(l)
	start := func(cmd string) string {
		r := l.OK(mcptest.ExecTool, fmt.Sprintf(`{"session_id":"$S","cmd":%q,"wait_ms":1}`, cmd))
		if r.ExecID == "" {
			t.Fatalf("exec %s = %s, want one that runs", cmd, r.Text)
		}
		return r.ExecID
	}
	job := start("until [ -e go ]; do sleep 0.05; done; echo listening; echo done; echo no route >&2; exit 3")
	l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"touch go"}`)
	waits(t, l, a, b, `"on":[{"session_id":"$B","exec_id":"`+job+`","until_regex":"listen"}]`,
		`{"fired":[{"on":0,"session_id":"$B","chunk":"listen","next_cursor":"6"}]}`)
	long := start("sleep 100")
	waits(t, l, a, b, `"on":[{"session_id":"$B","exec_id":"`+long+`"},{"session_id":"$A"},{"session_id":"$B","exec_id":"`+job+`"}]`,
		`{"fired":[{"on":2,"session_id":"$B","chunk":"listening\ndone\n","stderr":"no route\n","exit_code":3}],"cursors":{"0":"0","1":"2"}}`)
	// The output was delivered; the end is there as long as the command is known.
	waits(t, l, a, b, `"on":[{"session_id":"$B","exec_id":"`+job+`","until_exit":true}]`,
		`{"fired":[{"on":0,"session_id":"$B","exit_code":3}]}`)
	l.OK(mcptest.ExecTool, `{"session_id":"$S","exec_id":"`+long+`","cancel":true}`)

	// A question ends the wait for a command, but not the wait for its end alone.
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"PS2=\r","until_regex":"\\$ $"}`)
	r := l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"printf 'Password: '; read x","lane":"terminal","wait_ms":1}`)
	waits(t, l, a, b, `"on":[{"session_id":"$B","exec_id":"`+r.ExecID+`","cursor":"0"}]`,
		`{"fired":[{"on":0,"session_id":"$B","chunk":"Password: ","next_cursor":"10","done_reason":"running",`+
			`"waiting_for":{"kind":"password"}}]}`)
	waits(t, l, a, b, `"on":[{"session_id":"$B","exec_id":"`+r.ExecID+`","until_exit":true}],"timeout_ms":0`,
		`{"fired":[],"cursors":{"0":"10"},"timed_out":true}`)
	waits(t, l, a, b, `"on":[{"session_id":"$B","exec_id":"`+r.ExecID+`","until_exit":true,"cursor":"3"}],"timeout_ms":0`,
		`{"fired":[],"cursors":{"0":"3"},"timed_out":true}`)
}

// With a cursor, the end of a command and its question bring its stdout from there on, whatever the caller has had; the
// cursor of one result is the cursor of the next call.
func TestWaitForExecFromCursor(t *testing.T) {
	l := compactLab(t, sshserver.Config{})
	a, b := shells(l)
	r := l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"until [ -e begin ]; do sleep 0.05; done; echo one; `+
		`until [ -e go ]; do sleep 0.05; done; echo two; echo no >&2","wait_ms":1}`)
	l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"touch begin"}`)
	entry := func(more string) string { return `"on":[{"session_id":"$B","exec_id":"` + r.ExecID + `"` + more + `}]` }
	fired := func(members string) string {
		return `{"fired":[{"on":0,"session_id":"$B"` + members + `}]}`
	}
	waits(t, l, a, b, entry(`,"until_regex":"one\n"`), fired(`,"chunk":"one\n","next_cursor":"4"`))
	// No result of the command's own has had anything.
	waits(t, l, a, b, entry(``)+`,"timeout_ms":0`, `{"fired":[],"cursors":{"0":"0"},"timed_out":true}`)
	waits(t, l, a, b, entry(`,"cursor":"4"`)+`,"timeout_ms":0`, `{"fired":[],"cursors":{"0":"4"},"timed_out":true}`)
	l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"touch go"}`)
	waits(t, l, a, b, entry(`,"cursor":"4"`), fired(`,"chunk":"two\n","next_cursor":"8","stderr":"no\n","exit_code":0`))
	waits(t, l, a, b, entry(`,"cursor":"8"`), fired(`,"next_cursor":"8","exit_code":0`))
	waits(t, l, a, b, entry(`,"cursor":"99"`), fired(`,"next_cursor":"8","exit_code":0`))
	waits(t, l, a, b, entry(`,"cursor":"0","until_exit":true`), fired(`,"chunk":"one\ntwo\n","next_cursor":"8","exit_code":0`))
	waits(t, l, a, b, entry(``), fired(`,"exit_code":0`)) // nothing is new
}

// A session that logs in fires when it asks, with the question.
func TestWaitForQuestion(t *testing.T) {
	l := compactLab(t, mcptest.TwoQuestions)
	if r := l.Open(""); r.State != "authenticating" {
		t.Fatalf("open = %s, want a question", r.Text)
	}
	r := l.OK(mcptest.SessionTool, `{"action":"wait","on":[{"session_id":"$S","until_exit":true}]}`)
	if !strings.HasPrefix(r.Text, `{"fired":[{"on":0,"session_id":"`+l.Session+`","next_cursor":"`) ||
		!strings.Contains(r.Text, `"prompt":{`) || !strings.Contains(r.Text, `Password: ","index":1`) ||
		!strings.HasSuffix(r.Text, `"state":"authenticating"}]}`) {
		t.Errorf("wait at a login that asks = %s, want its prompt", r.Text)
	}
}

// The chunk is the end of the output, and says how much it leaves out.
func TestWaitIsBounded(t *testing.T) {
	l := compactLab(t, sshserver.Config{})
	shells(l)
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"seq 10000\r"}`)
	r := l.OK(mcptest.SessionTool, `{"action":"wait","on":[{"session_id":"$S","cursor":"2","until_regex":"\\n10000\\n"}]}`)
	var got struct {
		Fired []struct {
			Chunk   string
			Omitted struct {
				Bytes  int
				Cursor string
			}
		}
	}
	l.Decode([]byte(r.Text), &got)
	if f := got.Fired[0]; !strings.HasSuffix(f.Chunk, "\n10000\n") || len(f.Chunk) > 4096 || f.Omitted.Cursor != "2" ||
		f.Omitted.Bytes < 40000 {
		t.Errorf("wait for the end of much output = %.200s..., want the last 4 KiB and what is left out", r.Text)
	}
	rest := l.OK(mcptest.IOTool, fmt.Sprintf(`{"action":"read","session_id":"$S","cursor":"2","max_bytes":%d}`, got.Fired[0].Omitted.Bytes))
	if all := strings.ReplaceAll(rest.Chunk, "\r", "") + got.Fired[0].Chunk; !strings.Contains(all, "\n4999\n5000\n5001\n") ||
		strings.Count(all, "\n") != 10001 {
		t.Errorf("what was left out and the chunk are not all of the output: %d lines", strings.Count(all, "\n"))
	}
}

func TestWaitRefused(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{
		SSH: sshserver.Config{Handler: mcptest.Echo}, Sessions: session.Config{MaxReads: 3},
	})
	l.Open("")
	many := strings.Repeat(`{"session_id":"$S"},`, 64) + `{"session_id":"$S"}`
	for _, tt := range []struct {
		args, field string
		kind        term.Kind
		part        string
	}{
		{`"on":[]`, "on", term.InvalidArgument, "on is empty"},
		{`"mode":"any"`, "on", term.InvalidArgument, "on is missing"},
		{`"on":[` + many + `]`, "on", term.InvalidArgument, "at most 64"},
		{`"on":[{"session_id":"$S"},{}]`, "on[1].session_id", term.InvalidArgument, "on[1].session_id is missing"},
		{`"on":[{"session_id":"$S"},{"session_id":"web1-none"}]`, "on[1].session_id", term.NotFound, `there is no session "web1-none"`},
		{`"on":[{"session_id":"$S"},{"session_id":"$S","exec_id":"exec-1"}]`, "on[1].exec_id", term.NotFound, "no exec exec-1"},
		{`"on":[{"session_id":"$S","exec_id":"exec-1","until_regex":"x"}]`, "on[0].exec_id", term.NotFound, "no exec exec-1"},
		{`"on":[{"session_id":"$S","cursor":"x"}]`, "on[0].cursor", term.InvalidArgument, "next_cursor"},
		{`"on":[{"session_id":"$S","until_regex":"("}]`, "on[0].until_regex", term.InvalidArgument, "RE2"},
		{`"on":[{"session_id":"$S","until_idle_ms":3000}],"timeout_ms":2000`, "on[0].until_idle_ms", term.InvalidArgument, "raise timeout_ms"},
		{`"on":[{"session_id":"$S","exec_id":"e","until_prompt":true}]`, "on[0].until_prompt", term.InvalidArgument, "for a terminal"},
		{`"on":[{"session_id":"$S","timeout_ms":5}]`, "on[0].timeout_ms", term.InvalidArgument, "unknown field"},
		{`"on":[{"session_id":"$S"},{"session_id":"$S"},{"session_id":"$S"},{"session_id":"$S"}]`, "", term.LimitExceeded, "as many reads wait as may"},
	} {
		if r := l.Fails(mcptest.SessionTool, `{"action":"wait",`+tt.args+`}`, tt.kind, tt.part); r.Details.Field != tt.field {
			t.Errorf("wait %.100s is refused for %q, want %q", tt.args, r.Details.Field, tt.field)
		}
	}
}

// A call that is cancelled ends its waits, and answers.
func TestWaitCanceled(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.OpenShell()
	s, err := l.Manager.Get(l.Session)
	if err != nil {
		t.Fatal(err)
	}
	id, answer := l.Start("tools/call", l.Params(mcptest.SessionTool,
		`{"action":"wait","on":[{"session_id":"$S"},{"session_id":"$S","until_exit":true}]}`))
	for s.Info().Readers < 2 {
		time.Sleep(time.Millisecond)
	}
	l.Write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
	for s.Info().Readers > 0 {
		time.Sleep(time.Millisecond)
	}
	select {
	case got := <-answer: // most servers send none
		if r := l.Read(got.Result); r.ErrorCode != term.Canceled {
			t.Errorf("a cancelled wait = %s, want CANCELED", r.Text)
		}
	default:
	}
}

// A session without a terminal has no output, but an end.
func TestWaitWithoutTerminal(t *testing.T) {
	l := compactLab(t, sshserver.Config{})
	l.Open(`,"session_type":"exec"`)
	waits(t, l, l.Session, "", `"on":[{"session_id":"$A","until_exit":true}],"timeout_ms":1000`,
		`{"fired":[],"cursors":{"0":"0"},"timed_out":true}`)
	l.OK(mcptest.SessionTool, `{"action":"close","session_id":"$S"}`)
	waits(t, l, l.Session, "", `"on":[{"session_id":"$A","until_exit":true}]`,
		`{"fired":[{"on":0,"session_id":"$A","next_cursor":"0","eof":true,"state":"closed","end_code":"closed"}]}`)
}
