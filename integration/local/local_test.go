package local

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/internal/lab"
)

// ptyctl_run must report a program's exit code, streams, folder, environment and usage, and the errors of a call.
func TestLocalRun(t *testing.T) {
	c := lab.ConnectLocal(t, "[local]\ninherit_env = ['GORACE']")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := c.Call(
		t,
		lab.ToolRun,
		`{"argv":["sh","-c","pwd; cat; echo oops >&2; exit 7"],"cwd":%s,"stdin":"in put","limits":{"cpu_s":10,"open_files":64}}`,
		dir,
	)
	if !lab.IsCode(r.ExitCode, 7) || r.Stdout != dir+"\nin put" || r.Stderr != "oops\n" || r.DoneReason != "exit_status" ||
		r.TimedOut ||
		r.Cwd != dir ||
		r.Usage == nil ||
		r.SessionID != "" ||
		r.ExecID != "" ||
		r.ExitSignal != "" {
		t.Errorf("run of pwd, cat and exit 7 = %s, want exit code 7, stdout %q and stderr \"oops\\n\"", r.Text,
			dir+"\nin put")
	}
	r = c.Call(t, lab.ToolRun, `{"argv":["sh","-c","kill -TERM $$"]}`)
	if !lab.IsCode(r.ExitCode, 143) || r.ExitSignal != "TERM" {
		t.Errorf("ended by a signal: %s", r.Text)
	}
	// The memory is that of a large program, and of a small one it is not known.
	r = c.Call(t, lab.ToolRun, `{"argv":["dd","if=/dev/zero","of=/dev/null","bs=256M","count=1"]}`)
	if r.Usage == nil || r.Usage.MaxRSSKB < 256<<10 || r.Usage.MaxRSSKB > 300<<10 {
		t.Errorf("dd with a buffer of 256 MiB: %s, want max_rss_kb of little more", r.Text)
	}
	r = c.Call(t, lab.ToolRun, `{"argv":["true"]}`)
	if r.Usage == nil || strings.Contains(r.Text, "max_rss_kb") {
		t.Errorf("true: %s, want no max_rss_kb, which would be ptyctl's", r.Text)
	}
	binary := "\x00\xff\xfe"
	r = c.Call(
		t,
		lab.ToolRun,
		`{"argv":["cat"],"stdin":%s,"stdin_encoding":"base64"}`,
		base64.StdEncoding.EncodeToString([]byte(binary)),
	)
	if r.StdoutEncoding != "base64" || r.Stdout != base64.StdEncoding.EncodeToString([]byte(binary)) {
		t.Errorf("bytes that are no text: %s", r.Text)
	}
	// No shell runs the program: an argument may look like a command line.
	r = c.Call(t, lab.ToolRun, `{"argv":["printf","%%s|","a b","$HOME","*","; exit 9"]}`)
	if r.Stdout != "a b|$HOME|*|; exit 9|" {
		t.Errorf("arguments: %s", r.Text)
	}
	r = c.Call(t, lab.ToolRun, `{"argv":["env"],"env":["MINE=1","LANG=C"]}`)
	var names []string
	for line := range strings.Lines(r.Stdout) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	if got, want := strings.Join(names, " "), "GORACE HOME LANG MINE PATH TERM USER"; got != want ||
		!strings.Contains(r.Stdout, "LANG=C\n") {
		t.Errorf("the environment is %q, want the names %s", r.Stdout, want)
	}
	for _, wrong := range []struct{ args, field, part string }{
		{`{"argv":[]}`, "argv", "empty"},
		{`{"argv":["ls -l"]}`, "argv[0]", "sh"},
		{`{"argv":["/no/such"]}`, "argv[0]", "no such file"},
		{`{"argv":["true"],"cwd":"/no/such"}`, "cwd", "no such file"},
		{`{"argv":["true"],"env":["x"]}`, "env[0]", "NAME=value"},
		{`{"argv":["true"],"stdin":"?","stdin_encoding":"base64"}`, "stdin", "base64"},
		{`{"argv":["true"],"shell":true}`, "shell", "unknown"},
		{`{"argv":["true"],"limits":{"memory_bytes":1}}`, "limits.memory_bytes", "1048576"},
	} {
		if r := c.Refused(t, "INVALID_ARGUMENT", lab.ToolRun, wrong.args); r.Details.Field != wrong.field ||
			!strings.Contains(r.Message, wrong.part) {
			t.Errorf("%s: %s", wrong.args, r.Text)
		}
	}
	if r := c.Call(t, lab.ToolSession, `{"action":"list"}`); len(r.Sessions) != 0 {
		t.Errorf("sessions are left: %s", r.Text)
	}
}

