package aiterm_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/toolset/aiterm"
	"ptyctl/session"
	"ptyctl/term"
)

// shell_run returns exit code, streams, folder and usage of a program.
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
		r.Signal != "" {
		t.Errorf("shell_run = %s, want its rc, streams, folder and usage", r.text)
	}
	r = l.ok("shell_run", `{"argv":["sh","-c","kill -TERM $$"],`+path+`}`)
	if *r.RC != 143 || r.Signal != "TERM" || !strings.Contains(r.text, `"stdout":"","stderr":""`) {
		t.Errorf("shell_run of a program that TERM ends = %s, want rc 143 and no output", r.text)
	}
	// Text that looks like a command line is an argument.
	r = l.ok("shell_run",
		`{"argv":["printf","%s|","a b","$HOME","*","; exit 9"],"cwd":null,"env":null,"timeout_ms":null}`)
	if got, want := string(r.Stdout), "a b|$HOME|*|; exit 9|"; got != want {
		t.Errorf("arguments of the program = %q, want %q", got, want)
	}
	if all := l.manager.List(); len(all) != 0 {
		t.Errorf("sessions after shell_run = %+v, want none", all)
	}
}

// A program gets only the variables of its call. Their values must not appear anywhere
// else.
func TestEnvironment(t *testing.T) {
	t.Setenv("AITERM_OWN", "1")
	value := leaktest.Secret(t, "v4lue-of-a-variable-1138")
	l := newLab(t, mcpapi.Options{}, session.Config{})
	if r := l.ok("shell_run", `{"argv":["env"]}`); len(r.Stdout) != 0 {
		t.Errorf("environment without env = %q, want none", r.Stdout)
	}
	r := l.ok("shell_run", `{"argv":["env"],"env":{"ZED":"1","PATH":"/usr/bin:/bin","EMPTY":""}}`)
	if got, want := string(r.Stdout), "EMPTY=\nPATH=/usr/bin:/bin\nZED=1\n"; got != want {
		t.Errorf("environment = %q, want %q", got, want)
	}
	id := l.ok("pty_open", `{"argv":["env"]}`).ID
	if got := l.rest(id, 0); got != "" {
		t.Errorf("environment on a terminal = %q, want none", got)
	}
	// The value reaches the program but no event. The program prints only its length,
	// because a reader sees all output.
	secret := `{"argv":["sh","-c","printf %s \"${#MY_TOKEN}\""],"env":{"MY_TOKEN":"` + value + `","PATH":"/usr/bin:/bin"}}`
	if r := l.ok("shell_run", secret); string(r.Stdout) != itoa(uint64(len(value))) {
		t.Errorf("length of the variable = %s, want %d", r.text, len(value))
	}
	named := false
	for _, e := range l.seen.list() {
		leaktest.Output(t, "event", e.Detail+e.Command+e.Actor.Call)
		named = named || e.Verb == term.VerbOpen && strings.Contains(e.Detail, "env MY_TOKEN,PATH")
	}
	if !named {
		t.Error("no event names the variables, want env MY_TOKEN,PATH")
	}
}

// A program that exceeds its timeout is stopped. The failure has its output.
func TestShellTimeout(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{})
	var r reply
	for limit := 300 * time.Millisecond; limit < 10*time.Second; limit *= 2 { // until it has the time to say that it runs
		r = l.fails(
			"shell_run",
			fmt.Sprintf(`{"argv":["sh","-c","trap 'echo bye; exit 9' TERM; echo up; while :; do sleep 0.01; done"],`+path+
				`,"timeout_ms":%d}`, limit.Milliseconds()),
			aiterm.ETimeout,
			limit.String(),
			"timeout_ms",
			"pty_open",
		)
		if d := r.Details.Result; d == nil || len(d.Stdout) > 0 {
			break
		}
	}
	if d := r.Details.Result; d == nil || *d.RC != 9 || string(d.Stdout) != "up\nbye\n" || !r.Details.Retryable {
		t.Errorf("program that obeys TERM = %s, want rc 9 and its output", r.text)
	}
	l = newLab(t, mcpapi.Options{Limits: toolset.Limits{MaxWait: 2 * time.Second}}, session.Config{})
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
		t.Errorf("program that ignores TERM = %s, want rc 137, its output and a warning", r.text)
	}
	if all := l.manager.List(); len(all) != 0 {
		t.Errorf("sessions after the timeouts = %+v, want none", all)
	}
}

// Output beyond the limit is cut in the middle and reported. Nothing is kept after the
// call.
func TestShellCaps(t *testing.T) {
	l := newLab(t, mcpapi.Options{Limits: toolset.Limits{MaxReadBytes: 1000}}, session.Config{})
	r := l.ok("shell_run", `{"argv":["sh","-c","seq 20000; echo short >&2"],`+path+`}`)
	text := string(r.Stdout)
	if *r.RC != 0 || !r.StdoutTruncated || r.StderrTruncated || len(text) > 1000 || r.StdoutOmitted == nil ||
		int64(len(text))+r.StdoutOmitted.Bytes != 108894 ||
		!strings.HasPrefix(text, "1\n2\n3\n") ||
		!strings.HasSuffix(text, "\n19999\n20000\n") ||
		!strings.HasPrefix("1\n2\n3\n", text[:6]) ||
		r.StdoutOmitted.At >= len(text) {
		t.Errorf("shell_run of seq 20000 = %s, want the first and the last lines", r.text)
	}
	if all := l.manager.List(); len(all) != 0 || l.manager.Buffered() != 0 {
		t.Errorf("after shell_run %d bytes and %+v are kept, want none", l.manager.Buffered(), all)
	}
}

// The program of a canceled call is ended, because no client could ask for its result.
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
		t.Error("canceled call returned an answer, want an error")
	}
	deadline := time.Now().Add(10 * time.Second)
	for len(l.manager.List()) != 0 {
		if time.Now().After(deadline) {
			t.Fatalf("sessions after the cancellation = %+v, want none", l.manager.List())
		}
		time.Sleep(time.Millisecond)
	}
}

// A program that reaches a limit of the operator is a failure with its own code.
func TestShellLimit(t *testing.T) {
	fake := func(_ context.Context, t term.Target, _ term.Prompter, _ term.Approve) (term.Transport, error) {
		exit := term.Exit{Started: true, Known: true, Code: 152, Signal: "XCPU", Limit: term.LimitCPU}
		if t.Local.Argv[0] == "fork" {
			exit = term.Exit{Started: true, Known: true, Limit: "processes"}
		}
		return limited{make(chan struct{}), exit}, nil
	}
	l := newLab(t, mcpapi.Options{}, session.Config{Dialers: map[string]term.Dialer{"local": fake}})
	if r := l.fails("shell_run", `{"argv":["burn"]}`, aiterm.ERLimit, "cpu_s", "[local]"); r.Details.Limit != "cpu_s" ||
		*r.Details.Result.RC != 152 {
		t.Errorf("shell_run of burn = %s, want the limit cpu_s and rc 152", r.text)
	}
	if r := l.ok("shell_run", `{"argv":["fork"]}`); *r.RC != 0 || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "processes") {
		t.Errorf("shell_run of fork = %s, want rc 0 and a warning", r.text)
	}
}
