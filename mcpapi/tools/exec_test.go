package tools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/toolset"
	"ptyctl/term"
)

func TestExec(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.Open("")
	zero, three := 0, 3
	tests := []struct {
		name, args     string
		stdout, stderr string
		code           *int
		done           string
	}{
		{"both streams and a code", `"cmd":"echo out; echo err >&2; exit 3"`, "out\n", "err\n", &three, "exit_status"},
		{"no output", `"cmd":"true"`, "", "", &zero, "exit_status"},
		{"lane channel", `"cmd":"echo x","lane":"channel"`, "x\n", "", &zero, "exit_status"},
		{"stdin", `"cmd":"tr a-z A-Z","stdin":"héllo\n"`, "HéLLO\n", "", &zero, "exit_status"},
		{"stdin, encoded", `"cmd":"cat","stdin":"aMOp","stdin_encoding":"base64"`, "hé", "", &zero, "exit_status"},
		{"stdin, plain", `"cmd":"cat","stdin":"aMOp","stdin_encoding":"utf-8"`, "aMOp", "", &zero, "exit_status"},
		{"cwd", `"cmd":"pwd","cwd":"/"`, "/\n", "", &zero, "exit_status"},
		{"cwd with a quote", `"cmd":"true","cwd":"/no'such dir"`, "", "*", nil, "exit_status"},
		{"env", `"cmd":"echo $LC_THING","env":["LC_THING=a b=c"]`, "a b=c\n", "", &zero, "exit_status"},
		{"empty lists", `"cmd":"echo x","env":[],"expect":{}`, "x\n", "", &zero, "exit_status"},
		{"numbers as a client may write them", `"cmd":"echo x","timeout_ms":5e3,"max_output_bytes":100.0`, "x\n", "", &zero, "exit_status"},
		{"not UTF-8", `"cmd":"printf '\\377'"`, "/w==", "", &zero, "exit_status"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := l.OK(mcptest.ExecTool, `{"session_id":"$S",`+tt.args+`}`)
			if r.Stdout != tt.stdout || tt.stderr != "*" && r.Stderr != tt.stderr || r.DoneReason != tt.done ||
				r.ExecLane != "channel" {
				t.Errorf("got %s", r.Text)
			}
			if tt.code != nil && (r.ExitCode == nil || *r.ExitCode != *tt.code) {
				t.Errorf("exit code: %s", r.Text)
			}
			if r.ExecID != "" || r.Truncated || r.TimedOut || string(r.Members["exit_code_reason"]) != "null" {
				t.Errorf("got %s", r.Text)
			}
			for _, m := range []string{
				"stdout", "stderr", "exit_code", "exit_code_reason", "done_reason", "prompt_detected",
				"timed_out", "duration_ms", "truncated",
			} {
				if r.Members[m] == nil {
					t.Errorf("%s is missing in %s", m, r.Text)
				}
			}
		})
	}
}