// The timeout must end a program, by TERM and then by KILL, and return its output so far. The end of the longest wait
// for a call must not end it.
func TestLocalRunTimeouts(t *testing.T) {
	c := lab.ConnectLocal(t, "[limits]\nmax_wait_ms = 3000")
	r := c.Call(
		t,
		lab.ToolRun,
		`{"argv":["sh","-c","trap 'echo bye; exit 9' TERM; echo up; while :; do sleep 0.01; done"],"timeout_ms":300}`,
	)
	if !r.TimedOut || r.DoneReason != "timeout" || !lab.IsCode(r.ExitCode, 9) || r.Stdout != "up\nbye\n" ||
		r.Killed != "yes" {
		t.Errorf("obeys: %s", r.Text)
	}
	r = c.Call(
		t,
		lab.ToolRun,
		`{"argv":["sh","-c","trap '' TERM; echo up; while :; do sleep 0.01; done"],"timeout_ms":300,"grace_ms":200}`,
	)
	if !r.TimedOut || !lab.IsCode(r.ExitCode, 137) || r.ExitSignal != "KILL" || r.Stdout != "up\n" || r.DurationMS < 500 {
		t.Errorf("ignores: %s", r.Text)
	}
	r = c.Call(t, lab.ToolRun, `{"argv":["sh","-c","echo up; sleep 4; echo done; exit 3"],"title":"slow"}`)
	if r.DoneReason != "running" || r.TimedOut || r.ExitCode != nil || r.Stdout != "up\n" || r.SessionID == "" ||
		r.ExecID == "" {
		t.Fatalf("runs on: %s", r.Text)
	}
	l := c.Call(t, lab.ToolSession, `{"action":"list","protocol":"local","state":"open"}`)
	if len(l.Sessions) != 1 || l.Sessions[0].Title != "slow" || l.Sessions[0].PID < 2 || l.Sessions[0].Argv[0] != "sh" {
		t.Errorf("the list while it runs: %s", l.Text)
	}
	e := c.Call(t, lab.ToolExec, `{"session_id":%s,"exec_id":%s}`, r.SessionID, r.ExecID)
	if !lab.IsCode(e.ExitCode, 3) || e.Stdout != "done\n" || e.DoneReason != "exit_status" {
		t.Errorf("gone on with: %s", e.Text)
	}
	r = c.Call(t, lab.ToolRun, `{"argv":["sh","-c","echo up; sleep 1000"]}`)
	if closed := c.Call(t, lab.ToolSession, `{"action":"close","session_id":%s}`, r.SessionID); closed.State != "closed" {
		t.Errorf("closed while it runs: %s", closed.Text)
	}
	if lab.Runs(t, c.PID, "sleep 1000") {
		t.Error("sleep 1000 still runs after close")
	}
	r = c.Call(t, lab.ToolRun, `{"argv":["sh","-c","sleep 1000"]}`)
	e = c.Call(t, lab.ToolExec, `{"session_id":%s,"exec_id":%s,"cancel":true}`, r.SessionID, r.ExecID)
	if e.ExitCodeReason == "" && !lab.IsCode(e.ExitCode, 143) {
		t.Errorf("canceled: %s", e.Text)
	}
}

