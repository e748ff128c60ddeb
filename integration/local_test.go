package integration

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
)

// connectLocal starts ptyctl with a home of its own, and lines of the configuration besides.
func connectLocal(tb testing.TB, lines ...string) *client {
	tb.Helper()
	return newHome(tb, lines...).connect(tb)
}

// openLocal opens a local session with the arguments of argv, and members besides.
func (c *client) openLocal(tb testing.TB, argv []string, more string, values ...any) string {
	tb.Helper()
	r := c.call(
		tb,
		toolSession,
		`{"action":"open","protocol":"local","argv":%s`+more+`}`,
		append([]any{argv}, values...)...)
	if r.SessionID == "" || r.PID < 2 || r.StartedAt == 0 || r.Cwd == "" || r.Cursor != "0" {
		tb.Fatalf("open: %s", r.text)
	}
	return r.SessionID
}

// expect reads from the start of the output until pattern matches.
func (c *client) expect(tb testing.TB, id, pattern string) result {
	tb.Helper()
	r := c.call(
		tb,
		toolIO,
		`{"action":"read","session_id":%s,"cursor":"0","until_regex":%s,"timeout_ms":20000,"max_bytes":262144}`,
		id,
		pattern,
	)
	if !r.Matched {
		tb.Fatalf("%q did not come: %s", pattern, tail(r.text, 4<<10))
	}
	return r
}

// awaitEnd reads all that a session puts out, to its end.
func (c *client) awaitEnd(tb testing.TB, id string) result {
	tb.Helper()
	r := c.call(
		tb,
		toolIO,
		`{"action":"read","session_id":%s,"cursor":"0","until_regex":"\\z.","timeout_ms":20000,"max_bytes":262144}`,
		id,
	)
	if !r.EOF {
		tb.Fatalf("the program did not end: %s", tail(r.text, 4<<10))
	}
	return r
}

func isCode(code *int, want int) bool { return code != nil && *code == want }

// ptyctl_run: a program's exit code, streams, folder, environment and usage, and what is wrong with a call.
func TestLocalRun(t *testing.T) {
	c := connectLocal(t, "[local]\ninherit_env = ['GORACE']")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := c.call(
		t,
		toolRun,
		`{"argv":["sh","-c","pwd; cat; echo oops >&2; exit 7"],"cwd":%s,"stdin":"in put","limits":{"cpu_s":10,"open_files":64}}`,
		dir,
	)
	if !isCode(r.RC, 7) || r.Stdout != dir+"\nin put" || r.Stderr != "oops\n" || r.DoneReason != "exit_status" ||
		r.TimedOut ||
		r.Cwd != dir ||
		r.Usage == nil ||
		r.Usage.MaxRSSKB == 0 ||
		r.SessionID != "" ||
		r.ExecID != "" ||
		r.Signal != "" {
		t.Errorf("%s", r.text)
	}
	r = c.call(t, toolRun, `{"argv":["sh","-c","kill -TERM $$"]}`)
	if !isCode(r.RC, 143) || r.Signal != "TERM" {
		t.Errorf("ended by a signal: %s", r.text)
	}
	binary := "\x00\xff\xfe"
	r = c.call(
		t,
		toolRun,
		`{"argv":["cat"],"stdin":%s,"stdin_encoding":"base64"}`,
		base64.StdEncoding.EncodeToString([]byte(binary)),
	)
	if r.StdoutEncoding != "base64" || r.Stdout != base64.StdEncoding.EncodeToString([]byte(binary)) {
		t.Errorf("bytes that are no text: %s", r.text)
	}
	// The program is no shell's: what looks like a command line is an argument.
	r = c.call(t, toolRun, `{"argv":["printf","%%s|","a b","$HOME","*","; exit 9"]}`)
	if r.Stdout != "a b|$HOME|*|; exit 9|" {
		t.Errorf("arguments: %s", r.text)
	}
	r = c.call(t, toolRun, `{"argv":["env"],"env":["MINE=1","LANG=C"]}`)
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
		if r := c.refused(t, "INVALID_ARGUMENT", toolRun, wrong.args); r.Details.Field != wrong.field ||
			!strings.Contains(r.Message, wrong.part) {
			t.Errorf("%s: %s", wrong.args, r.text)
		}
	}
	if r := c.call(t, toolSession, `{"action":"list"}`); len(r.Sessions) != 0 {
		t.Errorf("sessions are left: %s", r.text)
	}
}