func TestExecRefused(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.Open("")
	tests := []struct {
		args  string
		kind  term.Kind
		field string
		parts []string
	}{
		{``, term.InvalidArgument, "cmd", []string{"cmd is empty", "exec_id"}},
		{`,"cmd":""`, term.InvalidArgument, "cmd", []string{"cmd is empty"}},
		{`,"cmd":" \t\n"`, term.InvalidArgument, "cmd", []string{"cmd is empty"}},
		{`,"cmd":null`, term.InvalidArgument, "cmd", []string{"cmd is empty"}},
		{`,"cmd":"a\u0000b"`, term.InvalidArgument, "", []string{"NUL", "stdin"}},
		{`,"cmd":"ls","exec_id":"exec-1"`, term.InvalidArgument, "exec_id", []string{"exclude each other"}},
		{`,"cancel":true`, term.InvalidArgument, "exec_id", []string{"cancel needs exec_id"}},
		{`,"cmd":"ls","cancel":true`, term.InvalidArgument, "exec_id", []string{"cancel needs exec_id"}},
		{`,"exec_id":"exec-1"`, term.NotFound, "", []string{"no exec exec-1"}},
		{`,"exec_id":"exec-1","cancel":true`, term.NotFound, "", []string{"no exec exec-1"}},
		{`,"exec_id":"exec-1","timeout_ms":5`, term.NotFound, "", []string{"no exec exec-1"}},
		{`,"exec_id":"exec-1","timeout_ms":0`, term.NotFound, "", nil}, // none
		{`,"exec_id":"exec-1","wait_ms":-1`, term.InvalidArgument, "wait_ms", nil},
		{`,"exec_id":"exec-1","wait_ms":"soon"`, term.InvalidArgument, "wait_ms", nil},
		{
			`,"exec_id":"exec-1","cancel":true,"wait_ms":5`, term.InvalidArgument, "wait_ms",
			[]string{"leave wait_ms or cancel out"},
		},
		{
			`,"exec_id":"exec-1","cancel":true,"timeout_ms":5`, term.InvalidArgument, "timeout_ms",
			[]string{"leave timeout_ms or cancel out"},
		},
		{
			`,"cmd":"ls","until_idle_ms":5001,"timeout_ms":5000`, term.InvalidArgument, "until_idle_ms",
			[]string{"(5001)", "(5000)", "raise timeout_ms"},
		},
		{
			`,"cmd":"ls","until_idle_ms":60001`, term.InvalidArgument, "until_idle_ms",
			[]string{"(60001)", "(60000)", "raise timeout_ms"},
		},
		{`,"exec_id":"exec-1","cwd":"/"`, term.InvalidArgument, "cwd", []string{"leave cwd out"}},
		{`,"exec_id":"exec-1","env":["A=b"]`, term.InvalidArgument, "env", nil},
		{`,"exec_id":"exec-1","stdin":"x"`, term.InvalidArgument, "stdin", nil},
		{`,"exec_id":"exec-1","stdin_encoding":"utf-8"`, term.InvalidArgument, "stdin_encoding", nil},
		{`,"exec_id":"exec-1","lane":"auto"`, term.InvalidArgument, "lane", nil},
		{`,"exec_id":"exec-1","expect":{"error_regexes":[]}`, term.InvalidArgument, "expect", nil},
		{`,"exec_id":"exec-1","queue":true`, term.InvalidArgument, "queue", nil},
		{`,"exec_id":"exec-1","class":"posix"`, term.InvalidArgument, "class", nil},
		{`,"exec_id":"exec-1","until_idle_ms":5`, term.InvalidArgument, "until_idle_ms", nil},
		{`,"exec_id":"exec-1","rc_mode":{"enabled":false}`, term.InvalidArgument, "rc_mode", nil},
		{`,"cmd":"ls","env":["LC_A"]`, term.InvalidArgument, "env[0]", []string{"NAME=value"}},
		{`,"cmd":"ls","env":["LC_A=b","=c"]`, term.InvalidArgument, "env[1]", []string{"NAME=value"}},
		{`,"cmd":"ls","env":["LC_A=\u0000"]`, term.InvalidArgument, "env[0]", nil},
		{`,"cmd":"touch /nonexistent","env":["PATH=/x"]`, term.Unsupported, "", []string{"PATH"}},
		{`,"cmd":"ls","expect":{"prompt_regex":"("}`, term.InvalidArgument, "expect.prompt_regex", []string{"RE2"}},
		{`,"cmd":"ls","stdin":"?","stdin_encoding":"base64"`, term.InvalidArgument, "stdin", nil},
	}
	for _, tt := range tests {
		r := l.Fails(mcptest.ExecTool, `{"session_id":"$S"`+tt.args+`}`, tt.kind, tt.parts...)
		if r.Details.Field != tt.field {
			t.Errorf("%s: field %q, want %q", tt.args, r.Details.Field, tt.field)
		}
	}
	if n := l.SSH.Stats().SessionsOpened; n > 3 { // the shell, one for the environment that was refused, one ahead
		t.Errorf("%d channels were opened", n)
	}
}