// Output beyond the budget is cut in the middle, and the middle can be read.
func TestLocalRunCaps(t *testing.T) {
	c := lab.ConnectLocal(t)
	r := c.Call(t, lab.ToolRun, `{"argv":["seq","20000"],"max_output_bytes":1000}`)
	if !lab.IsCode(r.ExitCode, 0) || !r.Truncated || r.StdoutBytes != 108894 || len(r.Stdout) > 1100 ||
		!strings.HasPrefix(r.Stdout, "1\n2\n3\n") ||
		!strings.HasSuffix(r.Stdout, "\n19999\n20000\n") ||
		r.StdoutOmitted == nil ||
		r.SessionID == "" {
		t.Fatalf(
			"run of seq 20000 with max_output_bytes 1000 = %s, want 108894 bytes cut in the middle", lab.Tail(r.Text, 2000),
		)
	}
	whole := r.Stdout[:r.StdoutOmitted.At]
	for cursor, left := r.StdoutOmitted.Cursor, r.StdoutOmitted.Bytes; left > 0; {
		m := c.Call(
			t,
			lab.ToolIO,
			`{"action":"read","session_id":%s,"exec_id":%s,"stream":"stdout","cursor":%s,"max_bytes":50000}`,
			r.SessionID,
			r.ExecID,
			cursor,
		)
		if m.Chunk == "" || m.DroppedBytes != 0 {
			t.Fatalf("the middle: %s", lab.Tail(m.Text, 500))
		}
		chunk := m.Chunk[:min(int64(len(m.Chunk)), left)]
		whole, left, cursor = whole+chunk, left-int64(len(chunk)), m.NextCursor
	}
	whole += r.Stdout[len(r.Stdout)-500:]
	var want strings.Builder
	for i := range 20000 {
		fmt.Fprintln(&want, i+1)
	}
	if !strings.HasSuffix(want.String(), whole[len(whole)-1000:]) || !strings.HasPrefix(want.String(), whole[:100000]) {
		t.Errorf("head, middle and tail together differ from the output of seq 20000")
	}
	c.Refused(t, "ALREADY_CLOSED", lab.ToolExec, `{"session_id":%s,"cmd":"true"}`, r.SessionID)
}

// Each limit must stop a program and a session that exceed it, and the result must say so.
func TestLocalLimits(t *testing.T) {
	c := lab.ConnectLocal(t, "[local]\nmax_open_files = 60")
	for _, l := range []struct {
		name, args, limit, suspected string
		code                         int
	}{
		{"a loop", `{"argv":["sh","-c","while :; do :; done"],"limits":{"cpu_s":1},"timeout_ms":30000}`, "cpu_s", "", 152},
		{"a memory hog", `{"argv":["/usr/bin/python3","-c","x=[]\nwhile True: x.append(bytearray(10<<20))"],"limits":{"memory_bytes":300000000},"timeout_ms":30000}`, "", "memory_bytes", 1},
		{"a fork bomb", `{"argv":["/usr/bin/python3","-c","import os\nwhile True: os.fork()"],"limits":{"processes":20},"timeout_ms":30000}`, "processes", "", 1},
	} {
		r := c.Call(t, lab.ToolRun, l.args)
		if !lab.IsCode(r.ExitCode, l.code) || r.LimitExceeded != l.limit ||
			l.suspected != "" && !slices.Contains(r.Suspected, l.suspected) ||
			r.TimedOut {
			t.Errorf("%s: %s", l.name, lab.Tail(r.Text, 1000))
		}
	}
	r := c.Call(t, lab.ToolRun, `{"argv":["sh","-c","ulimit -n"],"limits":{"open_files":1000}}`)
	if r.Stdout != "60\n" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "local.max_open_files") {
		t.Errorf("more than the operator allows: %s", r.Text)
	}
	id := c.OpenLocal(t, []string{"sh", "-c", "while :; do :; done"}, `,"limits":{"cpu_s":1}`)
	c.AwaitEnd(t, id)
	s := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id).Session
	if s.LimitExceeded != "cpu_s" || !lab.IsCode(s.ExitCode, 152) || !strings.Contains(s.EndReason, "its limit of cpu") {
		t.Errorf("status: %+v", s)
	}
	c.Close(t, id)
}

