package kpty

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/mcpapi"
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
		t.Errorf("%s differs (go test -update shows how): %v\n%s", path, err, got)
	}
}

func TestHelp(t *testing.T) {
	a := newAgent(t, setting{})
	r := a.ok(`{"action":"help","agent_id":"worker-1"}`)
	golden(t, "help.txt", r.Help)
	golden(t, "tools.json", string(a.list()))
	for _, code := range []Code{SessionNotFound, SpawnFailed, Timeout, ProcessExited, WriteFailed, ReadFailed, AccessDenied, InvalidArgument} {
		if !strings.Contains(r.Help, string(code)) {
			t.Errorf("help does not explain %s", code)
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
			t.Errorf("%s: %q, want %q", c.goos, got, c.want)
		}
	}
}

func TestLineEnds(t *testing.T) {
	if unix, windows := lineEnd("linux"), lineEnd("windows"); unix != "\r" || windows != "\r\n" {
		t.Errorf("%q %q", unix, windows)
	}
	for _, c := range [][3]string{ // given, typed on Unix, typed on Windows
		{"dir\n", "dir\n", "dir\r\n"},
		{"dir\r\n", "dir\r\n", "dir\r\n"},
		{"dir\r", "dir\r", "dir\r"},
		{"a\nb\r\nc", "a\nb\r\nc", "a\r\nb\r\nc"},
		{"\x03", "\x03", "\x03"},
	} {
		if unix, windows := wireData("linux", c[0]), wireData("windows", c[0]); unix != c[1] || windows != c[2] {
			t.Errorf("%q: %q %q", c[0], unix, windows)
		}
	}
}

// spawn: the user's shell, 120x30, 100 KB of output kept, listed until it is killed.
func TestLifecycle(t *testing.T) {
	a := newAgent(t, setting{})
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := a.ok(`{"action":"spawn","cwd":%s,"agent_id":"leader"}`, dir)
	if r.Shell != "/bin/sh" || r.Cols != 120 || r.Rows != 30 || r.Cwd != dir || r.PID < 2 || r.SessionID == "" {
		t.Fatalf("%s", r.text)
	}
	if at, err := time.Parse(time.RFC3339Nano, r.CreatedAt); err != nil || time.Since(at) > time.Minute {
		t.Errorf("created_at %q: %v", r.CreatedAt, err)
	}
	if r := a.ok(`{"action":"run","session_id":%s,"command":"pwd; stty size; echo $TERM"}`, r.SessionID); r.Output != dir+"\n30 120\nxterm-256color\n" {
		t.Errorf("%s", r.text)
	}
	a.ok(`{"action":"resize","session_id":%s,"cols":99,"rows":44}`, r.SessionID)
	if r := a.ok(`{"action":"run","session_id":%s,"command":"stty size"}`, r.SessionID); r.Output != "44 99\n" {
		t.Errorf("%s", r.text)
	}
	other := a.ok(`{"action":"spawn","shell":"bash","cols":80,"rows":24}`)
	list := a.ok(`{"action":"list"}`)
	if len(list.Sessions) != 2 || list.Sessions[0].SessionID != r.SessionID || list.Sessions[0].Cols != 99 ||
		list.Sessions[1].Shell != "bash" ||
		list.Sessions[1].Rows != 24 {
		t.Errorf("%s", list.text)
	}
	s, err := a.manager.Get(r.SessionID)
	if err != nil {
		t.Fatal(err)
	}
	if limit := s.Info().Buffer.Limit; limit != 100<<10 {
		t.Errorf("%d bytes are kept", limit)
	}
	if r := a.ok(`{"action":"kill","session_id":%s}`, r.SessionID); r.Ended {
		t.Errorf("%s", r.text)
	}
	if r := a.ok(`{"action":"kill","session_id":%s}`, r.SessionID); !r.Ended {
		t.Errorf("again: %s", r.text)
	}
	if list := a.ok(`{"action":"list"}`); len(list.Sessions) != 1 || list.Sessions[0].SessionID != other.SessionID {
		t.Errorf("%s", list.text)
	}
}

// until reads on until the text that came since holds want.
func (a *agent) until(id, want string) (all string) {
	a.tb.Helper()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(all, want); {
		if time.Now().After(deadline) {
			a.tb.Fatalf("%q did not come: %q", want, all)
		}
		all += a.ok(`{"action":"read","session_id":%s,"timeout_ms":1000}`, id).Output
	}
	return all
}