// Output above the budget: head and tail are in the result, the middle is read by exec_id and cursor.
func TestExecOutputBudget(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{Options: mcpapi.Options{Limits: toolset.Limits{MaxReadBytes: 4000}}})
	l.Open("")
	// 2,000 lines of 5 bytes: 0000 to 1999.
	const cmd = `"cmd":"i=0; while [ $i -lt 2000 ]; do printf '%04d\\n' $i; i=$((i+1)); done"`
	r := l.OK(mcptest.ExecTool, `{"session_id":"$S",`+cmd+`,"max_output_bytes":100}`)
	if !r.Truncated || r.StdoutBytes != 10_000 || r.StdoutOmitted == nil || r.ExecID == "" ||
		r.DoneReason != "exit_status" {
		t.Fatalf("got %s", r.Text)
	}
	cut := r.StdoutOmitted
	if cut.At != 50 || cut.Bytes != 9900 || cut.Cursor != "50" ||
		r.Stdout[:cut.At] != "0000\n0001\n0002\n0003\n0004\n0005\n0006\n0007\n0008\n0009\n" ||
		!strings.HasPrefix(r.Stdout[cut.At:], "\n[... 9900 bytes left out ...]\n1990\n") ||
		!strings.HasSuffix(r.Stdout, "1999\n") {
		t.Errorf("got %s", r.Text)
	}
	m := l.OK(
		mcptest.IOTool,
		`{"action":"read","session_id":"$S","exec_id":"`+r.ExecID+`","cursor":"`+cut.Cursor+`","max_bytes":10}`,
	)
	if m.Chunk != "0010\n0011\n" || m.NextCursor != "60" || m.Encoding != "utf-8" {
		t.Errorf("the middle: %s", m.Text)
	}
	if m = l.OK(mcptest.IOTool,
		`{"action":"read","session_id":"$S","exec_id":"`+r.ExecID+
			`","stream":"stdout","mode":"tail","max_lines":2}`); m.Chunk != "1998\n1999\n" {
		t.Errorf("its tail: %s", m.Text)
	}
	if m = l.OK(mcptest.IOTool,
		`{"action":"read","session_id":"$S","exec_id":"`+r.ExecID+`","stream":"stderr"}`); m.Chunk != "" ||
		!m.EOF {
		t.Errorf("stderr: %s", m.Text)
	}
	if m = l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","exec_id":"`+r.ExecID+`","max_bytes":1000000}`); len(
		m.Chunk,
	) != 4000 ||
		len(m.Warnings) != 1 ||
		!strings.Contains(m.Warnings[0], "max_bytes was lowered to 4000") {
		t.Errorf("a read above the limit: %d bytes, %q", len(m.Chunk), m.Warnings)
	}
	// exec with exec_id says again how the command ended, but does not repeat its output.
	r = l.OK(mcptest.ExecTool, `{"session_id":"$S","exec_id":"`+r.ExecID+`","max_output_bytes":50000}`)
	if r.Stdout != "" || r.StdoutCursor != "10000" || r.StdoutBytes != 10_000 || r.Truncated || r.ExecID == "" ||
		r.DoneReason != "exit_status" || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "max_output_bytes was lowered to 4000") {
		t.Errorf("again: %.300s", r.Text)
	}
	r = l.OK(mcptest.ExecTool, `{"session_id":"$S",`+cmd+`,"max_output_bytes":50000}`)
	if r.StdoutOmitted == nil || r.StdoutOmitted.Bytes != 6000 || len(r.Warnings) != 0 { // said before
		t.Errorf("with another budget: %.300s", r.Text)
	}
	l.Fails(mcptest.IOTool, `{"action":"read","session_id":"$S","exec_id":"exec-none"}`, term.NotFound)
	l.Fails(
		mcptest.IOTool,
		`{"action":"read","session_id":"$S","stream":"stdout"}`,
		term.InvalidArgument,
		"stream needs exec_id",
	)
}

// A command that outlasts the call goes on, and exec_id goes on waiting for it.
func TestExecRunning(t *testing.T) {
	t.Parallel() // it waits
	l := mcptest.NewLab(t, mcptest.Config{Options: mcpapi.Options{Limits: toolset.Limits{MaxWait: 2 * time.Second}}})
	l.Open("")
	goOn := filepath.Join(t.TempDir(), "go-on")
	r := l.OK(
		mcptest.ExecTool,
		`{"session_id":"$S","cmd":"echo begun; until [ -e `+goOn+` ]; do sleep 0.05; done; echo done; exit 4"}`,
	)
	if r.DoneReason != "running" || r.ExecID == "" || r.ExitCode != nil || r.ExitCodeReason == nil ||
		*r.ExitCodeReason != "running" ||
		r.Stdout != "begun\n" ||
		r.TimedOut {
		t.Fatalf("got %s", r.Text)
	}
	if string(r.Members["exit_code"]) != "null" {
		t.Errorf("exit_code is %s", r.Members["exit_code"])
	}
	if s := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`); len(s.Session.Running) != 1 ||
		s.Session.Running[0] != r.ExecID {
		t.Errorf("status: %s", s.Text)
	}
	id := r.ExecID
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var last string
	for n := 0; r.DoneReason == "running" && n < 10; n++ {
		last = fmt.Sprintf(`{"session_id":"$S","exec_id":"%s","request_id":"%d"}`, id, n)
		r = l.OK(mcptest.ExecTool, last)
	}
	if r.DoneReason != "exit_status" || r.ExitCode == nil || *r.ExitCode != 4 || r.Stdout != "done\n" ||
		r.StdoutCursor != "6" {
		t.Errorf("got %s", r.Text)
	}
	// Should that answer be lost, it can be had again: by its request_id; by exec_id how it ended; and the output.
	again := l.OK(mcptest.ExecTool, last)
	if again.Text != r.Text {
		t.Errorf("asked again: %s", again.Text)
	}
	again = l.OK(mcptest.ExecTool, `{"session_id":"$S","exec_id":"`+id+`"}`)
	if again.ExitCode == nil || *again.ExitCode != 4 || again.Stdout != "" || again.StdoutCursor != "11" {
		t.Errorf("asked for more: %s", again.Text)
	}
	all := l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","exec_id":"`+id+`","cursor":"0"}`)
	if all.Chunk != "begun\ndone\n" {
		t.Errorf("read from the start: %s", all.Text)
	}
}