// The operator names the files that programs may change. A program must not be able to write elsewhere.
func TestLocalSandbox(t *testing.T) {
	inside, outside := t.TempDir(), t.TempDir()
	c := lab.ConnectLocal(t, "[local]\nwrite_paths = ['"+inside+"']")
	r := c.Call(
		t,
		lab.ToolRun,
		`{"argv":["sh","-c",%s],"cwd":%s}`,
		"echo x > here; echo x > "+outside+"/there; touch "+outside+"/there2; ls "+outside,
		inside,
	)
	if !lab.IsCode(r.ExitCode, 0) || r.Stdout != "" || !strings.Contains(r.Stderr, "Permission denied") {
		t.Errorf("a program without a terminal: %s", r.Text)
	}
	id := c.OpenLocal(
		t,
		[]string{"sh", "-c", "cd " + inside + "; echo x > here2 && ! echo x > " + outside + "/there3"},
		"",
	)
	if r := c.AwaitEnd(t, id); !strings.Contains(r.Chunk, "ermission denied") {
		t.Errorf("a program on a terminal: %s", r.Text)
	}
	in, err := os.ReadDir(inside)
	out, outErr := os.ReadDir(outside)
	if err != nil || outErr != nil || len(in) != 2 || len(out) != 0 {
		t.Errorf("inside there are %v, outside %v (%v, %v)", in, out, err, outErr)
	}
}

