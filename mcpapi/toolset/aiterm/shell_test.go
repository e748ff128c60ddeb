package aiterm_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/toolset/aiterm"
	"ptyctl/session"
	"ptyctl/term"
)

// A program to its end: exit code, streams, input, folder, usage.
func TestShellRun(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{})
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := l.ok(
		"shell_run",
		`{"argv":["sh","-c","pwd; cat; echo oops >&2; exit 7"],"cwd":"`+dir+`",`+path+`,"stdin":"`+b64("in\x00\xff")+`"}`,
	)
	if *r.RC != 7 || string(r.Stdout) != dir+"\nin\x00\xff" || string(r.Stderr) != "oops\n" || r.StdoutTruncated ||
		r.StderrTruncated ||
		r.Cwd != dir ||
		r.Usage == nil ||
		r.Usage.MaxRSSKB == 0 ||
		r.Signal != "" {
		t.Errorf("%s", r.text)
	}
	r = l.ok("shell_run", `{"argv":["sh","-c","kill -TERM $$"],`+path+`}`)
	if *r.RC != 143 || r.Signal != "TERM" || !strings.Contains(r.text, `"stdout":"","stderr":""`) {
		t.Errorf("ended by a signal: %s", r.text)
	}
	// What looks like a command line is an argument.
	if r = l.ok("shell_run", `{"argv":["printf","%s|","a b","$HOME","*","; exit 9"],"cwd":null,"env":null,"timeout_ms":null}`); string(
		r.Stdout,
	) != "a b|$HOME|*|; exit 9|" {
		t.Errorf("arguments: %s", r.text)
	}
	if all := l.manager.List(); len(all) != 0 {
		t.Errorf("sessions are left: %+v", all)
	}
}

// A program has the variables that it is given, and no other; their values are told to nobody else.
func TestEnvironment(t *testing.T) {
	t.Setenv("AITERM_OWN", "1")
	value := leaktest.Secret(t, "v4lue-of-a-variable-1138")
	l := newLab(t, mcpapi.Options{}, session.Config{})
	if r := l.ok("shell_run", `{"argv":["env"]}`); len(r.Stdout) != 0 {
		t.Errorf("without env: %q", r.Stdout)
	}
	if r := l.ok("shell_run", `{"argv":["env"],"env":{"ZED":"1","PATH":"/usr/bin:/bin","EMPTY":""}}`); string(
		r.Stdout,
	) != "EMPTY=\nPATH=/usr/bin:/bin\nZED=1\n" {
		t.Errorf("with env: %q", r.Stdout)
	}
	id := l.ok("pty_open", `{"argv":["env"]}`).ID
	if got := l.rest(id, 0); got != "" {
		t.Errorf("on a terminal: %q", got)
	}
	// The value reaches the program, and is in no event. (What a program prints, its reader sees: this one counts it.)
	secret := `{"argv":["sh","-c","printf %s \"${#MY_TOKEN}\""],"env":{"MY_TOKEN":"` + value + `","PATH":"/usr/bin:/bin"}}`
	if r := l.ok("shell_run", secret); string(r.Stdout) != itoa(uint64(len(value))) {
		t.Errorf("the value did not come: %s", r.text)
	}
	named := false
	for _, e := range l.seen.list() {
		leaktest.Output(t, "event", e.Detail+e.Command+e.Actor.Call)
		named = named || e.Verb == term.VerbOpen && strings.Contains(e.Detail, "env MY_TOKEN,PATH")
	}
	if !named {
		t.Error("the names of the variables are not on record")
	}
}