func TestExecCancel(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{Options: mcpapi.Options{Limits: toolset.Limits{MaxWait: 50 * time.Millisecond}}})
	l.Open("")
	r := l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"echo begun; exec sleep 100"}`)
	if r.DoneReason != "running" {
		t.Fatalf("got %s", r.Text)
	}
	id := r.ExecID
	for deadline := time.Now().Add(time.Minute); r.Stdout == "" && time.Now().Before(deadline); {
		r = l.OK(mcptest.ExecTool, `{"session_id":"$S","exec_id":"`+id+`"}`)
	}
	if r.Stdout != "begun\n" {
		t.Errorf("while it runs: %s", r.Text)
	}
	l.OK(mcptest.SessionTool, `{"action":"lock","session_id":"$S","task_id":"a"}`)
	l.Fails(mcptest.ExecTool, `{"session_id":"$S","exec_id":"`+r.ExecID+`","cancel":true}`, term.Locked)
	r = l.OK(mcptest.ExecTool, `{"session_id":"$S","exec_id":"`+r.ExecID+`","cancel":true,"task_id":"a"}`)
	if r.DoneReason != "timeout" || r.Stdout != "" || r.StdoutCursor != "6" || r.StdoutBytes != 6 || r.TimedOut {
		t.Errorf("got %s", r.Text)
	}
	if s := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`); len(s.Session.Running) != 0 {
		t.Errorf("still running: %s", s.Text)
	}
}

func TestExecTimeout(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{Options: mcpapi.Options{Limits: toolset.Limits{ExecTimeout: 2 * time.Second}}})
	l.Open("")
	for _, args := range []string{``, `,"timeout_ms":1500`} {
		r := l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"echo begun; exec sleep 100"`+args+`}`)
		if r.DoneReason != "timeout" || !r.TimedOut || r.Stdout != "begun\n" {
			t.Errorf("got %s", r.Text)
		}
	}
}

// If the server sends no exit status, the exit code is null, and the result says why.
func TestExecNoStatus(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{Faults: sshserver.Faults{NoExitStatus: true}}})
	l.Open("")
	r := l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"echo x"}`)
	if string(r.Members["exit_code"]) != "null" || r.ExitCodeReason == nil || *r.ExitCodeReason != "no_status" ||
		r.DoneReason != "eof" ||
		r.Stdout != "x\n" {
		t.Errorf("got %s", r.Text)
	}
}

func TestExecErrorHints(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.Open(`,"expect":{"error_regexes":["(?i)denied"]}`)
	if r := l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"echo Access Denied."}`); len(r.ErrorHints) != 1 ||
		!strings.Contains(r.ErrorHints[0], "Denied") {
		t.Errorf("got %s", r.Text)
	}
	if r := l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"echo Access Denied.","expect":{"error_regexes":[]}}`); len(
		r.ErrorHints,
	) != 0 {
		t.Errorf("the session's patterns were to be cleared: %s", r.Text)
	}
}