// read returns everything once, waits for what is to come, and tells the end.
func TestReadDrains(t *testing.T) {
	a := newAgent(t, setting{})
	id := a.spawn("/bin/sh")
	a.ok(`{"action":"write","session_id":%s,"data":"echo fi''rst\n"}`, id)
	if all := a.until(id, "first"); strings.Count(all, "first") != 1 {
		t.Errorf("%q", all)
	}
	a.ok(`{"action":"write","session_id":%s,"data":"echo sec''ond; sleep 1; echo th''ird\n"}`, id)
	if all := a.until(id, "third"); strings.Contains(all, "first") || strings.Count(all, "second") != 1 {
		t.Errorf("%q", all)
	}
	a.until(id, "") // the prompt may be there or not
	for a.ok(`{"action":"read","session_id":%s,"timeout_ms":300}`, id).Output != "" {
	}
	if r := a.ok(`{"action":"read","session_id":%s,"timeout_ms":0}`, id); !r.TimedOut || r.Output != "" || r.EOF {
		t.Errorf("nothing new: %s", r.text)
	}
	if r := a.ok(`{"action":"run","session_id":%s,"command":"echo by run"}`, id); r.Output != "by run\n" {
		t.Errorf("%s", r.text)
	}
	if r := a.ok(`{"action":"read","session_id":%s,"timeout_ms":300}`, id); strings.Contains(r.Output, "by run") ||
		strings.Contains(r.Output, "PTYCTL") {
		t.Errorf("what run has returned comes again: %s", r.text)
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
				t.Errorf("%s", r.text)
			}
			break
		}
		if !r.More {
			t.Fatalf("%s", r.text)
		}
	}
	if !strings.HasSuffix(all, "aaaaabbbbb") {
		t.Errorf("%q", all)
	}
}

// The oldest output is dropped beyond 100 KB, and the next read says so.
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
		t.Errorf("dropped %d, %d bytes of output, truncated %v", r.Dropped, len(r.Output), r.Truncated)
	}
}

// A read that is given up loses nothing.
func TestReadCancelled(t *testing.T) {
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
		t.Error("nothing came")
	}
}

// Every shell's prompt ends a talk, and not its silence.
func TestTalkToShells(t *testing.T) {
	a := newAgent(t, setting{})
	for _, shell := range shells(t) {
		id := a.spawn(shell)
		a.ok(`{"action":"run","session_id":%s,"command":"true"}`, id)
		for _, line := range []string{"echo he''llo", "", "sleep 0.3; echo he''llo"} {
			r := a.ok(`{"action":"talk","session_id":%s,"command":%s,"idle_ms":20000}`, id, line)
			if r.DoneReason != "prompt" || line != "" && !strings.Contains(r.Output, "hello\n") {
				t.Errorf("%s: %q: %s", shell, line, r.text)
			}
		}
	}
}

// talk: a shell, another program's prompt, a silent program, a sentinel, an end.
func TestTalk(t *testing.T) {
	a := newAgent(t, setting{})
	id := a.spawn("/bin/sh")
	a.ok(`{"action":"run","session_id":%s,"command":"true"}`, id) // the prompt is there
	r := a.ok(`{"action":"talk","session_id":%s,"command":"sleep 0.5; echo one; sleep 0.5; echo two","idle_ms":20000}`, id)
	if r.DoneReason != "prompt" || !strings.Contains(r.Output, "one\ntwo\n") {
		t.Errorf("%s", r.text)
	}
	if r := a.ok(`{"action":"read","session_id":%s,"timeout_ms":0}`, id); r.Output != "" {
		t.Errorf("what talk has returned comes again: %s", r.text)
	}
	r = a.ok(
		`{"action":"talk","session_id":%s,"command":"while printf 'say> '; read x; do echo you said $x; done","idle_ms":300}`,
		id,
	)
	if r.DoneReason != "idle" || !strings.HasSuffix(r.Output, "say> ") {
		t.Errorf("%s", r.text)
	}
	r = a.ok(`{"action":"talk","session_id":%s,"command":"hello","idle_ms":20000}`, id)
	if r.DoneReason != "prompt" || r.Output != "hello\nyou said hello\nsay> " {
		t.Errorf("another program's prompt: %s", r.text)
	}
	if r := a.call(`{"action":"talk","session_id":%s,"command":"two\nlines"}`, id); r.ErrorCode != InvalidArgument ||
		r.Field != "command" {
		t.Errorf("%s", r.text)
	}
	if r := a.call(`{"action":"talk","session_id":%s,"command":"say DONE","sentinel":"DONE"}`, id); r.ErrorCode != InvalidArgument ||
		r.Field != "sentinel" {
		t.Errorf("%s", r.text)
	}
	r = a.ok(`{"action":"talk","session_id":%s,"command":"x","sentinel":"you said x"}`, id)
	if r.DoneReason != "sentinel" || !strings.HasSuffix(r.Output, "you said x") {
		t.Errorf("%s", r.text)
	}
	if r := a.call(`{"action":"talk","session_id":%s,"command":"y","sentinel":"never","timeout_ms":300}`, id); r.ErrorCode != Timeout ||
		!strings.Contains(r.Output, "you said y") {
		t.Errorf("%s", r.text)
	}

	end := a.spawn("/bin/sh")
	if r := a.ok(`{"action":"talk","session_id":%s,"command":"exit 9"}`, end); r.DoneReason != "eof" ||
		!isCode(r.ExitCode, 9) {
		t.Errorf("%s", r.text)
	}
}