// The timeout ends a program, by TERM and then by KILL, with what it had put out; the longest call does not.
func TestLocalRunTimeouts(t *testing.T) {
	c := connectLocal(t, "[limits]\nmax_wait_ms = 3000")
	r := c.call(
		t,
		toolRun,
		`{"argv":["sh","-c","trap 'echo bye; exit 9' TERM; echo up; while :; do sleep 0.01; done"],"timeout_ms":300}`,
	)
	if !r.TimedOut || r.DoneReason != "timeout" || !isCode(r.RC, 9) || r.Stdout != "up\nbye\n" || r.Killed != "yes" {
		t.Errorf("obeys: %s", r.text)
	}
	r = c.call(
		t,
		toolRun,
		`{"argv":["sh","-c","trap '' TERM; echo up; while :; do sleep 0.01; done"],"timeout_ms":300,"grace_ms":200}`,
	)
	if !r.TimedOut || !isCode(r.RC, 137) || r.Signal != "KILL" || r.Stdout != "up\n" || r.DurationMS < 500 {
		t.Errorf("ignores: %s", r.text)
	}
	r = c.call(t, toolRun, `{"argv":["sh","-c","echo up; sleep 4; echo done; exit 3"],"title":"slow"}`)
	if r.DoneReason != "running" || r.TimedOut || r.RC != nil || r.Stdout != "up\n" || r.SessionID == "" ||
		r.ExecID == "" {
		t.Fatalf("runs on: %s", r.text)
	}
	l := c.call(t, toolSession, `{"action":"list","protocol":"local","state":"open"}`)
	if len(l.Sessions) != 1 || l.Sessions[0].Title != "slow" || l.Sessions[0].PID < 2 || l.Sessions[0].Argv[0] != "sh" {
		t.Errorf("the list while it runs: %s", l.text)
	}
	e := c.call(t, toolExec, `{"session_id":%s,"exec_id":%s}`, r.SessionID, r.ExecID)
	if !isCode(e.ExitCode, 3) || e.Stdout != "up\ndone\n" || e.DoneReason != "exit_status" {
		t.Errorf("gone on with: %s", e.text)
	}
	r = c.call(t, toolRun, `{"argv":["sh","-c","echo up; sleep 1000"]}`)
	if closed := c.call(t, toolSession, `{"action":"close","session_id":%s}`, r.SessionID); closed.State != "closed" {
		t.Errorf("closed while it runs: %s", closed.text)
	}
	if running(t, c.pid, "sleep 1000") {
		t.Error("what was closed still runs")
	}
	r = c.call(t, toolRun, `{"argv":["sh","-c","sleep 1000"]}`)
	e = c.call(t, toolExec, `{"session_id":%s,"exec_id":%s,"cancel":true}`, r.SessionID, r.ExecID)
	if e.ExitCodeReason == "" && !isCode(e.ExitCode, 143) {
		t.Errorf("canceled: %s", e.text)
	}
}