// The life of a terminal: open, type, read, resize, signal, end, and the answers after the end.
func TestLocalTerminal(t *testing.T) {
	c := lab.ConnectLocal(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	id := c.OpenLocal(
		t,
		[]string{"bash", "--norc", "-i"},
		`,"cwd":%s,"env":["PS1=READY> ","X=a b"],"title":"a shell","pty":{"cols":93,"rows":17}`,
		dir,
	)
	c.Expect(t, id, `READY> $`)
	r := c.Enter(t, id, "stty size; pwd; echo \"$X\" $TERM\r", `a b xterm-256color\n`)
	if !strings.Contains(r.Chunk, "17 93\n"+dir+"\n") {
		t.Errorf("it is %q", r.Chunk)
	}
	c.Call(t, lab.ToolConfig, `{"action":"resize","session_id":%s,"cols":101,"rows":31}`, id)
	c.Enter(t, id, "stty size\r", `31 101\n`)
	c.Enter(t, id, "sh -c 'echo on''ce; exec sleep 1000'\r", `once\n`)
	c.Call(t, lab.ToolSession, `{"action":"signal","session_id":%s,"signal":"INT"}`, id)
	c.Enter(t, id, "echo rc=$?\r", `rc=130\n`)

	e := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"cd /; sh -c 'echo here; exit 6'"}`, id)
	if !lab.IsCode(e.ExitCode, 6) || e.Stdout != "here\n" || e.ExecLane != "terminal" || e.DoneReason != "marker_seen" {
		t.Errorf("exec: %s", e.Text)
	}
	if e := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"pwd"}`, id); e.Stdout != "/\n" {
		t.Errorf("exec after cd: %s", e.Text)
	}
	e = c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo begun; sleep 1000","timeout_ms":700}`, id)
	if !e.TimedOut || e.ExitCode != nil || !strings.HasPrefix(e.Stdout, "begun\n") {
		t.Errorf("a command that takes too long: %s", e.Text)
	}
	c.Refused(t, "UNSUPPORTED", lab.ToolExec, `{"session_id":%s,"cmd":"true","lane":"channel"}`, id)
	c.Expect(t, id, `READY> $`)
	time.Sleep(1500 * time.Millisecond) // for ctrl_backslash
	e = c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo last; exit 5"}`, id)
	if !lab.IsCode(e.ExitCode, 5) || !strings.HasPrefix(e.Stdout, "last\n") || e.DoneReason != "eof" {
		t.Errorf("a command that ends the shell: %s", e.Text)
	}

	// It has ended, and stays.
	c.Refused(t, "ALREADY_CLOSED", lab.ToolIO, `{"action":"write","session_id":%s,"data":"x"}`, id)
	if r := c.AwaitEnd(t, id); !strings.Contains(r.Chunk, "READY> ") {
		t.Errorf("after the end: %s", r.Text)
	}
	st := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id)
	if s := st.Session; !lab.IsCode(s.ExitCode, 5) || s.Cwd != dir || s.Title != "a shell" || s.PID < 2 ||
		s.Argv[0] != "bash" ||
		st.State != "closed" ||
		s.Capabilities.ExitCode != "best_effort" ||
		s.Cols != 101 {
		t.Errorf("status: %s", st.Text)
	}
	if l := c.Call(t, lab.ToolSession, `{"action":"list","protocol":"local"}`); len(l.Sessions) != 1 ||
		!lab.IsCode(l.Sessions[0].ExitCode, 5) ||
		l.Sessions[0].Title != "a shell" {
		t.Errorf("list: %s", l.Text)
	}
	cl := c.Call(t, lab.ToolSession, `{"action":"close","session_id":%s}`, id)
	if !lab.IsCode(cl.ExitCode, 5) || cl.DurationMS == 0 || cl.Usage == nil || cl.State != "closed" {
		t.Errorf("close: %s", cl.Text)
	}
	for _, wrong := range []struct{ args, field string }{
		{`"argv":["bash"],"host":"h"`, "host"},
		{`"argv":["bash"],"username":"u"`, "username"},
		{`"argv":["bash"],"ssh_options":{"legacy":true}`, "ssh_options"},
		{`"argv":["bash"],"pty":{"enabled":false}`, "pty.enabled"},
		{`"title":"x"`, "argv"},
		{`"argv":["no-such-program"]`, "argv[0]"},
		{`"argv":["bash"],"title":"a\nb"`, "title"},
	} {
		if r := c.Refused(
			t, "INVALID_ARGUMENT", lab.ToolSession, `{"action":"open","protocol":"local",`+wrong.args+`}`,
		); r.Details.Field != wrong.field {
			t.Errorf("%s: %s", wrong.args, r.Text)
		}
	}
	if r := c.Refused(
		t, "INVALID_ARGUMENT", lab.ToolSession, `{"action":"open","protocol":"ssh","host":"h","argv":["bash"]}`,
	); r.Details.Field != "argv" {
		t.Errorf("argv with ssh: %s", r.Text)
	}
}