// Calls for many sessions, and many calls for one, at the same time. What one read returns, no other does.
func TestConcurrent(t *testing.T) {
	a := newAgent(t, setting{})
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			r := a.call(`{"action":"spawn","shell":"/bin/sh"}`)
			for n := range 5 {
				want := fmt.Sprintf("%d-%d\n", i, n)
				if r := a.call(`{"action":"run","session_id":%s,"command":%s}`, r.SessionID, "echo "+strings.TrimSpace(want)); r.Output != want {
					t.Errorf("want %q: %s", want, r.text)
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
		t.Errorf("%d lines came: %q", bytes, all)
	}
}

// What is remembered of sessions goes with them.
func TestBookmarksEnd(t *testing.T) {
	a := newAgent(t, setting{sessions: session.Config{Retention: time.Nanosecond}})
	b := newBookmarks()
	var last *session.Session
	for range 4 {
		id := a.spawn("/bin/cat")
		s, err := a.manager.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		if last != nil {
			a.ok(`{"action":"kill","session_id":%s}`, last.ID())
			for slices.ContainsFunc(a.manager.List(), func(i session.Info) bool { return i.ID == last.ID() }) {
				time.Sleep(time.Millisecond)
			}
		}
		m := b.get(reading{s: s}, a.manager)
		m.move(7)
		if m.move(3); b.get(reading{s: s}, a.manager).place() != 7 {
			t.Error("a bookmark went back")
		}
		if b.get(reading{s, reader{onlyReads: true, token: "r"}}, a.manager).place() != 0 {
			t.Error("a reader's bookmark is not its own")
		}
		if len(b.of) != 2 {
			t.Errorf("%d are remembered", len(b.of))
		}
		last = s
	}
}

// Callers that may only read take no output away: neither from the agent nor from each other.
func TestReadersApart(t *testing.T) {
	a := newAgent(t, setting{})
	one, other := mcpapi.Caller{
		Transport: "http",
		Token:     "one",
		ReadOnly:  true,
	}, mcpapi.Caller{
		Transport: "http",
		Token:     "other",
		ReadOnly:  true,
	}
	id := a.spawn("/bin/cat")
	readers := []*agent{a.as(one), a.as(other), a}
	say := func(word string) { a.ok(`{"action":"write","session_id":%s,"data":%s}`, id, word+"\n") }
	for _, word := range []string{"first", "second"} {
		say(word)
		for _, reader := range readers {
			if all := reader.until(id, word+"\n"+word+"\n"); strings.Contains(
				all,
				"first",
			) != (word == "first") { // the echo, and cat
				t.Errorf("%s: %q", word, all)
			}
		}
	}

	_, answer := readers[0].start(
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
	say("third")
	a.until(id, "third")
	if r := readers[0].reply(<-answer); !strings.HasPrefix("third\nthird\n", r.Output) || r.Output == "" {
		t.Errorf("%s", r.text)
	}
	readers[1].until(id, "third")
	if all := a.as(one).ok(`{"action":"read","session_id":%s,"timeout_ms":300}`, id).Output; strings.Contains(
		all,
		"second",
	) {
		t.Errorf("the same token has another place on another connection: %q", all)
	}
}