// The time of a program ends it, and what it has put out is in the failure.
func TestShellTimeout(t *testing.T) {
	l := newLab(t, mcpapi.Options{MaxWait: 2 * time.Second}, session.Config{})
	r := l.fails(
		"shell_run",
		`{"argv":["sh","-c","trap 'echo bye; exit 9' TERM; echo up; while :; do sleep 0.01; done"],`+path+`,"timeout_ms":300}`,
		aiterm.ETimeout,
		"300ms",
		"timeout_ms",
		"pty_open",
	)
	if d := r.Details.Result; d == nil || *d.RC != 9 || string(d.Stdout) != "up\nbye\n" || !r.Details.Retryable {
		t.Errorf("obeys: %s", r.text)
	}
	r = l.fails(
		"shell_run",
		`{"argv":["sh","-c","trap '' TERM; echo up; while :; do sleep 0.01; done"],`+path+`,"timeout_ms":3600000}`,
		aiterm.ETimeout,
		"2s",
		"2000",
	)
	if d := r.Details.Result; d == nil || *d.RC != 137 || d.Signal != "KILL" || string(d.Stdout) != "up\n" ||
		len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "timeout_ms was lowered to 2000 (limits.max_wait_ms)") {
		t.Errorf("ignores, and asked for too much: %s", r.text)
	}
	if all := l.manager.List(); len(all) != 0 {
		t.Errorf("sessions are left: %+v", all)
	}
}

// Output beyond the limit is cut, and says so; nothing of it is kept.
func TestShellCaps(t *testing.T) {
	l := newLab(t, mcpapi.Options{MaxReadBytes: 1000}, session.Config{})
	r := l.ok("shell_run", `{"argv":["sh","-c","seq 20000; echo short >&2"],`+path+`}`)
	text := string(r.Stdout)
	if *r.RC != 0 || !r.StdoutTruncated || r.StderrTruncated || len(text) > 1000 || r.StdoutOmitted == nil ||
		int64(len(text))+r.StdoutOmitted.Bytes != 108894 ||
		!strings.HasPrefix(text, "1\n2\n3\n") ||
		!strings.HasSuffix(text, "\n19999\n20000\n") ||
		!strings.HasPrefix("1\n2\n3\n", text[:6]) ||
		r.StdoutOmitted.At >= len(text) {
		t.Errorf("%s", r.text)
	}
	if all := l.manager.List(); len(all) != 0 || l.manager.Buffered() != 0 {
		t.Errorf("left: %d bytes, %+v", l.manager.Buffered(), all)
	}
}

// A call that is canceled ends its program: nobody could ask for it any more.
func TestShellCanceled(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error)
	go func() {
		_, err := l.try(ctx, "shell_run", `{"argv":["sleep","1000"]}`)
		over <- err
	}()
	for len(l.manager.List()) == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-over; err == nil {
		t.Error("the canceled call has an answer")
	}
	deadline := time.Now().Add(10 * time.Second)
	for len(l.manager.List()) != 0 {
		if time.Now().After(deadline) {
			t.Fatalf("left: %+v", l.manager.List())
		}
		time.Sleep(time.Millisecond)
	}
}

// An operator's limit that a program has met is a failure of its own.
func TestShellLimit(t *testing.T) {
	fake := func(_ context.Context, t term.Target, _ term.Prompter, _ term.Approve) (term.Transport, error) {
		exit := term.Exit{Started: true, Known: true, Code: 152, Signal: "XCPU", Limit: "cpu_s"}
		if t.Local.Argv[0] == "fork" {
			exit = term.Exit{Started: true, Known: true, Limit: "processes"}
		}
		return limited{make(chan struct{}), exit}, nil
	}
	l := newLab(t, mcpapi.Options{}, session.Config{Dialers: map[string]term.Dialer{"local": fake}})
	if r := l.fails("shell_run", `{"argv":["burn"]}`, aiterm.ERLimit, "cpu_s", "[local]"); r.Details.Limit != "cpu_s" ||
		*r.Details.Result.RC != 152 {
		t.Errorf("%s", r.text)
	}
	if r := l.ok("shell_run", `{"argv":["fork"]}`); *r.RC != 0 || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "processes") {
		t.Errorf("one that went on: %s", r.text)
	}
}