// An exited session is readable until it is closed, however short the retention time, and after that for the retention
// time.
func TestLocalExitedStays(t *testing.T) {
	lab.InTime(t, "a read of a closed session", 300*time.Millisecond, func(retention time.Duration) bool {
		c := lab.ConnectLocal(t, fmt.Sprintf("[session]\nclosed_retention_ms = %d", retention.Milliseconds()))
		id := c.OpenLocal(t, []string{"sh", "-c", "echo the last words; exit 3"}, "")
		c.AwaitEnd(t, id)
		time.Sleep(3 * retention)
		if r := c.AwaitEnd(t, id); r.Chunk != "the last words\n" {
			t.Errorf("after three times the retention time: %s", r.Text)
		}
		c.Close(t, id)
		r, err := c.Try(t.Context(), lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0"}`, id)
		if err == nil && r.ErrorCode == "NOT_FOUND" {
			t.Logf("it was forgotten after %v, before it could be read", retention)
			return false
		}
		if err != nil || !r.EOF || r.Chunk != "the last words\n" {
			t.Errorf("within the retention time: %s, %v", r.Text, err)
		}
		lab.Eventually(t, "that it is forgotten", func() bool {
			r, err := c.Try(t.Context(), lab.ToolSession, `{"action":"status","session_id":%s}`, id)
			return err == nil && r.ErrorCode == "NOT_FOUND"
		})
		return true
	})
}

// A child that never reads holds up no write past its deadline.
func TestLocalChildThatDoesNotRead(t *testing.T) {
	c := lab.ConnectLocal(t, "[session]\nwrite_timeout_ms = 500")
	id := c.OpenLocal(t, []string{"sh", "-c", "stty raw -echo; echo up; exec sleep 1000"}, "")
	c.Expect(t, id, "up")
	began := time.Now()
	r, err := c.Try(
		t.Context(),
		lab.ToolIO,
		`{"action":"write","session_id":%s,"data":%s}`,
		id,
		strings.Repeat("x", 200_000),
	)
	if err != nil || !r.WriteTimedOut && !r.TimedOut || r.BytesWritten == 0 || r.BytesWritten >= 200_000 ||
		time.Since(began) > 9*time.Second { // without the configuration it would be 10 s
		t.Errorf("after %v: %s, %v", time.Since(began), lab.Tail(r.Text, 1000), err)
	}
	began = time.Now()
	c.Close(t, id)
	if took := time.Since(began); took > lab.Patience {
		t.Errorf("close took %v, want at most %v", took, lab.Patience)
	}
}

// Idle terminals must cost no threads, and ended programs must leave nothing behind.
func TestLocalCosts(t *testing.T) {
	c := lab.ConnectLocal(t)
	var ids []string
	start := func(n int) {
		for range n {
			ids = append(ids, c.OpenLocal(t, []string{"sh", "-c", "exec sleep 1000"}, ""))
		}
	}
	start(5)
	before := lab.StatusField(t, c.PID, "Threads")
	start(50)
	if after := lab.StatusField(t, c.PID, "Threads"); after > before+25 { // the runtime starts some when the machine is busy
		t.Errorf("%d threads with 5 sessions, %d with 55", before, after)
	}
	for _, id := range ids {
		c.Close(t, id)
	}
	time.Sleep(1200 * time.Millisecond) // as below
	fds := lab.OpenFiles(t, c.PID)
	for i := range 300 {
		if r := c.Call(t, lab.ToolRun, `{"argv":["sh","-c","sleep 0 & echo x; exit 3"]}`); !lab.IsCode(r.ExitCode, 3) ||
			r.Stdout != "x\n" {
			t.Fatalf("round %d: %s", i, r.Text)
		}
		if i%3 == 0 {
			id := c.OpenLocal(t, []string{"sh", "-c", "(setsid sleep 0 &); echo y"}, "")
			if r := c.AwaitEnd(t, id); r.Chunk != "y\n" {
				t.Fatalf("round %d: %s", i, r.Text)
			}
			c.Close(t, id)
		}
	}
	// The recording of a session is open for a second after its end.
	for deadline := time.Now().Add(lab.Patience); ; time.Sleep(10 * time.Millisecond) {
		after := lab.OpenFiles(t, c.PID)
		if len(after) <= len(fds) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("files before\n%s\nand after\n%s", strings.Join(fds, "\n"), strings.Join(after, "\n"))
		}
	}
	for deadline := time.Now().Add(lab.Patience); len(lab.Descendants(t, c.PID)) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("processes are left: %v", lab.Descendants(t, c.PID))
		}
	}
}

