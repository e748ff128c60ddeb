//go:build unix

package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/term"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// folder returns a folder with mode 0700. That of t.TempDir depends on the umask.
func folder(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	return dir
}

func openLog(tb testing.TB, o Options) *Log {
	tb.Helper()
	leaktest.File(tb, o.Path)
	l, err := Open(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

func closeLog(tb testing.TB, l *Log) {
	tb.Helper()
	if err := l.Close(); err != nil {
		tb.Fatal(err)
	}
}

// write creates a log with n writes in it.
func write(tb testing.TB, o Options, n int) {
	tb.Helper()
	l := openLog(tb, o)
	for i := range n {
		if err := l.Journal(event(fmt.Sprintf("s-%d", i))); err != nil {
			tb.Fatal(err)
		}
	}
	closeLog(tb, l)
}

func event(session string) term.Event {
	return term.Event{
		Time:    time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Session: session,
		Verb:    term.VerbWrite,
		Size:    3,
		Actor:   term.Actor{Transport: "stdio", Task: "t1"},
	}
}

// read returns the lines of a file.
func read(tb testing.TB, name string) [][]byte {
	tb.Helper()
	p, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	if !bytes.HasSuffix(p, []byte("\n")) {
		tb.Fatalf("%s does not end with a line end", name)
	}
	return bytes.Split(bytes.TrimSuffix(p, []byte("\n")), []byte("\n"))
}

func entries(tb testing.TB, name string) []Entry {
	tb.Helper()
	var all []Entry
	for _, line := range read(tb, name) {
		var n Entry
		if err := json.Unmarshal(line, &n); err != nil {
			tb.Fatalf("%v: %s", err, line)
		}
		all = append(all, n)
	}
	return all
}

// verified checks the chain in a log's files, in any order.
func verified(tb testing.TB, names ...string) Report {
	tb.Helper()
	r, err := Verify("", names...)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// family returns the file and all its rotated siblings.
func family(tb testing.TB, path string) []string {
	tb.Helper()
	names, err := filepath.Glob(path + "*")
	if err != nil {
		tb.Fatal(err)
	}
	return names
}

func TestLines(t *testing.T) {
	path := filepath.Join(folder(t), "audit.jsonl")
	l := openLog(t, Options{Path: path, Version: "1.2.3"})
	actor := term.Actor{Transport: "http", Client: "claude", Version: "4", Token: "ci", Task: "t1", Call: "call-7"}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	leaktest.Secret(t, "hunter2-1138")
	for _, e := range []term.Event{
		{Verb: term.VerbExec, Command: "ls --token hunter2-1138", Exec: "exec-1", Detail: "channel"},
		{Verb: term.VerbWrite, Data: []byte("hunter2-1138"), Size: 7, Duration: 1500 * time.Microsecond},
		{Verb: term.VerbWrite, Size: 8, Sensitive: true, Err: &term.Error{Kind: term.IOError, Msg: "hunter2-1138"}},
		{Verb: term.VerbWrite, Refused: &term.Error{Kind: term.Locked}},
		{Verb: term.VerbExecEnd, Exec: "exec-1", State: "ended", Exit: &term.Exit{Known: true, Code: 0}},
		{Verb: term.VerbExecEnd, Exec: "exec-2", State: "ended", Exit: &term.Exit{Known: true, Signal: "KILL"}},
		{Verb: term.VerbExecEnd, Exec: "exec-3", State: "timeout", Exit: &term.Exit{}},
		{Verb: term.VerbOutput, Data: []byte("hunter2-1138"), Size: 7},
		{Verb: term.VerbRead, Size: 7},
	} {
		e.Time, e.Session, e.Protocol, e.Host, e.Actor = at, "web1-abcdefgh", "ssh", "web1", actor
		l.Observe(e)
	}
	closeLog(t, l)
	got := entries(t, path)
	if len(got) != 10 { // file, start, seven events, stop
		t.Fatalf("%d lines, want 10: %+v", len(got), got)
	}
	if n := got[0]; n.Event != "file" || n.Prev != origin || n.Self.File != 1 || n.PID != os.Getpid() {
		t.Errorf("first line = %+v, want file 1 after the origin", n)
	}
	if n := got[1]; n.Event != "start" || n.Self.Program != "1.2.3" {
		t.Errorf("second line = %+v, want start of 1.2.3", n)
	}
	zero := 0
	want := Entry{
		Prev: got[2].Prev, Time: at, PID: os.Getpid(), Event: "exec", Outcome: "ok", Session: "web1-abcdefgh", Proto: "ssh", Host: "web1",
		Actor: &Actor{
			Transport: "http",
			Client:    "claude",
			Version:   "4",
			Token:     "ci",
			Task:      "t1",
			Call:      "call-7",
		}, Exec: "exec-1", Command: "ls --token [redacted]", Length: 23, Detail: "channel",
	}
	if a, b := asJSON(t, got[2]), asJSON(t, want); a != b {
		t.Errorf("got  %s\nwant %s", a, b)
	}
	if n := got[3]; n.Bytes != 7 || n.Took != 1500 || n.Outcome != "ok" || n.Refused {
		t.Errorf("write = %+v, want 7 bytes, 1500 µs, ok", n)
	}
	if n := got[4]; n.Bytes != 8 || !n.Secret || n.Outcome != "IO_ERROR" || n.Refused {
		t.Errorf("failed sensitive write = %+v, want 8 bytes, sensitive, IO_ERROR", n)
	}
	if n := got[5]; n.Outcome != "LOCKED" || !n.Refused {
		t.Errorf("write to a locked session = %+v, want LOCKED, refused", n)
	}
	if n := got[6]; n.Exit == nil || *n.Exit != zero || n.State != "ended" {
		t.Errorf("exit 0 = %+v, want exit_code 0 and state ended", n)
	}
	if n := got[7]; n.Exit != nil || n.Signal != "KILL" {
		t.Errorf("exit by a signal = %+v, want KILL and no exit_code", n)
	}
	if n := got[8]; n.Exit != nil || n.State != "timeout" {
		t.Errorf("unknown exit = %+v, want state timeout and no exit_code", n)
	}
	if n := got[9]; n.Event != "stop" {
		t.Errorf("last line = %+v, want stop", n)
	}
	if p, _ := os.ReadFile(path); bytes.Contains(p, []byte("hunter2-1138")) {
		t.Errorf("the secret is in the log: %s", p)
	}
	if r := verified(t, path); r.Lines != 10 || r.First != 1 || r.Head != digest(read(t, path)[9]) {
		t.Errorf("report = %+v, want 10 lines from file 1 and the hash of the last", r)
	}
}

func asJSON(tb testing.TB, v any) string {
	tb.Helper()
	p, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(p)
}

func TestIntent(t *testing.T) {
	path := filepath.Join(folder(t), "audit.jsonl")
	l := openLog(t, Options{Path: path, Fsync: FsyncAlways})
	if err := l.Journal(event("s")); err != nil {
		t.Fatal(err)
	}
	// The entry is in the file although the log is still open.
	got := entries(t, path)
	if n := got[len(got)-1]; !n.Intent || n.Outcome != "" || n.Session != "s" {
		t.Errorf("entry of Journal = %+v, want an intent for s without an outcome", n)
	}
	closeLog(t, l)
	if err := l.Journal(event("late")); !errors.Is(err, errClosed) {
		t.Errorf("Journal after Close = %v, want %v", err, errClosed)
	}
	if l.Observe(event("late")); l.Lost() != 1 {
		t.Errorf("lost lines after Close = %d, want 1", l.Lost())
	}
	if err := l.Close(); err != nil {
		t.Errorf("second Close = %v, want no error", err)
	}
}

func TestCommands(t *testing.T) {
	const command = "deploy --password hunter2-1138"
	leaktest.Marked(t, command)
	for _, c := range []struct {
		how               Commands
		text, hash, noise string
	}{
		{"", "deploy --password [redacted]", "", ""},
		{CommandsHash, "", digest([]byte(command)), ""},
		{CommandsNone, "", "", ""},
	} {
		path := filepath.Join(folder(t), "audit.jsonl")
		l := openLog(t, Options{Path: path, Commands: c.how})
		l.Observe(term.Event{Verb: term.VerbExec, Command: command})
		closeLog(t, l)
		if n := entries(t, path)[2]; n.Command != c.text || n.Digest != c.hash || n.Length != len(command) {
			t.Errorf("%q: %+v", c.how, n)
		}
	}
}

func TestLongText(t *testing.T) {
	path := filepath.Join(folder(t), "audit.jsonl")
	l := openLog(t, Options{Path: path})
	nasty := strings.Repeat("\x00\xff\u2028", 100_000)
	l.Observe(
		term.Event{
			Verb:    term.VerbExec,
			Command: nasty,
			Detail:  nasty,
			Host:    nasty,
			Session: nasty,
			Actor:   term.Actor{Client: nasty, Version: nasty, Token: nasty, Task: nasty, Call: nasty, Transport: nasty},
		},
	)
	closeLog(t, l)
	lines := read(t, path)
	if len(lines) != 4 || len(lines[2]) > maxLine {
		t.Errorf("%d lines, the third of %d bytes; want 4, at most %d", len(lines), len(lines[2]), maxLine)
	}
	verified(t, path)
}

func TestRotation(t *testing.T) {
	path := filepath.Join(folder(t), "audit.jsonl")
	o := Options{Path: path, MaxBytes: 2000, Keep: 3, Fsync: FsyncNever}
	write(t, o, 60)
	names := family(t, path)
	if len(names) != 4 {
		t.Fatalf("files = %q, want 4", names)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || info.Size() > 2000 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	r := verified(t, names...)
	if r.First < 2 || r.Files != 4 {
		t.Errorf("report = %+v, want 4 files from number 2 or higher", r)
	}
	verified(t, path+".1", path) // some of the files, from the middle of the chain
	// The next start continues the chain.
	head := r.Head
	write(t, Options{Path: path}, 1)
	if r, err := Verify(head, family(t, path)...); err != nil || r.Since != 3 { // start, intent, stop
		t.Errorf("Verify after the next start = %+v, %v; want 3 lines since the head", r, err)
	}
	// The chain also continues if the file was rotated and the new one not begun.
	if err := os.Remove(path + ".3"); err != nil {
		t.Fatal(err)
	}
	for i := 3; i > 1; i-- {
		if err := os.Rename(fmt.Sprintf("%s.%d", path, i-1), fmt.Sprintf("%s.%d", path, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, Options{Path: path}, 1)
	verified(t, family(t, path)...)
}

// A line that just fits stays in the file. With one byte less of room it begins a new
// file.
func TestRotationAtTheEdge(t *testing.T) {
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	probe := filepath.Join(folder(t), "audit.jsonl")
	l := openLog(t, Options{Path: probe})
	if err := l.Journal(event("s")); err != nil {
		t.Fatal(err)
	}
	full := size(probe)
	closeLog(t, l)
	for _, c := range []struct {
		max   int64
		files int
	}{{full, 1}, {full - 1, 2}} {
		path := filepath.Join(folder(t), "audit.jsonl")
		l := openLog(t, Options{Path: path, MaxBytes: c.max})
		if err := l.Journal(event("s")); err != nil {
			t.Fatal(err)
		}
		// The length of a line depends on the digits of its time.
		if d := full - size(probe); d > 0 {
			t.Fatal("the file shrank")
		}
		if got := family(t, path); len(got) != c.files && size(path) != full {
			t.Logf("a start line of another length: %d", size(path))
		} else if len(got) != c.files {
			t.Errorf("max %d: files %q", c.max, got)
		}
		closeLog(t, l)
		verified(t, family(t, path)...)
	}
}

// A line longer than a file has a file of its own.
func TestLineLongerThanAFile(t *testing.T) {
	path := filepath.Join(folder(t), "audit.jsonl")
	write(t, Options{Path: path, MaxBytes: 100, Keep: 100}, 5)
	if r := verified(t, family(t, path)...); r.Files < 6 || r.First != 1 {
		t.Errorf("report = %+v, want at least 6 files from number 1", r)
	}
}

// ptyctl was killed while it wrote a line.
func TestTornLine(t *testing.T) {
	whole := `{"prev":"x","event":"write"}`
	for name, torn := range map[string]string{
		"half a line": `{"prev":"0123`, "one byte": "{", "zeros": strings.Repeat("\x00",
			300), "a line without its end": whole,
		"longer than any line": strings.Repeat("x", 3*maxLine),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(folder(t), "audit.jsonl")
			write(t, Options{Path: path}, 2)
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString(torn); err != nil {
				t.Fatal(err)
			}
			f.Close()
			broken(t, "", path)
			write(t, Options{Path: path}, 1)
			if len(torn) > 2*maxLine {
				broken(t, "longer than any", path) // not a line of ptyctl: Verify does not accept it
				return
			}
			r := verified(t, path)
			if len(r.Torn) != 1 || r.Torn[0] != path+":6" {
				t.Errorf("incomplete lines = %+v, want %s:6", r, path)
			}
			// The entry about an incomplete line must not allow any other line to be added.
			p, _ := os.ReadFile(path)
			broken(t, "", rewrite(t, path, bytes.Replace(p, []byte(torn+"\n"), []byte(torn+"x\n"), 1)))
			broken(t, "", rewrite(t, path, bytes.Replace(p, []byte(torn+"\n"), nil, 1)))
		})
	}
	t.Run("a line without its end, of ours", func(t *testing.T) {
		path := filepath.Join(folder(t), "audit.jsonl")
		write(t, Options{Path: path}, 2)
		p, _ := os.ReadFile(path)
		rewrite(t, path, p[:len(p)-1])
		write(t, Options{Path: path}, 1)
		if r := verified(t, path); len(r.Torn) != 1 {
			t.Errorf("report = %+v, want one incomplete line", r)
		}
	})
	t.Run("the first line", func(t *testing.T) {
		path := filepath.Join(folder(t), "audit.jsonl")
		rewrite(t, path, []byte(`{"prev":"00`))
		write(t, Options{Path: path}, 1)
		verified(t, path)
	})
}

func rewrite(tb testing.TB, path string, p []byte) string {
	tb.Helper()
	if err := os.WriteFile(path, p, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// broken checks that the chain in the files is broken, and returns where.
func broken(tb testing.TB, part string, names ...string) *BrokenError {
	tb.Helper()
	_, err := Verify("", names...)
	var b *BrokenError
	if !errors.As(err, &b) || !strings.Contains(b.Error(), part) {
		tb.Fatalf("got %v, want a broken chain with %q", err, part)
	}
	return b
}

// On a full disk lines are lost and counted and actions are refused. No incomplete line
// remains, and writing resumes by itself.
func TestDiskFull(t *testing.T) {
	for name, full := range map[string]func(f *os.File, p []byte) (int, error){
		"nothing fits": func(*os.File, []byte) (int, error) { return 0, syscall.ENOSPC },
		"half fits": func(f *os.File, p []byte) (int, error) {
			n, _ := f.Write(p[:len(p)/2])
			return n, syscall.ENOSPC
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(folder(t), "audit.jsonl")
			var mu sync.Mutex
			isFull := true
			l := &Log{
				o:     Options{Path: path}.withDefaults(),
				queue: make(chan request, 100),
				stop:  make(chan struct{}),
				done:  make(chan struct{}),
			}
			l.file = &file{path: path, max: 1 << 20, keep: 1}
			if err := l.start(); err != nil {
				t.Fatal(err)
			}
			l.file.write = func(p []byte) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				if isFull {
					return full(l.file.f, p)
				}
				return l.file.f.Write(p)
			}
			go l.run()
			for range 3 {
				if err := l.Journal(event("refused")); !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("Journal on a full disk = %v, want %v", err, syscall.ENOSPC)
				}
			}
			l.Observe(event("lost"))
			l.Observe(event("lost"))
			if err := l.Journal(event("refused")); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("Journal on a full disk = %v, want %v", err, syscall.ENOSPC)
			}
			if l.Lost() != 2 {
				t.Errorf("lost lines = %d, want 2", l.Lost())
			}
			if got := entries(t, path); len(got) != 2 {
				t.Errorf("entries on a full disk = %+v, want the first two", got)
			}
			mu.Lock()
			isFull = false
			mu.Unlock()
			if err := l.Journal(event("again")); err != nil {
				t.Error(err)
			}
			closeLog(t, l)
			got := entries(t, path)
			if len(got) != 5 || got[2].Event != "lost" || got[2].Self.Lost != 2 || got[3].Session != "again" {
				t.Errorf("entries after the full disk = %+v, want 2 lost, again and stop", got)
			}
			if r := verified(t, path); r.Lost != 2 {
				t.Errorf("report = %+v, want 2 lost lines", r)
			}
		})
	}
}

// A disk that hangs must block neither the caller nor Close.
func TestSlowDisk(t *testing.T) {
	path := filepath.Join(folder(t), "audit.jsonl")
	l := &Log{
		o:     Options{Path: path, Timeout: 20 * time.Millisecond}.withDefaults(),
		queue: make(chan request, 2),
		stop:  make(chan struct{}),
		done:  make(chan struct{}),
	}
	l.file = &file{path: path, max: 1 << 20, keep: 1}
	if err := l.start(); err != nil {
		t.Fatal(err)
	}
	hang := make(chan struct{})
	l.file.write = func(p []byte) (int, error) { <-hang; return l.file.f.Write(p) }
	go l.run()
	if err := l.Journal(event("s")); !errors.Is(err, errSlow) {
		t.Errorf("Journal on a hanging disk = %v, want %v", err, errSlow)
	}
	for range 10 { // the queue has room for two of them
		l.Observe(event("s"))
	}
	if l.Lost() != 8 {
		t.Errorf("lost lines = %d, want 8", l.Lost())
	}
	if err := l.Journal(event("s")); !errors.Is(err, errSlow) {
		t.Errorf("Journal with a full queue = %v, want %v", err, errSlow)
	}
	if err := l.Close(); !errors.Is(err, errSlow) {
		t.Errorf("Close on a hanging disk = %v, want %v", err, errSlow)
	}
	close(hang)
	<-l.done
	if r := verified(t, path); r.Lost != 8 {
		t.Errorf("report = %+v, want 8 lost lines", r)
	}
}

// Two logs on one file behave like two processes, because the lock belongs to the open
// file. Files are rotated meanwhile.
func TestConcurrent(t *testing.T) {
	path := filepath.Join(folder(t), "audit.jsonl")
	const logs, writers, each = 3, 4, 50
	var wg sync.WaitGroup
	for i := range logs {
		l := openLog(t, Options{Path: path, MaxBytes: 8 << 10, Keep: 1000, Fsync: FsyncNever})
		var working sync.WaitGroup
		for j := range writers {
			working.Go(func() {
				for k := range each {
					e := event(fmt.Sprintf("s-%d-%d-%d", i, j, k))
					if k%2 == 0 {
						l.Observe(e)
					} else if err := l.Journal(e); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Go(func() {
			working.Wait()
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if l.Lost() != 0 {
				t.Errorf("lost lines = %d, want 0", l.Lost())
			}
		})
	}
	wg.Wait()
	names := family(t, path)
	r := verified(t, names...)
	if want := logs*writers*each + 2*logs + r.Files; r.Lines != want || r.Files < 3 || r.First != 1 {
		t.Errorf("report = %+v, want %d lines", r, want)
	}
	seen := make(map[string]int)
	for _, name := range names {
		for _, n := range entries(t, name) {
			seen[n.Session]++
		}
	}
	if len(seen) != logs*writers*each+1 {
		t.Errorf("sessions in the log = %d, want %d", len(seen), logs*writers*each+1)
	}
}

// Verify detects changes that are made to the file while the log is open.
func TestTamperedWhileOpen(t *testing.T) {
	for name, tamper := range map[string]func(t *testing.T, path string){
		"cut at a line": func(t *testing.T, path string) { rewriteLive(t, path, 3, 0) },
		"cut in a line": func(t *testing.T, path string) { rewriteLive(t, path, 3, 10) },
		"emptied":       func(t *testing.T, path string) { rewriteLive(t, path, 0, 0) },
		"removed": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(folder(t), "audit.jsonl")
			write(t, Options{Path: path, MaxBytes: 300, Keep: 50}, 1) // some rotated files
			l := openLog(t, Options{Path: path})
			for range 3 {
				if err := l.Journal(event("s")); err != nil {
					t.Fatal(err)
				}
			}
			tamper(t, path)
			if err := l.Journal(event("after")); err != nil {
				t.Fatal(err)
			}
			closeLog(t, l)
			broken(t, "", family(t, path)...)
		})
	}
}

// rewriteLive keeps the first lines of a file and some bytes of the next, in place.
func rewriteLive(tb testing.TB, path string, lines, more int) {
	tb.Helper()
	size := int64(more)
	for _, line := range read(tb, path)[:lines] {
		size += int64(len(line)) + 1
	}
	if err := os.Truncate(path, size); err != nil {
		tb.Fatal(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := folder(t)
	target := filepath.Join(dir, "target")
	for name, c := range map[string]struct {
		prepare func(path string) error
		part    string
	}{
		"symbolic link": {func(path string) error { return os.Symlink(target, path) }, "symbolic link"},
		"pipe":          {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "regular file"},
		"folder":        {func(path string) error { return os.Mkdir(path, 0o700) }, "symbolic link"},
		"another kind of file": {func(path string) error {
			return os.WriteFile(path, []byte("root:x:0:0\n"), 0o600)
		}, "does not begin as an audit file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
			if err := c.prepare(path); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(Options{Path: path}); err == nil || !strings.Contains(err.Error(), c.part) {
				t.Errorf("Open = %v, want an error with %q", err, c.part)
			}
		})
	}
	if _, err := os.Lstat(target); err == nil {
		t.Error("Open created the target of the symbolic link, want an error without it")
	}
	t.Run("folder for everybody", func(t *testing.T) {
		open := filepath.Join(dir, "open")
		if err := os.Mkdir(open, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(open, 0o777); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(Options{Path: filepath.Join(open, "audit.jsonl")}); err == nil ||
			!strings.Contains(err.Error(), "everybody may write") {
			t.Errorf("Open in a folder for everybody = %v, want an error", err)
		}
	})
	t.Run("no folder", func(t *testing.T) {
		if _, err := Open(Options{Path: filepath.Join(dir, "none", "audit.jsonl")}); err == nil {
			t.Error("Open without the folder succeeded, want an error")
		}
	})
	t.Run("too open", func(t *testing.T) {
		path := filepath.Join(dir, "wide")
		write(t, Options{Path: path}, 1)
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		write(t, Options{Path: path}, 1)
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode after Open = %v, %v; want 0600", info.Mode(), err)
		}
	})
}

func BenchmarkJournal(b *testing.B) {
	for _, fsync := range []Fsync{FsyncNever, FsyncAlways} {
		b.Run(string(fsync), func(b *testing.B) {
			l := openLog(b, Options{Path: filepath.Join(folder(b), "audit.jsonl"), Fsync: fsync})
			for b.Loop() {
				if err := l.Journal(event("s")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Actions of a caller that names an agent or evidence are recorded with both, including
// reads.
func TestAgent(t *testing.T) {
	path := filepath.Join(folder(t), "audit.jsonl")
	l := openLog(t, Options{Path: path})
	secret := leaktest.Secret(t, "hunter3-1138")
	l.Observe(term.Event{Verb: term.VerbRead, Size: 1})
	l.Observe(term.Event{Verb: term.VerbRead, Size: 2, Actor: term.Actor{Agent: "leader"}})
	l.Observe(term.Event{Verb: term.VerbRead, Size: 3, Actor: term.Actor{Evidence: "ev-1"}})
	l.Observe(
		term.Event{
			Verb:  term.VerbWrite,
			Size:  4,
			Actor: term.Actor{Agent: "password=" + secret, Evidence: strings.Repeat("x", 10*maxName)},
		},
	)
	l.Observe(term.Event{Verb: term.VerbOutput, Size: 5, Actor: term.Actor{Agent: "leader"}})
	closeLog(t, l)
	var sizes []int
	var actors []Actor
	for _, n := range entries(t, path) {
		if n.Bytes > 0 {
			sizes, actors = append(sizes, n.Bytes), append(actors, *n.Actor)
		}
	}
	if !slices.Equal(sizes, []int{2, 3, 4}) || actors[0].Agent != "leader" || actors[1].Evidence != "ev-1" {
		t.Fatalf("sizes and actors = %v %+v, want the last three with leader and ev-1", sizes, actors)
	}
	if a := actors[2]; a.Agent != "password=[redacted]" || len(a.Evidence) > maxName+64 {
		t.Errorf("actor with a secret and long evidence = %+v, want both cut", a)
	}
}