// Output beyond the budget is cut in the middle, and the middle can be read.
func TestLocalRunCaps(t *testing.T) {
	c := connectLocal(t)
	r := c.call(t, toolRun, `{"argv":["seq","20000"],"max_output_bytes":1000}`)
	if !isCode(r.RC, 0) || !r.Truncated || r.StdoutBytes != 108894 || len(r.Stdout) > 1100 ||
		!strings.HasPrefix(r.Stdout, "1\n2\n3\n") ||
		!strings.HasSuffix(r.Stdout, "\n19999\n20000\n") ||
		r.StdoutOmitted == nil ||
		r.SessionID == "" {
		t.Fatalf("%s", tail(r.text, 2000))
	}
	whole := r.Stdout[:r.StdoutOmitted.At]
	for cursor, left := r.StdoutOmitted.Cursor, r.StdoutOmitted.Bytes; left > 0; {
		m := c.call(
			t,
			toolIO,
			`{"action":"read","session_id":%s,"exec_id":%s,"stream":"stdout","cursor":%s,"max_bytes":50000}`,
			r.SessionID,
			r.ExecID,
			cursor,
		)
		if m.Chunk == "" || m.DroppedBytes != 0 {
			t.Fatalf("the middle: %s", tail(m.text, 500))
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
		t.Errorf("put together it is not what came")
	}
	c.refused(t, "ALREADY_CLOSED", toolExec, `{"session_id":%s,"cmd":"true"}`, r.SessionID)
}

// The limits stop what they are for, and the result says so, of a program and of a session.
func TestLocalLimits(t *testing.T) {
	c := connectLocal(t, "[local]\nmax_open_files = 60")
	for _, l := range []struct {
		name, args, limit, suspected string
		code                         int
	}{
		{"a loop", `{"argv":["sh","-c","while :; do :; done"],"limits":{"cpu_s":1},"timeout_ms":30000}`, "cpu_s", "", 152},
		{"a memory hog", `{"argv":["/usr/bin/python3","-c","x=[]\nwhile True: x.append(bytearray(10<<20))"],"limits":{"memory_bytes":300000000},"timeout_ms":30000}`, "", "memory_bytes", 1},
		{"a fork bomb", `{"argv":["/usr/bin/python3","-c","import os\nwhile True: os.fork()"],"limits":{"processes":20},"timeout_ms":30000}`, "processes", "", 1},
	} {
		r := c.call(t, toolRun, l.args)
		if !isCode(r.RC, l.code) || r.LimitExceeded != l.limit ||
			l.suspected != "" && !slices.Contains(r.Suspected, l.suspected) ||
			r.TimedOut {
			t.Errorf("%s: %s", l.name, tail(r.text, 1000))
		}
	}
	r := c.call(t, toolRun, `{"argv":["sh","-c","ulimit -n"],"limits":{"open_files":1000}}`)
	if r.Stdout != "60\n" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "local.max_open_files") {
		t.Errorf("more than the operator allows: %s", r.text)
	}
	id := c.openLocal(t, []string{"sh", "-c", "while :; do :; done"}, `,"limits":{"cpu_s":1}`)
	c.awaitEnd(t, id)
	s := c.call(t, toolSession, `{"action":"status","session_id":%s}`, id).Session
	if s.LimitExceeded != "cpu_s" || !isCode(s.ExitCode, 152) || !strings.Contains(s.EndReason, "cpu_s") {
		t.Errorf("status: %+v", s)
	}
	c.close(t, id)
}

// The operator says which files programs may change; one that does what it likes is kept from the others all the same.
func TestLocalSandbox(t *testing.T) {
	inside, outside := t.TempDir(), t.TempDir()
	c := connectLocal(t, "[local]\nwrite_paths = ['"+inside+"']")
	r := c.call(
		t,
		toolRun,
		`{"argv":["sh","-c",%s],"cwd":%s}`,
		"echo x > here; echo x > "+outside+"/there; touch "+outside+"/there2; ls "+outside,
		inside,
	)
	if !isCode(r.RC, 0) || r.Stdout != "" || !strings.Contains(r.Stderr, "Permission denied") {
		t.Errorf("a program without a terminal: %s", r.text)
	}
	id := c.openLocal(
		t,
		[]string{"sh", "-c", "cd " + inside + "; echo x > here2 && ! echo x > " + outside + "/there3"},
		"",
	)
	if r := c.awaitEnd(t, id); !strings.Contains(r.Chunk, "ermission denied") {
		t.Errorf("a program on a terminal: %s", r.text)
	}
	in, err := os.ReadDir(inside)
	out, outErr := os.ReadDir(outside)
	if err != nil || outErr != nil || len(in) != 2 || len(out) != 0 {
		t.Errorf("inside there are %v, outside %v (%v, %v)", in, out, err, outErr)
	}
}