func TestExecParallel(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.Open("")
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() {
			got := l.Request(
				"tools/call",
				l.Params(mcptest.ExecTool, fmt.Sprintf(`{"session_id":"$S","cmd":"echo %d; exit %d"}`, i, i)),
			)
			if r := l.Read(got.Result); r.Stdout != fmt.Sprintf("%d\n", i) || r.ExitCode == nil || *r.ExitCode != i {
				t.Errorf("call %d got %s", i, r.Text)
			}
		})
	}
	calls.Wait()
}

// A command goes on after its call was cancelled, and status still lists it.
func TestExecCancelledByClient(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.Open("")
	id, unanswered := l.Start("tools/call", l.Params(mcptest.ExecTool, `{"session_id":"$S","cmd":"exec sleep 100"}`))
	var running []string
	for deadline := time.Now().Add(10 * time.Second); len(running) != 1 && time.Now().Before(deadline); {
		running = l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`).Session.Running
	}
	l.Write(mcptest.CancelCall(id))
	if s := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`); len(s.Session.Running) != 1 {
		t.Fatalf("the command ended with the call: %s", s.Text)
	}
	select {
	case a := <-unanswered:
		t.Errorf("a cancelled call got an answer: %s", a.Result)
	default:
	}
	r := l.OK(mcptest.ExecTool, `{"session_id":"$S","exec_id":"`+running[0]+`","cancel":true}`)
	if r.DoneReason != "timeout" {
		t.Errorf("got %s", r.Text)
	}
}

func TestExecWithoutTheMeans(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{Faults: sshserver.Faults{RefuseExec: true}}})
	l.Open("")
	l.Fails(mcptest.ExecTool, `{"session_id":"$S","cmd":"true","lane":"channel"}`, term.Unsupported)
}

// Advice about a command comes with its result, once for each session and caller.
func TestAdvice(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	for _, tt := range []struct{ args, says string }{
		{`"cmd":"cd /tmp"`, "cd had no lasting effect"},
		{`"cmd":"export A=b && umask 022"`, "use lane terminal, whose shell keeps it"},
		{`"cmd":"cd /nowhere"`, ""},
		{`"cmd":"cd /tmp && pwd"`, ""},
		{`"cmd":"tty"`, "the command needs a terminal"},
		{`"cmd":"echo sudo: a terminal is required >&2; exit 1"`, "run it with lane terminal"},
		{`"cmd":"echo a terminal is required"`, ""},
		{`"cmd":"exec sleep 5","timeout_ms":30`, "timeout_ms is in milliseconds, and these 30 are over; 30 s are 30000"},
		{`"cmd":"true","timeout_ms":900`, ""},
	} {
		l.Open("")
		for again := range 2 {
			r := l.OK(mcptest.ExecTool, `{"session_id":"$S","lane":"channel",`+tt.args+`}`)
			got := strings.Join(r.Warnings, "\n")
			if wants := tt.says != "" && again == 0; wants != (got != "") || wants && !strings.Contains(got, tt.says) {
				t.Errorf("%s, call %d: warnings %q, want one with %q the first time", tt.args, again+1, got, tt.says)
			}
		}
	}
	l.Open(`,"session_type":"exec"`)
	r := l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"tty"}`)
	if got := strings.Join(r.Warnings, "\n"); !strings.Contains(got, "this session has none") {
		t.Errorf("tty in a session without a terminal: warnings %q", got)
	}
	l.Open("")
	r = l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","until_regex":"never","timeout_ms":2}`)
	if got := strings.Join(r.Warnings, "\n"); !strings.Contains(got, "2 s are 2000") {
		t.Errorf("a read of 2 ms: warnings %q", got)
	}
}

