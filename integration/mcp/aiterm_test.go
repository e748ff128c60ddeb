package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
)

// An aiterm is ptyctl with the tools of the set aiterm.
type aiterm struct {
	*lab.Client
	home *lab.Home
}

// An aitermResult holds the fields of the set's answers that the tests check.
type aitermResult struct {
	text string

	Code          string
	Message       string
	CorrelationID string `json:"correlation_id"`
	DurationMS    *int64 `json:"duration_ms"`
	Details       struct {
		Limit  string
		Rule   string
		Result *aitermResult
	}

	RC              *int
	Signal          string
	Stdout, Stderr  []byte
	StdoutTruncated bool `json:"stdout_truncated"`
	Cwd             string
	Usage           *struct {
		CPUMS int64 `json:"cpu_ms"`
	}
	ID           string
	BytesWritten int `json:"bytes_written"`
	Chunks       []struct {
		Seq    uint64
		Stream string
		Data   []byte
		TS     string
	}
	Closed, Truncated bool
	Version           string
	GoVersion         string `json:"go_version"`
	Data              []byte
	Bytes             int
	UptimeS           *int64 `json:"uptime_s"`
}

// connectAITerm starts ptyctl with nothing but the set, and lines of the configuration besides.
func connectAITerm(tb testing.TB, lines ...string) *aiterm {
	tb.Helper()
	return aitermOf(tb, lab.NewHome(tb, lines...))
}

func aitermOf(tb testing.TB, h *lab.Home) *aiterm {
	tb.Helper()
	return &aiterm{h.Connect(tb, "--toolsets", "aiterm"), h}
}

func (c *aiterm) try(tb testing.TB, tool, arguments string, values ...any) aitermResult {
	tb.Helper()
	for i, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			tb.Fatal(err)
		}
		values[i] = string(text)
	}
	arguments = fmt.Sprintf(arguments, values...)
	a, err := c.CallTool(tb.Context(), tool, json.RawMessage(arguments))
	if err != nil {
		tb.Fatalf("%s %s: %v", tool, arguments, err)
	}
	r := aitermResult{text: a.Content[0].Text}
	if err := json.Unmarshal([]byte(r.text), &r); err != nil {
		tb.Fatalf("%s %s: %v in %s", tool, arguments, err, r.text)
	}
	if a.IsError != (r.Code != "") || r.CorrelationID == "" || r.DurationMS == nil {
		tb.Fatalf("%s %s: isError is %v and the result %s", tool, arguments, a.IsError, r.text)
	}
	return r
}

func (c *aiterm) do(tb testing.TB, tool, arguments string, values ...any) aitermResult {
	tb.Helper()
	r := c.try(tb, tool, arguments, values...)
	if r.Code != "" {
		tb.Fatalf("%s %s: %s", tool, arguments, r.text)
	}
	return r
}

// follow reads the chunks after seq until their data end with end, or the program has.
func (c *aiterm) follow(tb testing.TB, id string, seq *uint64, end string) string {
	tb.Helper()
	var data strings.Builder
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		r := c.do(tb, "pty_read", `{"id":%s,"since_seq":%s,"timeout_ms":5000,"strip_ansi":true}`, id, *seq)
		for _, k := range r.Chunks {
			if k.Seq != *seq+1 || k.Stream != "stdout" || k.TS == "" {
				tb.Fatalf("chunk %d came after %d: %s", k.Seq, *seq, r.text)
			}
			*seq = k.Seq
			data.Write(k.Data)
		}
		if r.Closed || end != "" && strings.HasSuffix(data.String(), end) {
			return data.String()
		}
	}
	tb.Fatalf("want output that ends in %q, got %q", end, data.String())
	return ""
}

func (c *aiterm) send(tb testing.TB, id, text string) {
	tb.Helper()
	if r := c.do(
		tb, "pty_send", `{"id":%s,"data":%s}`, id, base64.StdEncoding.EncodeToString([]byte(text)),
	); r.BytesWritten != len(
		text,
	) {
		tb.Errorf("pty_send of %q = %s, want %d bytes written", text, r.text, len(text))
	}
}

