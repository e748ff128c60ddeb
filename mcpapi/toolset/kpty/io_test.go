package kpty

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/session"
)

var update = flag.Bool("update", false, "write what the tests see into testdata, instead of comparing")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s differs: err %v; got:\n%s\nif that is intended, run go test -update", path, err, got)
	}
}

func TestHelp(t *testing.T) {
	a := newAgent(t, setting{})
	r := a.ok(`{"action":"help","agent_id":"worker-1"}`)
	golden(t, "help.txt", r.Help)
	golden(t, "tools.json", string(a.list()))
	for _, code := range []Code{
		SessionNotFound, SpawnFailed, Timeout, ProcessExited, WriteFailed, ReadFailed,
		AccessDenied, InvalidArgument,
	} {
		if !strings.Contains(r.Help, string(code)) {
			t.Errorf("help does not explain %s, want a line for each code", code)
		}
	}
}

func TestDefaultShell(t *testing.T) {
	none := func(string) (string, error) { return "", errors.New("not found") }
	only := func(name string) func(string) (string, error) {
		return func(asked string) (string, error) {
			if asked == name {
				return `C:\bin\` + name, nil
			}
			return none(asked)
		}
	}
	env := func(name, value string) func(string) string {
		return func(asked string) string {
			if asked == name {
				return value
			}
			return ""
		}
	}
	for _, c := range []struct {
		goos   string
		getenv func(string) string
		look   func(string) (string, error)
		want   string
	}{
		{"linux", env("SHELL", "/usr/bin/zsh"), none, "/usr/bin/zsh"},
		{"darwin", env("", ""), none, "/bin/sh"},
		{"windows", env("SHELL", "/usr/bin/zsh"), only("pwsh.exe"), `C:\bin\pwsh.exe`},
		{"windows", env("", ""), only("powershell.exe"), `C:\bin\powershell.exe`},
		{"windows", env("ComSpec", `C:\Windows\system32\cmd.exe`), none, `C:\Windows\system32\cmd.exe`},
		{"windows", env("", ""), none, "cmd.exe"},
	} {
		if got := defaultShell(c.goos, c.getenv, c.look); got != c.want {
			t.Errorf("defaultShell on %s = %q, want %q", c.goos, got, c.want)
		}
	}
}

func TestLineEnds(t *testing.T) {
	if unix, windows := lineEnd("linux"), lineEnd("windows"); unix != "\r" || windows != "\r\n" {
		t.Errorf(`lineEnd = %q on Linux and %q on Windows, want "\r" and "\r\n"`, unix, windows)
	}
	for _, c := range [][3]string{ // data, typed on Unix, typed on Windows
		{"dir\n", "dir\n", "dir\r\n"},
		{"dir\r\n", "dir\r\n", "dir\r\n"},
		{"dir\r", "dir\r", "dir\r"},
		{"a\nb\r\nc", "a\nb\r\nc", "a\r\nb\r\nc"},
		{"\x03", "\x03", "\x03"},
	} {
		if unix, windows := wireData("linux", c[0]), wireData("windows", c[0]); unix != c[1] || windows != c[2] {
			t.Errorf("wireData(%q) = %q on Linux and %q on Windows, want %q and %q", c[0], unix, windows, c[1], c[2])
		}
	}
}

// A spawned session has the user's shell, 120x30 cells and a buffer of 100 KiB. list
// shows it until kill.
func TestLifecycle(t *testing.T) {
	a := newAgent(t, setting{})
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := a.ok(`{"action":"spawn","cwd":%s,"agent_id":"leader"}`, dir)
	if r.Shell != "/bin/sh" || r.Cols != 120 || r.Rows != 30 || r.Cwd != dir || r.PID < 2 || r.SessionID == "" {
		t.Fatalf("spawn in %s = %s, want /bin/sh, 120x30, that cwd, a pid and an id", dir, r.text)
	}
	if at, err := time.Parse(time.RFC3339Nano, r.CreatedAt); err != nil || time.Since(at) > time.Minute {
		t.Errorf("created_at = %q (%v), want the present time", r.CreatedAt, err)
	}
	if r := a.ok(`{"action":"run","session_id":%s,"command":"pwd; stty size; echo $TERM"}`,
		r.SessionID); r.Output != dir+"\n30 120\nxterm-256color\n" {
		t.Errorf("pwd, stty size and $TERM = %s, want %s, 30 120 and xterm-256color", r.text, dir)
	}
	a.ok(`{"action":"resize","session_id":%s,"cols":99,"rows":44}`, r.SessionID)
	if r := a.ok(`{"action":"run","session_id":%s,"command":"stty size"}`, r.SessionID); r.Output != "44 99\n" {
		t.Errorf("stty size after resize = %s, want 44 99", r.text)
	}
	other := a.ok(`{"action":"spawn","shell":"bash","cols":80,"rows":24}`)
	list := a.ok(`{"action":"list"}`)
	if len(list.Sessions) != 2 || list.Sessions[0].SessionID != r.SessionID || list.Sessions[0].Cols != 99 ||
		list.Sessions[1].Shell != "bash" ||
		list.Sessions[1].Rows != 24 {
		t.Errorf("list = %s, want the resized session and then bash with 24 rows", list.text)
	}
	s, err := a.manager.Get(r.SessionID)
	if err != nil {
		t.Fatal(err)
	}
	if limit := s.Info().Buffer.Limit; limit != 100<<10 {
		t.Errorf("buffer limit = %d bytes, want %d", limit, 100<<10)
	}
	if r := a.ok(`{"action":"kill","session_id":%s}`, r.SessionID); r.Ended {
		t.Errorf("first kill = %s, want no already_ended", r.text)
	}
	if r := a.ok(`{"action":"kill","session_id":%s}`, r.SessionID); !r.Ended {
		t.Errorf("second kill = %s, want already_ended", r.text)
	}
	if list := a.ok(`{"action":"list"}`); len(list.Sessions) != 1 || list.Sessions[0].SessionID != other.SessionID {
		t.Errorf("list after kill = %s, want only %s", list.text, other.SessionID)
	}
}

// until reads until the new output contains want, and returns it.
func (a *agent) until(id, want string) (all string) {
	a.tb.Helper()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(all, want); {
		if time.Now().After(deadline) {
			a.tb.Fatalf("output after 20s = %q, want %q in it", all, want)
		}
		all += a.ok(`{"action":"read","session_id":%s,"timeout_ms":1000}`, id).Output
	}
	return all
}

// Successive reads return all output once, wait for more, and report the program's end.
func TestReadDrains(t *testing.T) {
	a := newAgent(t, setting{})
	id := a.spawn("/bin/sh")
	a.ok(`{"action":"write","session_id":%s,"data":"echo fi''rst\n"}`, id)
	if all := a.until(id, "first"); strings.Count(all, "first") != 1 {
		t.Errorf("first read = %q, want first once", all)
	}
	a.ok(`{"action":"write","session_id":%s,"data":"echo sec''ond; sleep 1; echo th''ird\n"}`, id)
	if all := a.until(id, "third"); strings.Contains(all, "first") || strings.Count(all, "second") != 1 {
		t.Errorf("second read = %q, want second once and no first", all)
	}
	a.until(id, "") // the prompt may or may not have come
	for a.ok(`{"action":"read","session_id":%s,"timeout_ms":300}`, id).Output != "" {
	}
	if r := a.ok(`{"action":"read","session_id":%s,"timeout_ms":0}`, id); !r.TimedOut || r.Output != "" || r.EOF {
		t.Errorf("read without new output = %s, want timed_out and no output", r.text)
	}
	if r := a.ok(`{"action":"run","session_id":%s,"command":"echo by run"}`, id); r.Output != "by run\n" {
		t.Errorf("run of echo by run = %s, want output by run", r.text)
	}
	if r := a.ok(`{"action":"read","session_id":%s,"timeout_ms":300}`, id); strings.Contains(r.Output, "by run") ||
		strings.Contains(r.Output, "PTYCTL") {
		t.Errorf("read after run = %s, want nothing of the run's output", r.text)
	}
	a.ok(`{"action":"write","session_id":%s,"data":"printf 'aaaaabbbbb'; exit 5\n"}`, id)
	s, err := a.manager.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	<-s.Ended()
	var all string
	for {
		r := a.ok(`{"action":"read","session_id":%s,"max_bytes":7}`, id)
		all += r.Output
		if r.EOF {
			if !isCode(r.ExitCode, 5) {
				t.Errorf("last read = %s, want exit_code 5", r.text)
			}
			break
		}
		if !r.More {
			t.Fatalf("read of 7 bytes = %s, want more or eof", r.text)
		}
	}
	if !strings.HasSuffix(all, "aaaaabbbbb") {
		t.Errorf("output in small reads = %q, want aaaaabbbbb at its end", all)
	}
}

// The session drops the oldest output beyond 100 KiB, and the next read reports the
// number of bytes.
func TestReadDropped(t *testing.T) {
	a := newAgent(t, setting{})
	id := a.spawn("/bin/sh")
	a.ok(`{"action":"write","session_id":%s,"data":"head -c 300000 /dev/zero | tr '\\\\0' x; echo; echo the e''nd\n"}`, id)
	s, err := a.manager.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); s.Info().BytesIn < 300_000 && time.Now().Before(deadline); {
		s.Read(t.Context(), session.ReadRequest{Cursor: session.Latest, Timeout: 100 * time.Millisecond})
	}
	r := a.ok(`{"action":"read","session_id":%s,"max_bytes":1000000}`, id)
	if !r.Truncated || r.Dropped < 150_000 || len(r.Output) > 100<<10 {
		t.Errorf("read after 300000 bytes: dropped %d, output %d bytes, truncated %v; want over 150000, at most %d, true",
			r.Dropped, len(r.Output), r.Truncated, 100<<10)
	}
}

// A canceled read loses no output.
func TestReadCanceled(t *testing.T) {
	a := newAgent(t, setting{})
	id := a.spawn("/bin/cat")
	req, _ := a.start(
		"tools/call",
		fmt.Sprintf(`{"name":"k_pty","arguments":{"action":"read","session_id":%q,"timeout_ms":30000}}`, id),
	)
	s, err := a.manager.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	for s.Info().Readers == 0 {
		time.Sleep(time.Millisecond)
	}
	a.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, req))
	for s.Info().Readers != 0 {
		time.Sleep(time.Millisecond)
	}
	a.ok(`{"action":"write","session_id":%s,"data":"hello\n"}`, id)
	if all := a.until(id, "hello"); all == "" {
		t.Error("output after the canceled read is empty, want hello")
	}
}

// In every shell the prompt ends a talk before the silence does.
func TestTalkToShells(t *testing.T) {
	a := newAgent(t, setting{})
	for _, shell := range shells(t) {
		id := a.spawn(shell)
		a.ok(`{"action":"run","session_id":%s,"command":"true"}`, id)
		for _, line := range []string{"echo he''llo", "", "sleep 0.3; echo he''llo"} {
			r := a.ok(`{"action":"talk","session_id":%s,"command":%s,"idle_ms":20000}`, id, line)
			if r.DoneReason != "prompt" || line != "" && !strings.Contains(r.Output, "hello\n") {
				t.Errorf("talk %q to %s = %s, want done_reason prompt and hello", line, shell, r.text)
			}
		}
	}
}

// A talk works with a shell, another program's prompt, a silent program, a sentinel and
// the end of the program.
func TestTalk(t *testing.T) {
	a := newAgent(t, setting{})
	id := a.spawn("/bin/sh")
	a.ok(`{"action":"run","session_id":%s,"command":"true"}`, id) // waits for the prompt
	r := a.ok(`{"action":"talk","session_id":%s,"command":"sleep 0.5; echo one; sleep 0.5; echo two","idle_ms":20000}`, id)
	if r.DoneReason != "prompt" || !strings.Contains(r.Output, "one\ntwo\n") {
		t.Errorf("talk to a slow shell = %s, want one and two up to the prompt", r.text)
	}
	if r := a.ok(`{"action":"read","session_id":%s,"timeout_ms":0}`, id); r.Output != "" {
		t.Errorf("read after talk = %s, want no output", r.text)
	}
	r = a.ok(
		`{"action":"talk","session_id":%s,"command":"while printf 'say> '; read x; do echo you said $x; done","idle_ms":300}`,
		id,
	)
	if r.DoneReason != "idle" || !strings.HasSuffix(r.Output, "say> ") {
		t.Errorf("talk that starts a program = %s, want done_reason idle and its prompt", r.text)
	}
	r = a.ok(`{"action":"talk","session_id":%s,"command":"hello","idle_ms":20000}`, id)
	if r.DoneReason != "prompt" || r.Output != "hello\nyou said hello\nsay> " {
		t.Errorf("talk to a program with a prompt = %s, want its answer up to the prompt", r.text)
	}
	if r := a.call(`{"action":"talk","session_id":%s,"command":"two\nlines"}`, id); r.ErrorCode != InvalidArgument ||
		r.Field != "command" {
		t.Errorf("talk of two lines = %s, want %s for command", r.text, InvalidArgument)
	}
	if r := a.call(`{"action":"talk","session_id":%s,"command":"say DONE","sentinel":"DONE"}`,
		id); r.ErrorCode != InvalidArgument ||
		r.Field != "sentinel" {
		t.Errorf("talk with the sentinel in the line = %s, want %s for sentinel", r.text, InvalidArgument)
	}
	r = a.ok(`{"action":"talk","session_id":%s,"command":"x","sentinel":"you said x"}`, id)
	if r.DoneReason != "sentinel" || !strings.HasSuffix(r.Output, "you said x") {
		t.Errorf("talk with a sentinel = %s, want the output up to it", r.text)
	}
	if r := a.call(`{"action":"talk","session_id":%s,"command":"y","sentinel":"never","timeout_ms":300}`,
		id); r.ErrorCode != Timeout ||
		!strings.Contains(r.Output, "you said y") {
		t.Errorf("talk with a sentinel that never comes = %s, want %s with the output", r.text, Timeout)
	}

	end := a.spawn("/bin/sh")
	if r := a.ok(`{"action":"talk","session_id":%s,"command":"exit 9"}`, end); r.DoneReason != "eof" ||
		!isCode(r.ExitCode, 9) {
		t.Errorf("talk exit 9 = %s, want done_reason eof and exit_code 9", r.text)
	}
}

// Calls for many sessions and many calls for one session may run at the same time. No two
// reads return the same bytes.
func TestConcurrent(t *testing.T) {
	a := newAgent(t, setting{})
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			r := a.call(`{"action":"spawn","shell":"/bin/sh"}`)
			for n := range 5 {
				want := fmt.Sprintf("%d-%d\n", i, n)
				if r := a.call(`{"action":"run","session_id":%s,"command":%s}`, r.SessionID,
					"echo "+strings.TrimSpace(want)); r.Output != want {
					t.Errorf("run in session %d = %s, want output %q", i, r.text, want)
				}
				a.call(`{"action":"list"}`)
			}
			a.call(`{"action":"kill","session_id":%s}`, r.SessionID)
		})
	}
	wg.Wait()

	id := a.spawn("/bin/sh")
	const lines = 200
	var mu sync.Mutex
	var all []string
	for range 4 {
		wg.Go(func() {
			for {
				r := a.call(`{"action":"read","session_id":%s,"timeout_ms":20000,"max_bytes":100}`, id)
				mu.Lock()
				all = append(all, r.Output)
				mu.Unlock()
				if !r.OK || r.EOF {
					return
				}
			}
		})
	}
	a.ok(
		`{"action":"write","session_id":%s,"data":"i=0; while [ $i -lt 200 ]; do echo mark=$i; i=$((i+1)); done; exit\n"}`,
		id,
	)
	wg.Wait()
	bytes := 0
	for _, part := range all {
		bytes += strings.Count(part, "\n")
	}
	if bytes < lines || bytes > lines+5 {
		t.Errorf("the readers got %d lines, want %d: %q", bytes, lines, all)
	}
}