// leaver is a program that leaves its terminal, its session and its environment, with its one argument.
const leaver = `import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 100)
        os.execve("/bin/sh", ["sh", "-c", "trap '' HUP TERM; while :; do sleep 0.1; done", sys.argv[1]], {})
    os._exit(0)
os.wait()
print("gone" + "-out", flush=True)
`

// commandsWith returns the processes of the machine that have the mark among their arguments.
func commandsWith(tb testing.TB, mark string) (found []lab.Process) {
	tb.Helper()
	for _, p := range lab.Processes(tb) {
		if strings.Contains(p.Command, mark) && p.PID != os.Getpid() {
			found = append(found, p)
		}
	}
	return found
}

// awaitNone waits until no process has the mark.
func awaitNone(tb testing.TB, mark string) {
	tb.Helper()
	for deadline := time.Now().Add(lab.Patience); len(commandsWith(tb, mark)) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			left := commandsWith(tb, mark)
			tb.Errorf("%d processes are left: %v", len(left), left)
			lab.Kill(tb, left)
			return
		}
	}
}

// Whatever a program does to stay, it is gone after close, and after the end of ptyctl.
func TestLocalNobodyStays(t *testing.T) {
	scripts := map[string][]string{
		"ignores": {"sh", "-c", "trap '' HUP TERM INT; echo gone-out; while :; do sleep 0.1; done"},
		"leaves":  {"/usr/bin/python3", "-c", leaver + "\nimport time; time.sleep(1000)"},
		"multiple": {
			"sh",
			"-c",
			`for i in $(seq 100); do sh -c 'trap "" HUP; while :; do sleep 1; done' $0 & done; echo gone-out; wait`,
		},
	}
	for _, end := range []string{"close", "input"} {
		c := lab.ConnectLocal(t)
		for name, argv := range scripts {
			mark := fmt.Sprintf("mark-%d-%s-%s", os.Getpid(), end, name)
			id := c.OpenLocal(t, append(slices.Clip(argv), mark), "")
			c.Expect(t, id, "gone-out")
			if len(commandsWith(t, mark)) == 0 {
				t.Fatal("the test looks for the wrong processes")
			}
			if end == "close" {
				c.Close(t, id)
				awaitNone(t, mark)
			}
		}
		if end == "input" {
			c.Stdin.Close()
			<-c.Ended
			c.EndEngine()
			awaitNone(t, fmt.Sprintf("mark-%d-%s-", os.Getpid(), end))
		}
	}
}

// Killed, ptyctl takes its programs along, those that ignore the end of their terminal too.
func TestLocalEndsWithPtyctl(t *testing.T) {
	c := lab.ConnectLocal(t)
	mark := fmt.Sprintf("mark-%d-killed", os.Getpid())
	id := c.OpenLocal(
		t,
		[]string{"sh", "-c", "trap '' HUP TERM; echo up; while :; do read x || sleep 0.1; done", mark},
		"",
	)
	c.Expect(t, id, "up")
	c.KillEngine()
	awaitNone(t, mark)
}

// Over HTTP local programs are off unless the operator has them on.
func TestLocalOverHTTP(t *testing.T) {
	for _, on := range []bool{false, true} {
		h := lab.NewHome(t, fmt.Sprintf("[local]\nhttp = %v", on))
		p, url := h.StartHTTP(t)
		c := p.Dial(t, url, "")
		tools, err := c.Session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		listed := false
		for _, tool := range tools.Tools {
			listed = listed || tool.Name == lab.ToolRun
		}
		if listed != on {
			t.Errorf("on: %v, and ptyctl_run is listed: %v", on, listed)
		}
		for _, call := range [][2]string{
			{lab.ToolSession, `{"action":"open","protocol":"local","argv":["sh","-c","exit 3"]}`},
			{lab.ToolRun, `{"argv":["sh","-c","exit 3"]}`},
		} {
			r, err := c.Try(t.Context(), call[0], call[1])
			switch {
			case err != nil:
				t.Error(err)
			case on && r.ErrorCode != "", !on && (r.ErrorCode != "POLICY_DENIED" || r.Details.Rule != "local.http"):
				t.Errorf("on: %v, and %s gives %s", on, call[0], r.Text)
			}
		}
	}
	c := lab.ConnectLocal(t, "[local]\nstdio = false")
	if r := c.Refused(t, "POLICY_DENIED", lab.ToolRun, `{"argv":["true"]}`); r.Details.Rule != "local.stdio" {
		t.Errorf("on stdio: %s", r.Text)
	}
}