// An interactive session of gdb, as a person would have it.
func TestAITermGDB(t *testing.T) {
	program := lab.CompileC(t)
	c := connectAITerm(t)
	id := c.do(
		t,
		"pty_open",
		`{"argv":["gdb","-q","-nx",%s],"cols":200,"env":{"PATH":"/usr/bin:/bin","TERM":"dumb","HOME":"/"}}`,
		program,
	).ID
	var seq uint64
	c.follow(t, id, &seq, "(gdb) ")
	for _, step := range []struct{ typed, shows string }{
		{"set pagination off", ""},
		{"break main", "Breakpoint 1 at 0x"},
		{"run wrong", "Breakpoint 1, main (argc=2"},
		{"info registers", "rip            0x"},
		{"x/i $rip", "=> 0x"},
		{"ni", ""},
		{"si", ""},
		{"break check", "Breakpoint 2 at 0x"},
		{"continue", "Breakpoint 2, check (word=0x"},
		{"bt", "#1  0x"},
		{"delete 1 2", ""},
		{"continue", "exited with code 07"},
	} {
		c.send(t, id, step.typed+"\r")
		if got := c.follow(t, id, &seq, "(gdb) "); !strings.Contains(got, step.shows) {
			t.Errorf("%s: %q, want %q in it", step.typed, got, step.shows)
		}
	}
	c.send(t, id, "quit\r")
	c.follow(t, id, &seq, "")
	if r := c.do(t, "pty_close", `{"id":%s}`, id); !lab.IsCode(r.RC, 0) {
		t.Errorf("pty_close after gdb's quit = %s, want rc 0", r.text)
	}
}

// shell_run and the whole life of a terminal, with the limits of the operator.
func TestAITermLifecycle(t *testing.T) {
	c := connectAITerm(
		t,
		"[limits]\nmax_wait_ms = 20000\nmax_read_bytes = 4096",
		"[local]\nmax_cpu_seconds = 1\nmax_open_files = 50",
	)
	r := c.do(t, "shell_run", `{"argv":["/bin/sh","-c","pwd; ulimit -n; cat; exit 7"],"cwd":"/usr","stdin":"aW5wdXQ="}`)
	if !lab.IsCode(r.RC, 7) || string(r.Stdout) != "/usr\n50\ninput" || r.Cwd != "/usr" || r.Usage == nil {
		t.Errorf("shell_run of pwd, ulimit, cat and exit 7 = %s, want rc 7 and stdout \"/usr\\n50\\ninput\"", r.text)
	}
	if r := c.do(t, "shell_run", `{"argv":["env"]}`); len(r.Stdout) != 0 {
		t.Errorf("the environment is %q", r.Stdout)
	}
	if r := c.do(t, "shell_run", `{"argv":["seq","5000"]}`); !r.StdoutTruncated || len(r.Stdout) > 4096 {
		t.Errorf("shell_run of seq 5000 = %s, want stdout cut to 4096 bytes", r.text)
	}
	if r := c.try(
		t, "shell_run", `{"argv":["/bin/sh","-c","echo up; exec sleep 1000"],"env":{"PATH":"/bin"},"timeout_ms":3000}`,
	); r.Code != "ETIMEOUT" ||
		string(r.Details.Result.Stdout) != "up\n" ||
		!lab.IsCode(r.Details.Result.RC, 143) {
		t.Errorf("shell_run of sleep with timeout_ms 3000 = %s, want ETIMEOUT, stdout \"up\\n\" and rc 143", r.text)
	}
	if r := c.try(t, "shell_run", `{"argv":["/bin/sh","-c","while :; do :; done"]}`); r.Code != "ERLIMIT" ||
		r.Details.Limit != "cpu_s" {
		t.Errorf("shell_run of an endless loop = %s, want ERLIMIT by cpu_s", r.text)
	}

	id := c.do(t, "pty_open", `{"argv":["/bin/sh"],"rows":20,"cols":90,"env":{"PATH":"/usr/bin:/bin","PS1":"> "}}`).ID
	var seq uint64
	c.follow(t, id, &seq, "> ")
	c.send(t, id, "stty size\r")
	if got := c.follow(t, id, &seq, "\n> "); !strings.Contains(got, "20 90\n") {
		t.Errorf("stty size = %q, want 20 90", got)
	}
	c.do(t, "pty_resize", `{"id":%s,"rows":41,"cols":121}`, id)
	// A child says it, so that the signal does not come while the shell starts one: dash then waits for its end.
	c.send(t, id, "stty size; sh -c 'echo sle\"\"eps; exec sleep 1000'\r")
	if got := c.follow(t, id, &seq, "sleeps\n"); !strings.Contains(got, "41 121\n") {
		t.Errorf("stty size after pty_resize = %q, want 41 121", got)
	}
	c.do(t, "pty_signal", `{"id":%s,"signal":"INT"}`, id)
	c.follow(t, id, &seq, "\n> ")
	c.send(t, id, "exit 3\r")
	c.follow(t, id, &seq, "")
	if r := c.do(t, "pty_close", `{"id":%s}`, id); !lab.IsCode(r.RC, 3) {
		t.Errorf("pty_close after exit 3 = %s, want rc 3", r.text)
	}
	if r := c.try(t, "pty_send", `{"id":%s,"data":""}`, id); r.Code != "ESESSIONCLOSED" {
		t.Errorf("pty_send to a closed terminal = %s, want ESESSIONCLOSED", r.text)
	}
	limited := c.do(t, "pty_open", `{"argv":["sleep","1000"],"timeout_ms":3000}`).ID
	seq = 0
	c.follow(t, limited, &seq, "")
	if lab.Runs(t, c.PID, "sleep 1000") {
		t.Error("sleep 1000 still runs after its timeout")
	}
	if h := c.do(t, "health_info", `{}`); h.Version == "" || !strings.HasPrefix(h.GoVersion, "go1.") || h.UptimeS == nil {
		t.Errorf("health_info = %s, want a version, a Go version and an uptime", h.text)
	}
}