// A request is kept within the operator's limits, and a result has the time that the command still has.
func TestExecContinueLimits(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{Options: mcpapi.Options{Limits: toolset.Limits{
		MaxWait: time.Second, MaxExecTimeout: time.Hour, UnattendedExec: 2 * time.Hour,
	}}})
	l.Open("")
	for _, step := range []struct {
		name, args  string
		least, most time.Duration
		warnings    []string
	}{
		{"start", `"cmd":"sleep 1000","wait_ms":0`, 59 * time.Minute, time.Hour, nil},
		{"a longer wait", `"exec_id":"$X","wait_ms":1001`, 59 * time.Minute, time.Hour, []string{"wait_ms was lowered to 1s"}},
		{"a new deadline", `"exec_id":"$X","wait_ms":0,"timeout_ms":1800000`, 29 * time.Minute, 30 * time.Minute, nil},
		{
			"a longer deadline", `"exec_id":"$X","wait_ms":0,"timeout_ms":3600001`, 59 * time.Minute, time.Hour,
			[]string{"timeout_ms was lowered to 1h"},
		},
	} {
		id := ""
		if s := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`); len(s.Session.Running) == 1 {
			id = s.Session.Running[0]
		}
		r := l.OK(mcptest.ExecTool, `{"session_id":"$S",`+strings.ReplaceAll(step.args, "$X", id)+`}`)
		if r.DoneReason != "running" || r.RemainingMS == nil || len(r.Warnings) != len(step.warnings) {
			t.Fatalf("%s: got %s, want running, remaining_ms and %d warnings", step.name, r.Text, len(step.warnings))
		}
		if left := time.Duration(*r.RemainingMS) * time.Millisecond; left < step.least || left > step.most {
			t.Errorf("%s: remaining_ms is %v, want from %v to %v", step.name, left, step.least, step.most)
		}
		for i, w := range step.warnings {
			if !strings.Contains(r.Warnings[i], w) {
				t.Errorf("%s: warning %q, want %q", step.name, r.Warnings[i], w)
			}
		}
	}
}

// until_idle_ms ends a wait after silence. If the end of a command is known, the result says that until_idle_ms has no
// effect.
func TestExecUntilIdle(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	for _, tt := range []struct {
		args, done string
		warned     bool
	}{
		{`"lane":"channel"`, "exit_status", true},
		{`"lane":"terminal","class":"posix"`, "marker_seen", true},
		{`"lane":"terminal","class":"posix","rc_mode":{"enabled":false}`, "prompt_seen", false},
	} {
		l.OpenShell() // the caller of a new session has had no warning yet
		l.OK(
			mcptest.IOTool,
			`{"action":"write","session_id":"$S","data":"PS1='r@h:/$ '\r","until_idle_ms":200,"timeout_ms":5000}`,
		)
		r := l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"echo x","until_idle_ms":5000,"timeout_ms":5000,`+tt.args+`}`)
		warned := len(r.Warnings) == 1 && strings.Contains(r.Warnings[0], "until_idle_ms means nothing here")
		if r.DoneReason != tt.done || r.Stdout != "x\n" || warned != tt.warned || !warned && len(r.Warnings) > 0 {
			t.Errorf("%s: got %s, want %s, and a warning: %v", tt.args, r.Text, tt.done, tt.warned)
		}
	}
}

// Clean output of a command beside the terminal has no colours, and shows every other escape character.
func TestExecFormats(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.OpenShell()
	const cmd = `printf '\\033[31mred\\033[0m\\r\\t\\033[2Jx\\n'`
	for _, tt := range []struct{ format, want, sanitized string }{
		{"raw", "\x1b[31mred\x1b[0m\r\t\x1b[2Jx\n", ""},
		{"clean", "red\r\t\\x1b[2Jx\n", `{"escapes":1}`},
	} {
		r := l.OK(mcptest.ExecTool, `{"session_id":"$S","lane":"channel","cmd":"`+cmd+`","format":"`+tt.format+`"}`)
		if r.Stdout != tt.want || string(r.Members["sanitized"]) != tt.sanitized {
			t.Errorf("exec with format %s = %s; want stdout %q, sanitized %q", tt.format, r.Text, tt.want, tt.sanitized)
		}
		r = l.OK(mcptest.ExecTool, `{"session_id":"$S","lane":"channel","cmd":"`+cmd+`; seq 99999","format":"`+tt.format+`"}`)
		id := r.ExecID
		r = l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","exec_id":"`+id+`","cursor":"2","max_bytes":18,"format":"`+tt.format+`"}`)
		if want := map[string]string{"raw": "31mred\x1b[0m\r\t\x1b[2Jx\n", "clean": "red\r\t\\x1b[2Jx\n"}[tt.format]; r.Chunk != want {
			t.Errorf("a read from within a sequence, format %s = %s; want %q", tt.format, r.Text, want)
		}
		r = l.OK(mcptest.IOTool, `{"action":"search","session_id":"$S","exec_id":"`+id+`","pattern":"^red","format":"`+tt.format+`"}`)
		if want := map[string]string{"raw": "0", "clean": "1"}[tt.format]; string(r.Members["matches"]) != want {
			t.Errorf("search in the output of a command, format %s = %s; want %s matches", tt.format, r.Text, want)
		}
	}
}