// The life of a terminal: open, type, read, resize, signal, end, and what is known after that.
func TestLocalTerminal(t *testing.T) {
	c := connectLocal(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	id := c.openLocal(
		t,
		[]string{"bash", "--norc", "-i"},
		`,"cwd":%s,"env":["PS1=READY> ","X=a b"],"title":"a shell","pty":{"cols":93,"rows":17}`,
		dir,
	)
	c.expect(t, id, `READY> $`)
	r := c.enter(t, id, "stty size; pwd; echo \"$X\" $TERM\r", `a b xterm-256color\r\n`)
	if !strings.Contains(r.Chunk, "17 93\r\n"+dir+"\r\n") {
		t.Errorf("it is %q", r.Chunk)
	}
	c.call(t, toolConfig, `{"action":"resize","session_id":%s,"cols":101,"rows":31}`, id)
	c.enter(t, id, "stty size\r", `31 101\r\n`)
	c.enter(t, id, "sh -c 'echo on''ce; exec sleep 1000'\r", `once\r\n`)
	c.call(t, toolSession, `{"action":"signal","session_id":%s,"signal":"INT"}`, id)
	c.enter(t, id, "echo rc=$?\r", `rc=130\r\n`)

	e := c.call(t, toolExec, `{"session_id":%s,"cmd":"cd /; sh -c 'echo here; exit 6'"}`, id)
	if !isCode(e.ExitCode, 6) || e.Stdout != "here\n" || e.ExecLane != "terminal" || e.DoneReason != "marker_seen" {
		t.Errorf("exec: %s", e.text)
	}
	if e := c.call(t, toolExec, `{"session_id":%s,"cmd":"pwd"}`, id); e.Stdout != "/\n" {
		t.Errorf("exec after cd: %s", e.text)
	}
	e = c.call(t, toolExec, `{"session_id":%s,"cmd":"echo begun; sleep 1000","timeout_ms":700}`, id)
	if !e.TimedOut || e.ExitCode != nil || !strings.HasPrefix(e.Stdout, "begun\n") {
		t.Errorf("a command that takes too long: %s", e.text)
	}
	c.refused(t, "UNSUPPORTED", toolExec, `{"session_id":%s,"cmd":"true","lane":"channel"}`, id)
	c.expect(t, id, `READY> $`)
	time.Sleep(1500 * time.Millisecond) // for ctrl_backslash
	e = c.call(t, toolExec, `{"session_id":%s,"cmd":"echo last; exit 5"}`, id)
	if !isCode(e.ExitCode, 5) || !strings.HasPrefix(e.Stdout, "last\n") || e.DoneReason != "eof" {
		t.Errorf("a command that ends the shell: %s", e.text)
	}

	// It has ended, and stays.
	c.refused(t, "ALREADY_CLOSED", toolIO, `{"action":"write","session_id":%s,"data":"x"}`, id)
	if r := c.awaitEnd(t, id); !strings.Contains(r.Chunk, "READY> ") {
		t.Errorf("after the end: %s", r.text)
	}
	st := c.call(t, toolSession, `{"action":"status","session_id":%s}`, id)
	if s := st.Session; !isCode(s.ExitCode, 5) || s.Cwd != dir || s.Title != "a shell" || s.PID < 2 ||
		s.Argv[0] != "bash" ||
		st.State != "closed" ||
		s.Capabilities.ExitCode != "best_effort" ||
		s.Cols != 101 {
		t.Errorf("status: %s", st.text)
	}
	if l := c.call(t, toolSession, `{"action":"list","protocol":"local"}`); len(l.Sessions) != 1 ||
		!isCode(l.Sessions[0].ExitCode, 5) ||
		l.Sessions[0].Title != "a shell" {
		t.Errorf("list: %s", l.text)
	}
	cl := c.call(t, toolSession, `{"action":"close","session_id":%s}`, id)
	if !isCode(cl.ExitCode, 5) || cl.DurationMS == 0 || cl.Usage == nil || cl.State != "closed" {
		t.Errorf("close: %s", cl.text)
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
		if r := c.refused(t, "INVALID_ARGUMENT", toolSession, `{"action":"open","protocol":"local",`+wrong.args+`}`); r.Details.Field != wrong.field {
			t.Errorf("%s: %s", wrong.args, r.text)
		}
	}
	if r := c.refused(t, "INVALID_ARGUMENT", toolSession, `{"action":"open","protocol":"ssh","host":"h","argv":["bash"]}`); r.Details.Field != "argv" {
		t.Errorf("argv with ssh: %s", r.text)
	}
}

// An exited session is readable until it is closed, however short the time of retention; then for that time.
func TestLocalExitedStays(t *testing.T) {
	c := connectLocal(t, "[session]\nclosed_retention_ms = 300")
	id := c.openLocal(t, []string{"sh", "-c", "echo the last words; exit 3"}, "")
	c.awaitEnd(t, id)
	time.Sleep(time.Second)
	if r := c.awaitEnd(t, id); r.Chunk != "the last words\r\n" {
		t.Errorf("after a second: %s", r.text)
	}
	c.close(t, id)
	c.awaitEnd(t, id)
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if r, err := c.try(t.Context(), toolSession, `{"action":"status","session_id":%s}`, id); err == nil &&
			r.ErrorCode == "NOT_FOUND" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it is never forgotten")
		}
	}
}

