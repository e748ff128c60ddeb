package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// compile builds the C program of testdata, with symbols and fixed addresses.
func compile(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "simple")
	if out, err := exec.Command("gcc", "-g", "-O0", "-fno-pie", "-no-pie", "-o", path, "testdata/simple.c").CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s; run scripts/install-test-deps", err, out)
	}
	return path
}

// A session of gdb: breakpoint, registers, disassembly, steps, backtrace, and the end.
func TestLocalGDB(t *testing.T) {
	program := compile(t)
	c := connectLocal(t)
	id := c.openLocal(t, []string{"gdb", "-q", "-nx", program}, `,"pty":{"term":"dumb","cols":200,"rows":50}`)
	c.expect(t, id, `\(gdb\) $`)
	for _, step := range []struct{ typed, shows string }{
		{"set pagination off", ""},
		{"break check", "Breakpoint 1 at 0x"},
		{"run wrong", "Breakpoint 1, check (word=0x"},
		{"info registers rip", "rip            0x"},
		{"x/i $rip", "=> 0x"},
		{"ni", ""},
		{"si", ""},
		{"bt", "#1  0x"},
		{"delete 1", ""},
		{"continue", "exited with code 07"},
	} {
		r := c.enter(t, id, step.typed+"\r", `(?:^|\n|\r)\(gdb\) $`)
		if !strings.Contains(r.Chunk, step.shows) {
			t.Errorf("%s: %q, want %q in it", step.typed, r.Chunk, step.shows)
		}
		if strings.Contains(r.Chunk, "\x1b") {
			t.Errorf("%s: escape sequences on a dumb terminal: %q", step.typed, r.Chunk)
		}
	}
	c.call(t, toolIO, `{"action":"write","session_id":%s,"data":"quit\r"}`, id)
	c.awaitEnd(t, id)
	if s := c.call(t, toolSession, `{"action":"status","session_id":%s}`, id); !isCode(s.Session.ExitCode, 0) {
		t.Errorf("%s", s.text)
	}
	c.close(t, id)
}

// Commands of exec go to whatever reads the terminal: gdb's prompt ends them, and there is no exit code.
func TestLocalExecInGDB(t *testing.T) {
	program := compile(t)
	c := connectLocal(t)
	id := c.openLocal(
		t,
		[]string{"gdb", "-q", "-nx", program},
		`,"pty":{"term":"dumb"},"expect":{"prompt_regex":"\\(gdb\\) $"}`,
	)
	c.expect(t, id, `\(gdb\) $`)
	r := c.call(t, toolExec, `{"session_id":%s,"cmd":"print 6*7","class":"device"}`, id)
	if r.Stdout != "$1 = 42\n" || r.DoneReason != "prompt_seen" || r.ExitCode != nil {
		t.Errorf("%s", r.text)
	}
	c.close(t, id)
}

// vim without a screen edits a file, told by its arguments or by what is typed.
func TestLocalVim(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := connectLocal(t)
	r := c.call(t, toolRun, `{"argv":["vim","-Nu","NONE","-Es",%s,"-c","%%s/two/three/","-c","wq"]}`, file)
	if !isCode(r.RC, 0) {
		t.Errorf("%s", r.text)
	}
	id := c.openLocal(t, []string{"vim", "-Nu", "NONE", "-Es", file}, "")
	c.call(t, toolIO, `{"action":"write","session_id":%s,"data":"$append\rfour\r.\rwq\r"}`, id)
	c.awaitEnd(t, id)
	c.close(t, id)
	if text, err := os.ReadFile(file); err != nil || string(text) != "one\nthree\nfour\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// The interactive Python keeps its state, and takes ctrl_c.
func TestLocalPython(t *testing.T) {
	c := connectLocal(t)
	id := c.openLocal(t, []string{"/usr/bin/python3", "-q"}, "")
	c.expect(t, id, `>>> $`)
	c.enter(t, id, "x = 6 * 7\r", `>>> $`)
	c.enter(t, id, "print('is', x)\r", `\nis 42\r\n>>> $`)
	c.enter(t, id, "import time; print('sle' + 'eps'); time.sleep(1000)\r", `sleeps\r\n`)
	r := c.call(
		t,
		toolIO,
		`{"action":"write","session_id":%s,"key":"ctrl_c","until_regex":">>> $","timeout_ms":20000}`,
		id,
	)
	if !r.Matched || !strings.Contains(r.Chunk, "KeyboardInterrupt") {
		t.Errorf("%s", r.text)
	}
	c.call(t, toolIO, `{"action":"write","session_id":%s,"data":"raise SystemExit(9)\r"}`, id)
	c.awaitEnd(t, id)
	if s := c.call(t, toolSession, `{"action":"close","session_id":%s}`, id); !isCode(s.ExitCode, 9) {
		t.Errorf("%s", s.text)
	}
}

// A full-screen program draws itself anew in a window that is resized while it runs.
func TestLocalFullScreen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte(strings.Repeat("a line of the text\n", 200)), 0o600); err != nil {
		t.Fatal(err)
	}
	c := connectLocal(t)
	id := c.openLocal(
		t,
		[]string{"vim", "-Nu", "NONE", "-c", "set ruler laststatus=2 statusline=%{&lines}x%{&columns}", file},
		`,"pty":{"cols":80,"rows":24}`,
	)
	c.expect(t, id, `24x80`)
	c.refused(t, "BUSY", toolExec, `{"session_id":%s,"cmd":"true","class":"posix"}`, id)
	before := c.call(t, toolIO, `{"action":"read","session_id":%s,"mode":"tail","max_lines":1}`, id)
	c.call(t, toolConfig, `{"action":"resize","session_id":%s,"cols":132,"rows":43}`, id)
	if r := c.call(t, toolIO, `{"action":"read","session_id":%s,"cursor":%s,"until_regex":"43x132","timeout_ms":20000,"max_bytes":262144}`, id, before.NextCursor); !r.Matched {
		t.Errorf("after the resize: %s", tail(r.text, 2000))
	}
	c.call(t, toolIO, `{"action":"write","session_id":%s,"data":"\u001b:q!\r"}`, id)
	c.awaitEnd(t, id)
	if s := c.call(t, toolSession, `{"action":"close","session_id":%s}`, id); !isCode(s.ExitCode, 0) {
		t.Errorf("%s", s.text)
	}
}

// What is known of a program's shell comes from its name: no probe, and markers from the first command on.
func TestLocalShells(t *testing.T) {
	c := connectLocal(t)
	for _, argv := range [][]string{{"sh"}, {"bash", "--norc"}, {"dash"}, {"zsh", "-f"}, {"fish", "--no-config"}, {"mksh"}, {"tcsh", "-f"}, {"busybox", "ash"}} {
		t.Run(strings.Join(argv, " "), func(t *testing.T) {
			id := c.openLocal(t, argv, "")
			c.expect(t, id, `[$#%>] ?(?:\x1b.*)?$`)
			time.Sleep(100 * time.Millisecond) // some draw their prompt twice
			r := c.call(t, toolExec, `{"session_id":%s,"cmd":"echo from $0; (exit 5)","timeout_ms":15000}`, id)
			if argv[0] == "fish" || argv[0] == "tcsh" {
				r = c.call(t, toolExec, `{"session_id":%s,"cmd":"sh -c 'echo from; exit 5'","timeout_ms":15000}`, id)
			}
			if !isCode(r.ExitCode, 5) || !strings.HasPrefix(r.Stdout, "from") || r.DoneReason != "marker_seen" {
				t.Errorf("%s", r.text)
			}
			c.close(t, id)
		})
	}
}