func TestHealth(t *testing.T) {
	c := lab.ConnectLocal(t)
	id := c.OpenLocal(t, []string{"cat"}, "")
	r := c.Call(t, lab.ToolHealth, `{}`)
	if r.Version == "" || !strings.HasPrefix(r.GoVersion, "go1.") || r.UptimeS == nil || r.Counts.Open != 1 ||
		r.Counts.Local != 1 {
		t.Errorf("health = %s, want a version, a Go version, an uptime and one local session", r.Text)
	}
	c.Close(t, id)
	if r := c.Call(t, lab.ToolHealth, `{}`); r.Counts.Open != 0 || r.Counts.Ended != 1 {
		t.Errorf("after close: %s", r.Text)
	}
}

// A client that has subscribed to a session must hear of its program's end without asking.
func TestLocalExitNotifies(t *testing.T) {
	p := lab.NewHome(t).Start(t)
	changed := make(chan string, 100)
	options := &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			changed <- r.Params.URI
		},
	}
	c := p.ShakeHands(t, options)
	id := c.OpenLocal(t, []string{"sh", "-c", "read x; exit 3"}, "")
	uri := "ptyctl://sessions/" + id
	if err := c.Session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	// Subscribe of revision 2026-07-28 does not wait for the server: it listens once it has reported a change.
	cols := 80
	lab.Eventually(t, "a notification of a change", func() bool {
		cols++
		c.Call(t, lab.ToolConfig, `{"action":"resize","session_id":%s,"cols":%s,"rows":24}`, id, cols)
		return len(changed) > 0
	})
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"\r"}`, id)
	for deadline := time.After(lab.Patience); ; {
		select {
		case got := <-changed:
			if got != uri {
				t.Errorf("notification of an update of %s, want %s", got, uri)
			}
		case <-deadline:
			t.Fatal("no notification of the program's end")
		}
		if st := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id); st.State == "closed" &&
			lab.IsCode(st.Session.ExitCode, 3) {
			break
		}
	}
	c.Close(t, id)
}

// An open of a local program returns its first output, up to its end if that comes before.
func TestLocalOpenUntil(t *testing.T) {
	c := lab.ConnectLocal(t)
	r := c.Call(t, lab.ToolSession, `{"action":"open","protocol":"local","argv":["sh"],"env":["PS1=here> "],`+
		`"until_regex":"here> $","timeout_ms":20000}`)
	if !r.Matched || !strings.HasSuffix(r.Chunk, "here> ") {
		t.Errorf("open of sh until its prompt: %s", r.Text)
	}
	c.Close(t, r.SessionID)
	r = c.Call(t, lab.ToolSession, `{"action":"open","protocol":"local","argv":["sh"],"env":["PS1=$ "],`+
		`"until_prompt":true,"timeout_ms":20000}`)
	if !r.Matched || !strings.HasSuffix(r.Chunk, "$ ") {
		t.Errorf("open of sh until a prompt: %s", r.Text)
	}
	c.Close(t, r.SessionID)
	r = c.Call(t, lab.ToolSession, `{"action":"open","protocol":"local","argv":["echo","all"],`+
		`"until_regex":"never","timeout_ms":20000}`)
	if r.Matched || r.TimedOut || !r.EOF || !strings.HasPrefix(r.Chunk, "all") {
		t.Errorf("open of a program that ends: %s", r.Text)
	}
}
