package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// A session of gdb: breakpoint, registers, disassembly, steps, backtrace, and the end.
func TestLocalGDB(t *testing.T) {
	program := lab.CompileC(t)
	c := lab.ConnectLocal(t)
	id := c.OpenLocal(t, []string{"gdb", "-q", "-nx", program}, `,"pty":{"term":"dumb","cols":200,"rows":50}`)
	c.Expect(t, id, `\(gdb\) $`)
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
		r := c.Enter(t, id, step.typed+"\r", `(?:^|\n|\r)\(gdb\) $`)
		if !strings.Contains(r.Chunk, step.shows) {
			t.Errorf("%s: %q, want %q in it", step.typed, r.Chunk, step.shows)
		}
		if strings.Contains(r.Chunk, "\x1b") {
			t.Errorf("%s: escape sequences on a dumb terminal: %q", step.typed, r.Chunk)
		}
	}
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"quit\r"}`, id)
	c.AwaitEnd(t, id)
	if s := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id); !lab.IsCode(s.Session.ExitCode, 0) {
		t.Errorf("status after gdb's quit = %s, want exit code 0", s.Text)
	}
	c.Close(t, id)
}

// Commands of exec go to the program that reads the terminal: gdb's prompt ends them, and there is no exit code.
func TestLocalExecInGDB(t *testing.T) {
	program := lab.CompileC(t)
	c := lab.ConnectLocal(t)
	id := c.OpenLocal(
		t,
		[]string{"gdb", "-q", "-nx", program},
		`,"pty":{"term":"dumb"},"expect":{"prompt_regex":"\\(gdb\\) $"}`,
	)
	c.Expect(t, id, `\(gdb\) $`)
	r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"print 6*7","class":"device"}`, id)
	if r.Stdout != "$1 = 42\n" || r.DoneReason != "prompt_seen" || r.ExitCode != nil {
		t.Errorf("exec of print 6*7 in gdb = %s, want \"$1 = 42\\n\" up to the prompt, and no exit code", r.Text)
	}
	c.Close(t, id)
}

// vim without a screen edits a file, steered by its arguments or by typed commands.
func TestLocalVim(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := lab.ConnectLocal(t)
	r := c.Call(t, lab.ToolRun, `{"argv":["vim","-Nu","NONE","-Es",%s,"-c","%%s/two/three/","-c","wq"]}`, file)
	if !lab.IsCode(r.ExitCode, 0) {
		t.Errorf("run of vim -Es = %s, want exit code 0", r.Text)
	}
	id := c.OpenLocal(t, []string{"vim", "-Nu", "NONE", "-Es", file}, "")
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"$append\rfour\r.\rwq\r"}`, id)
	c.AwaitEnd(t, id)
	c.Close(t, id)
	if text, err := os.ReadFile(file); err != nil || string(text) != "one\nthree\nfour\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// The interactive Python keeps its state, and takes ctrl_c.
func TestLocalPython(t *testing.T) {
	c := lab.ConnectLocal(t)
	id := c.OpenLocal(t, []string{"/usr/bin/python3", "-q"}, "")
	c.Expect(t, id, `>>> $`)
	c.Enter(t, id, "x = 6 * 7\r", `>>> $`)
	c.Enter(t, id, "print('is', x)\r", `\nis 42\n>>> $`)
	c.Enter(t, id, "import time; print('sle' + 'eps'); time.sleep(1000)\r", `sleeps\n`)
	r := c.Call(
		t,
		lab.ToolIO,
		`{"action":"write","session_id":%s,"key":"ctrl_c","until_regex":">>> $","timeout_ms":20000}`,
		id,
	)
	if !r.Matched || !strings.Contains(r.Chunk, "KeyboardInterrupt") {
		t.Errorf("ctrl_c in Python's sleep gives %s, want KeyboardInterrupt and a prompt", r.Text)
	}
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"raise SystemExit(9)\r"}`, id)
	c.AwaitEnd(t, id)
	if s := c.Call(t, lab.ToolSession, `{"action":"close","session_id":%s}`, id); !lab.IsCode(s.ExitCode, 9) {
		t.Errorf("close after SystemExit(9) = %s, want exit code 9", s.Text)
	}
}

// A full-screen program must redraw when its window is resized.
func TestLocalFullScreen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte(strings.Repeat("a line of the text\n", 200)), 0o600); err != nil {
		t.Fatal(err)
	}
	c := lab.ConnectLocal(t)
	id := c.OpenLocal(
		t,
		[]string{"vim", "-Nu", "NONE", "-c", "set ruler laststatus=2 statusline=%{&lines}x%{&columns}", file},
		`,"pty":{"cols":80,"rows":24}`,
	)
	c.Expect(t, id, `24x80`)
	c.Refused(t, "BUSY", lab.ToolExec, `{"session_id":%s,"cmd":"true","class":"posix"}`, id)
	before := c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"mode":"tail","max_lines":1}`, id)
	c.Call(t, lab.ToolConfig, `{"action":"resize","session_id":%s,"cols":132,"rows":43}`, id)
	if r := c.Call(
		t, lab.ToolIO,
		`{"action":"read","session_id":%s,"cursor":%s,"until_regex":"43x132","timeout_ms":20000,"max_bytes":262144}`, id,
		before.NextCursor,
	); !r.Matched {
		t.Errorf("after the resize: %s", lab.Tail(r.Text, 2000))
	}
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"\u001b:q!\r"}`, id)
	c.AwaitEnd(t, id)
	if s := c.Call(t, lab.ToolSession, `{"action":"close","session_id":%s}`, id); !lab.IsCode(s.ExitCode, 0) {
		t.Errorf("close after vim's :q! = %s, want exit code 0", s.Text)
	}
}

// ptyctl knows a program's shell from its name: without a probe, and with markers from the first command on.
func TestLocalShells(t *testing.T) {
	c := lab.ConnectLocal(t)
	for _, argv := range [][]string{
		{"sh"},
		{"bash", "--norc"},
		{"dash"},
		{"zsh", "-f"},
		{"fish", "--no-config"},
		{"mksh"},
		{"tcsh", "-f"},
		{"busybox", "ash"},
	} {
		t.Run(strings.Join(argv, " "), func(t *testing.T) {
			id := c.OpenLocal(t, argv, "")
			c.Expect(t, id, `[$#%>] ?(?:\x1b.*)?$`)
			time.Sleep(100 * time.Millisecond) // some draw their prompt twice
			r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo from $0; (exit 5)","timeout_ms":15000}`, id)
			if argv[0] == "fish" || argv[0] == "tcsh" {
				r = c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"sh -c 'echo from; exit 5'","timeout_ms":15000}`, id)
			}
			if !lab.IsCode(r.ExitCode, 5) || !strings.HasPrefix(r.Stdout, "from") || r.DoneReason != "marker_seen" {
				t.Errorf("exec in %q = %s, want stdout \"from...\", exit code 5 and marker_seen", argv, r.Text)
			}
			c.Close(t, id)
		})
	}
}