// The audit log and the program's log must hold the names of variables, never their values, and the ids of the answers.
func TestAITermRecord(t *testing.T) {
	c := connectAITerm(t)
	value := leaktest.Secret(t, "only-for-the-program-1138")
	r := c.do(
		t,
		"shell_run",
		`{"argv":["/bin/sh","-c","test -n \"$API_KEY$MY_TOKEN$A_SECRET\""],"env":{"API_KEY":%s,"MY_TOKEN":%s,"A_SECRET":%s}}`,
		value,
		value,
		value,
	)
	id := c.do(t, "pty_open", `{"argv":["cat"],"env":{"API_KEY":%s}}`, value).ID
	closed := c.do(t, "pty_close", `{"id":%s}`, id)
	c.Session.Close()
	c.Finish()
	text := lab.CheckAudit(t, c.Audit)
	for _, part := range []string{
		"env API_KEY,A_SECRET,MY_TOKEN", `"correlation_id":"` + r.CorrelationID + `"`,
		`"correlation_id":"` + closed.CorrelationID + `"`, `"exit_code":0`,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the record lacks %s:\n%s", part, text)
		}
	}
	log := c.EngineLog() + c.Log.String() // a node logs the calls of its own clients
	if !strings.Contains(log, `"correlation_id": "`+r.CorrelationID+`"`) || !strings.Contains(log, `"session": "`+id+`"`) {
		t.Errorf("the log lacks the calls:\n%s", log)
	}
	for name, out := range map[string]string{"record": text, "log": log} {
		if strings.Contains(out, value) {
			t.Errorf("the %s has a value", name)
		}
	}
}

// The operator's rules hold here too: programs by their paths, and folders.
func TestAITermPolicy(t *testing.T) {
	c := connectAITerm(
		t,
		"[policy]\nprograms = ['/usr/bin/true', '/usr/bin/env', '/usr/bin/coreutils']\nwork_dirs = ['/usr']\ndeny = ['rm *']",
		"[local]\ninherit_env = ['PATH']",
	)
	if r := c.do(t, "shell_run", `{"argv":["env"],"cwd":"/usr"}`); string(r.Stdout) != "PATH=/usr/bin:/bin\n" {
		t.Errorf("environment from inherit_env: got %s, want PATH alone", r.text)
	}
	if r := c.try(t, "shell_run", `{"argv":["env"],"cwd":"/usr","env":{"PATH":"/tmp"}}`); r.Code != "EDENIED" {
		t.Errorf("a PATH of the caller's, where programs are ruled: %s", r.text)
	}
	if r := c.do(t, "shell_run", `{"argv":["true"],"cwd":"/usr"}`); !lab.IsCode(r.RC, 0) {
		t.Errorf("shell_run of true = %s, want rc 0", r.text)
	}
	for _, tool := range []string{"shell_run", "pty_open"} {
		for _, arguments := range []string{
			`{"argv":["sleep","1"],"cwd":"/usr"}`, `{"argv":["/bin/sleep","1"],"cwd":"/usr"}`, `{"argv":["true"],"cwd":"/"}`,
		} {
			if r := c.try(t, tool, arguments); r.Code != "EDENIED" || !strings.HasPrefix(r.Details.Rule, "policy.") {
				t.Errorf("%s %s: %s", tool, arguments, r.text)
			}
		}
	}
}

