package tools_test

import (
	"strings"
	"sync"
	"testing"

	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/term"
)

// Once something is typed, auto means the terminal: its directory is seen, and the result says which lane it was.
func TestExecInTheTerminal(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.OpenShell()
	l.OK(
		mcptest.IOTool,
		`{"action":"write","session_id":"$S","data":"cd /usr; PS1='r@h:/$ '\r","until_idle_ms":200,"timeout_ms":5000}`,
	)
	r := l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"pwd; sh -c 'exit 7'","class":"posix"}`)
	if r.ExecLane != "terminal" || r.DoneReason != "marker_seen" || r.ExitCode == nil || *r.ExitCode != 7 ||
		r.Stdout != "/usr\n" ||
		r.Members["stderr_merged"] == nil {
		t.Errorf("exec of pwd and exit 7 after cd /usr: %s; want terminal lane, code 7, stdout /usr, stderr_merged", r.Text)
	}
	r = l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"pwd","lane":"channel","cwd":"/tmp"}`)
	if r.ExecLane != "channel" || r.Stdout != "/tmp\n" {
		t.Errorf("exec of pwd with cwd /tmp: %s; want channel lane, stdout /tmp", r.Text)
	}
	// A marker of the caller's own.
	r = l.OK(
		mcptest.ExecTool,
		`{"session_id":"$S","cmd":"(exit 3)","class":"posix","rc_mode":{"marker_prefix":"<<","marker_suffix":">>"}}`,
	)
	if r.ExitCode == nil || *r.ExitCode != 3 {
		t.Errorf("exec of (exit 3) with a caller's marker: %s; want exit code 3", r.Text)
	}
	// A question is returned at once; the answer is typed, and the command goes on.
	r = l.OK(
		mcptest.ExecTool,
		`{"session_id":"$S","cmd":"printf 'Password: '; read x; echo got $x","class":"posix","timeout_ms":20000}`,
	)
	if r.DoneReason != "running" || r.ExecID == "" ||
		!strings.Contains(string(r.Members["waiting_for"]), `"kind":"password"`) {
		t.Fatalf("exec of a command that asks: %s; want it running, waiting for a password", r.Text)
	}
	l.Fails(mcptest.ExecTool, `{"session_id":"$S","cmd":"id","class":"posix"}`, term.Busy, r.ExecID)
	l.Fails(
		mcptest.ExecTool,
		`{"session_id":"$S","cmd":"id","class":"posix","queue":true,"timeout_ms":100}`,
		term.ExecTimeout,
		r.ExecID,
		"nothing was typed",
	)
	var behind sync.WaitGroup
	behind.Go(func() {
		if r := l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"echo behind","queue":true}`); r.Stdout != "behind\n" ||
			r.ExecLane != "terminal" {
			t.Errorf("exec of echo behind with queue: %s; want stdout behind, terminal lane", r.Text)
		}
	})
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"s3cret-1138\r","sensitive":true}`)
	r = l.OK(mcptest.ExecTool, `{"session_id":"$S","exec_id":"`+r.ExecID+`"}`)
	if r.ExitCode == nil || *r.ExitCode != 0 ||
		!strings.HasSuffix(r.Stdout, "got ********\n") { // no echo shows a sensitive answer
		t.Errorf("exec after the sensitive answer: %s; want code 0 and the answer masked", r.Text)
	}
	behind.Wait()
}

func TestCleanText(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.OpenShell()
	l.OK(
		mcptest.IOTool,
		`{"action":"write","session_id":"$S","data":"printf '\\033[31mred\\033[0m \\033]0;title\\007end\\n'\r","until_regex":"^red end$","timeout_ms":5000}`,
	)
	r := l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"0"}`)
	if !strings.Contains(r.Chunk, "\nred end\n") || strings.ContainsRune(r.Chunk, 0x1b) ||
		!strings.Contains(string(r.Members["sanitized"]), `"osc":1`) {
		t.Errorf("clean read of a colored line with a title: %s; want \"red end\" and osc 1 sanitized", r.Text)
	}
	if raw := l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"0","format":"raw"}`); raw.NextCursor != r.NextCursor ||
		raw.Members["sanitized"] != nil || !strings.Contains(raw.Chunk, "\x1b[31mred\x1b[0m") {
		t.Errorf("cursors count raw bytes: %s, %s", raw.Text, r.Text)
	}
}