// A child that never reads holds up no write past its deadline.
func TestLocalChildThatDoesNotRead(t *testing.T) {
	c := connectLocal(t, "[session]\nwrite_timeout_ms = 500")
	id := c.openLocal(t, []string{"sh", "-c", "stty raw -echo; echo up; exec sleep 1000"}, "")
	c.expect(t, id, "up")
	began := time.Now()
	r, err := c.try(t.Context(), toolIO, `{"action":"write","session_id":%s,"data":%s}`, id, strings.Repeat("x", 200_000))
	if err != nil || !r.WriteTimedOut && !r.TimedOut || r.BytesWritten == 0 || r.BytesWritten >= 200_000 ||
		time.Since(began) > 5*time.Second {
		t.Errorf("after %v: %s, %v", time.Since(began), tail(r.text, 1000), err)
	}
	began = time.Now()
	c.close(t, id)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("close took %v", took)
	}
}

// Idle terminals cost no threads, and what was started and has ended leaves nothing.
func TestLocalCosts(t *testing.T) {
	c := connectLocal(t)
	var ids []string
	start := func(n int) {
		for range n {
			ids = append(ids, c.openLocal(t, []string{"sh", "-c", "exec sleep 1000"}, ""))
		}
	}
	start(5)
	before := statusField(t, c.pid, "Threads")
	start(50)
	if after := statusField(t, c.pid, "Threads"); after > before+4 { // the runtime may start some of its own
		t.Errorf("%d threads with 5 sessions, %d with 55", before, after)
	}
	for _, id := range ids {
		c.close(t, id)
	}
	fds := openFiles(t, c.pid)
	for i := range 300 {
		if r := c.call(t, toolRun, `{"argv":["sh","-c","sleep 0 & echo x; exit 3"]}`); !isCode(r.RC, 3) || r.Stdout != "x\n" {
			t.Fatalf("round %d: %s", i, r.text)
		}
		if i%3 == 0 {
			id := c.openLocal(t, []string{"sh", "-c", "(setsid sleep 0 &); echo y"}, "")
			if r := c.awaitEnd(t, id); r.Chunk != "y\r\n" {
				t.Fatalf("round %d: %s", i, r.text)
			}
			c.close(t, id)
		}
	}
	if after := openFiles(t, c.pid); len(after) > len(fds) {
		t.Errorf("files before\n%s\nand after\n%s", strings.Join(fds, "\n"), strings.Join(after, "\n"))
	}
	for deadline := time.Now().Add(patience); len(below(t, c.pid)) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("processes are left: %v", below(t, c.pid))
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
func commandsWith(tb testing.TB, mark string) (found []process) {
	tb.Helper()
	for _, p := range processes(tb) {
		if strings.Contains(p.command, mark) && p.pid != os.Getpid() {
			found = append(found, p)
		}
	}
	return found
}

// awaitNone waits until no process has the mark.
func awaitNone(tb testing.TB, mark string) {
	tb.Helper()
	for deadline := time.Now().Add(patience / 4); len(commandsWith(tb, mark)) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			left := commandsWith(tb, mark)
			tb.Errorf("%d processes are left: %v", len(left), left)
			kill(tb, left)
			return
		}
	}
}