// The set is offered by name alone; people's commands work beside it.
func TestAITermCommands(t *testing.T) {
	names := func(c *lab.Client) (all []string) {
		list, err := c.Session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			all = append(all, tool.Name)
		}
		return all
	}
	if all := names(lab.ConnectLocal(t)); slices.Contains(all, "shell_run") || !slices.Contains(all, lab.ToolRun) {
		t.Errorf("unasked, the tools are %v", all)
	}
	if _, stderr, status := lab.NewHome(t).Run(t, "mcp", "--toolsets", "aiterm,pty"); status != 2 ||
		!strings.Contains(stderr, "pty_read") {
		t.Errorf("beside a set with a tool of the same name: %d %q", status, stderr)
	}
	h := lab.HomeFor(t, nil, "[server.control]\ncontrol_mode = 'readwrite'")
	c := aitermOf(t, h)
	if all := names(c.Client); !slices.Contains(all, "shell_run") || slices.Contains(all, lab.ToolSession) {
		t.Errorf("the tools are %v", all)
	}
	pid := strconv.Itoa(c.PID) // of two nodes the one that has the sessions
	stdout, stderr, status := h.Run(t, "call", "--config", h.Config, "--pid", pid, "shell_run", `{"argv":["echo","by hand"]}`)
	if status != 0 || stderr != "" || !strings.Contains(stdout, base64.StdEncoding.EncodeToString([]byte("by hand\n"))) {
		t.Errorf(
			"call shell_run of echo by hand: status %d, stdout %q, stderr %q; want 0, the output in base64 and no stderr",
			status, stdout, stderr,
		)
	}
	stdout, _, status = h.Run(t, "call", "--config", h.Config, "--pid", pid, "shell_run", `{"argv":["no-such-program"]}`)
	if status != 1 || !strings.Contains(stdout, `"code":"EBADARGS"`) {
		t.Errorf("call shell_run of no-such-program: status %d, stdout %q; want 1 and EBADARGS", status, stdout)
	}
	id := c.do(t, "pty_open", `{"argv":["/bin/sh","-c","echo for people; exec sleep 1000"],"env":{"PATH":"/bin"}}`).ID
	var seq uint64
	c.follow(t, id, &seq, "people\n")
	stdout, stderr, status = h.Run(t, "call", "--config", h.Config, "pty_read", `{"id":"`+id+`"}`)
	if status != 0 || !strings.Contains(stdout, base64.StdEncoding.EncodeToString([]byte("for people\r\n"))) {
		t.Errorf(
			"call pty_read of %s: status %d, stdout %q, stderr %q; want 0 and \"for people\\r\\n\" in base64",
			id, status, stdout, stderr,
		)
	}
	stdout, stderr, status = h.Run(t, "sessions", "--config", h.Config, "--pid", pid)
	if status != 0 || !strings.Contains(stdout, id) {
		t.Errorf("sessions: status %d, stdout %q, stderr %q; want 0 and %s", status, stdout, stderr, id)
	}
	stdout, stderr, status = h.Run(t, "tail", "--config", h.Config, id)
	if status != 0 || !strings.Contains(stdout, "for people") {
		t.Errorf("tail %s: status %d, stdout %q, stderr %q; want 0 and \"for people\"", id, status, stdout, stderr)
	}
	c.do(t, "pty_close", `{"id":%s}`, id)
}

// Files below the folders that the operator offers, and no others.
func TestAITermFiles(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := connectAITerm(t, "[fs]\nroots = ['"+dir+"']")
	if r := c.do(t, "fs_writeFile", `{"path":%s,"data":"aGVsbG8K","mode":"0600"}`, dir+"/greeting"); r.Bytes != 6 {
		t.Errorf("fs_writeFile of greeting = %s, want 6 bytes", r.text)
	}
	if r := c.do(t, "shell_run", `{"argv":["cat","greeting"],"cwd":%s}`, dir); string(r.Stdout) != "hello\n" {
		t.Errorf("shell_run of cat greeting = %s, want \"hello\\n\"", r.text)
	}
	if r := c.do(t, "fs_readFile", `{"path":%s}`, dir+"/greeting"); string(r.Data) != "hello\n" || r.Truncated {
		t.Errorf("fs_readFile of greeting = %s, want the whole of \"hello\\n\"", r.text)
	}
	if r := c.do(t, "fs_list", `{"path":%s}`, dir); !strings.Contains(
		r.text,
		`"entries":[{"name":"greeting","type":"file","mode":"0600","size":6}]`,
	) {
		t.Errorf("fs_list of %s = %s, want the file greeting alone", dir, r.text)
	}
	if r := c.try(t, "fs_readFile", `{"path":"/etc/passwd"}`); r.Code != "EDENIED" || r.Details.Rule != "fs.roots" {
		t.Errorf("fs_readFile of /etc/passwd = %s, want EDENIED by fs.roots", r.text)
	}
	if r := c.try(t, "fs_readFile", `{"path":%s}`, dir+"/none"); r.Code != "ENOTFOUND" {
		t.Errorf("fs_readFile of a missing file = %s, want ENOTFOUND", r.text)
	}
}