func TestSearchOverTheWire(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.OpenShell()
	l.OK(
		mcptest.IOTool,
		`{"action":"write","session_id":"$S","data":"seq 1 200; echo fi''nished\r","until_regex":"finished","timeout_ms":5000,"max_bytes":100000}`,
	)
	r := l.OK(mcptest.IOTool, `{"action":"search","session_id":"$S","pattern":"^1[0-9]0$","context":1,"max_matches":3}`)
	lines := string(r.Members["lines"])
	if string(r.Members["matches"]) != "3" || string(r.Members["more"]) != "true" ||
		!strings.Contains(lines, `"text":"100","match":true`) ||
		!strings.Contains(lines, `"text":"121"`) {
		t.Fatalf("search ^1[0-9]0$ in seq 1 200: %s; want 3 matches, 100 to 121 shown, more true", r.Text)
	}
	r = l.OK(mcptest.IOTool, `{"action":"search","session_id":"$S","pattern":"^1[0-9]0$","cursor":"`+r.NextCursor+`"}`)
	if !strings.Contains(string(r.Members["lines"]), `"text":"130"`) ||
		strings.Contains(string(r.Members["lines"]), `"text":"120"`) {
		t.Errorf("the rest: %s", r.Text)
	}
	l.Fails(mcptest.IOTool, `{"action":"search","session_id":"$S","pattern":"("}`, term.InvalidArgument, "pattern")
}

// A retry with the same request_id types nothing twice.
func TestRequestID(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.OpenShell()
	const write = `{"action":"write","session_id":"$S","data":"echo once\r","request_id":"w1"}`
	first := l.OK(mcptest.IOTool, write)
	again := l.OK(mcptest.IOTool, write)
	if first.Text != again.Text {
		t.Errorf("%s\n%s", first.Text, again.Text)
	}
	if r := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`); r.Session.BytesOut != int64(
		len("echo once\r"),
	) {
		t.Errorf("%d bytes went out", r.Session.BytesOut)
	}
	l.Fails(
		mcptest.IOTool,
		`{"action":"write","session_id":"$S","data":"echo twice\r","request_id":"w1"}`,
		term.InvalidArgument,
		"request_id w1 was used before",
	)
	open := strings.Replace(l.OpenArgs(""), `{`, `{"request_id":"o1",`, 1)
	if a, b := l.OK(mcptest.SessionTool, open), l.OK(mcptest.SessionTool, open); a.SessionID != b.SessionID {
		t.Errorf("two sessions: %s, %s", a.SessionID, b.SessionID)
	}
}

// An open with a condition to wait for returns the first screenful, and the cursor behind it.
func TestOpenUntil(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	r := l.Open(`,"until_regex":"\\$ $","timeout_ms":20000`)
	if !r.Matched || r.Chunk != "$ " || r.NextCursor != "2" || r.State != "open" {
		t.Errorf("open until a pattern: %s", r.Text)
	}
	r = l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"echo a-$((1+1))\r","until_regex":"a-2","timeout_ms":20000}`)
	if !r.Matched {
		t.Errorf("a write after it: %s", r.Text)
	}
	if r = l.Open(`,"until_prompt":true,"timeout_ms":20000`); !r.Matched || r.Chunk != "$ " || len(r.Warnings) > 0 {
		t.Errorf("open until the prompt: %s", r.Text)
	}
	if r = l.Open(`,"until_regex":"login:","timeout_ms":1500`); r.Matched || !r.TimedOut || r.Chunk != "$ " || r.State != "open" {
		t.Errorf("open until what does not come: %s", r.Text)
	}
	if r = l.Open(""); r.Members["chunk"] != nil || r.Members["next_cursor"] != nil {
		t.Errorf("open without a condition: %s; want no output", r.Text)
	}
	// A console that is open already: its last line counts, and not the output before.
	const console = `,"session_type":"console","device_id":"d1","timeout_ms":1500,"until_regex":`
	r = l.Open(console + `"\\$ $","task_id":"t1","acquire_lock":true`)
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","task_id":"t1","data":"echo a-$((1+1))\r","until_regex":"a-2\\r?\\n\\$ $","timeout_ms":20000}`)
	if r = l.Open(console + `"\\$ $"`); !r.Matched || r.Chunk != "$ " || r.Existing != l.Session {
		t.Errorf("open of an open console: %s; want its last line", r.Text)
	}
	if r = l.Open(console + `"a-2"`); r.Matched {
		t.Errorf("open of an open console until what it has shown: %s", r.Text)
	}
	for _, tt := range [][3]string{
		{`,"timeout_ms":5`, "timeout_ms", "until_regex, until_prompt or until_screen"},
		{`,"until_regex":"("`, "until_regex", "RE2"},
		{`,"until_prompt":true,"session_type":"exec"`, "session_type", "no terminal"},
	} {
		if r := l.Fails(mcptest.SessionTool, l.OpenArgs(tt[0]), term.InvalidArgument, tt[2]); r.Details.Field != tt[1] {
			t.Errorf("open %s: field %q, want %q", tt[0], r.Details.Field, tt[1])
		}
	}
}

// A login that asks is returned at once, whatever the call waits for.
func TestOpenUntilAsks(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: mcptest.TwoQuestions})
	r := l.Open(`,"until_regex":"\\$ $","timeout_ms":50000`)
	if r.State != "authenticating" || r.Prompt == nil || r.Members["chunk"] != nil {
		t.Errorf("open until a pattern, with a login that asks: %s", r.Text)
	}
}