// Whatever a program does to stay, it is gone after close, and after the end of ptyctl.
func TestLocalNobodyStays(t *testing.T) {
	scripts := map[string][]string{
		"ignores":  {"sh", "-c", "trap '' HUP TERM INT; echo gone-out; while :; do sleep 0.1; done"},
		"leaves":   {"/usr/bin/python3", "-c", leaver + "\nimport time; time.sleep(1000)"},
		"multiple": {"sh", "-c", `for i in $(seq 100); do sh -c 'trap "" HUP; while :; do sleep 1; done' $0 & done; echo gone-out; wait`},
	}
	for _, end := range []string{"close", "input"} {
		c := connectLocal(t)
		for name, argv := range scripts {
			mark := fmt.Sprintf("mark-%d-%s-%s", os.Getpid(), end, name)
			id := c.openLocal(t, append(slices.Clip(argv), mark), "")
			c.expect(t, id, "gone-out")
			if len(commandsWith(t, mark)) == 0 {
				t.Fatal("the test looks for the wrong processes")
			}
			if end == "close" {
				c.close(t, id)
				awaitNone(t, mark)
			}
		}
		if end == "input" {
			c.stdin.Close()
			<-c.ended
			awaitNone(t, fmt.Sprintf("mark-%d-%s-", os.Getpid(), end))
		}
	}
}

// Killed, ptyctl takes its programs along, those that ignore the end of their terminal too.
func TestLocalEndsWithPtyctl(t *testing.T) {
	c := connectLocal(t)
	mark := fmt.Sprintf("mark-%d-killed", os.Getpid())
	id := c.openLocal(
		t,
		[]string{"sh", "-c", "trap '' HUP TERM; echo up; while :; do read x || sleep 0.1; done", mark},
		"",
	)
	c.expect(t, id, "up")
	c.kill()
	awaitNone(t, mark)
}

// Over HTTP local programs are off unless the operator has them on.
func TestLocalOverHTTP(t *testing.T) {
	for _, on := range []bool{false, true} {
		h := newHome(t, fmt.Sprintf("[local]\nhttp = %v", on))
		p, url := h.startHTTP(t)
		c := p.dial(t, url, "")
		tools, err := c.session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		listed := false
		for _, tool := range tools.Tools {
			listed = listed || tool.Name == toolRun
		}
		if listed != on {
			t.Errorf("on: %v, and ptyctl_run is listed: %v", on, listed)
		}
		for _, call := range [][2]string{
			{toolSession, `{"action":"open","protocol":"local","argv":["sh","-c","exit 3"]}`}, {toolRun, `{"argv":["sh","-c","exit 3"]}`},
		} {
			r, err := c.try(t.Context(), call[0], call[1])
			switch {
			case err != nil:
				t.Error(err)
			case on && r.ErrorCode != "", !on && (r.ErrorCode != "POLICY_DENIED" || r.Details.Rule != "local.http"):
				t.Errorf("on: %v, and %s gives %s", on, call[0], r.text)
			}
		}
	}
	c := connectLocal(t, "[local]\nstdio = false")
	if r := c.refused(t, "POLICY_DENIED", toolRun, `{"argv":["true"]}`); r.Details.Rule != "local.stdio" {
		t.Errorf("on stdio: %s", r.text)
	}
}

func TestHealth(t *testing.T) {
	c := connectLocal(t)
	id := c.openLocal(t, []string{"cat"}, "")
	r := c.call(t, toolHealth, `{}`)
	if r.Version == "" || !strings.HasPrefix(r.GoVersion, "go1.") || r.UptimeS == nil || r.Counts.Open != 1 ||
		r.Counts.Local != 1 {
		t.Errorf("%s", r.text)
	}
	c.close(t, id)
	if r := c.call(t, toolHealth, `{}`); r.Counts.Open != 0 || r.Counts.Ended != 1 {
		t.Errorf("after close: %s", r.text)
	}
}

// A client that has subscribed to a session is told when its program has ended, and need not ask.
func TestLocalExitIsTold(t *testing.T) {
	p := newHome(t).start(t)
	changed := make(chan string, 100)
	told := &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { changed <- r.Params.URI },
	}
	c := p.shakeHands(t, told)
	id := c.openLocal(t, []string{"sh", "-c", "read x; exit 3"}, "")
	uri := "ptyctl://sessions/" + id
	if err := c.session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	c.call(t, toolIO, `{"action":"write","session_id":%s,"data":"\r"}`, id)
	for deadline := time.After(patience); ; {
		select {
		case got := <-changed:
			if got != uri {
				t.Errorf("told of %s", got)
			}
		case <-deadline:
			t.Fatal("the client was never told")
		}
		if st := c.call(t, toolSession, `{"action":"status","session_id":%s}`, id); st.State == "closed" &&
			isCode(st.Session.ExitCode, 3) {
			break
		}
	}
	c.close(t, id)
}
