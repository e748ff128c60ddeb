package cli

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"filippo.io/age"

	"ptyctl/internal/lab"
	"ptyctl/internal/lab/system"
	"ptyctl/record"
)

// recordedSession is a session of a shell that has a recording, and its folder.
func recordedSession(t *testing.T, lines ...string) (h *lab.Home, id, path string) {
	t.Helper()
	h = lab.NewHome(t, lines...)
	c := h.Connect(t)
	id = c.OpenLocal(t, []string{"/bin/sh"}, "")
	for _, line := range []string{"PS1='$ '; echo fi''rst\n", `printf '\033[31mRed\033[m\033]0;title\a\n'; echo se''cond` + "\n"} {
		c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":%s}`, id, line)
	}
	c.Expect(t, id, "second")
	c.Close(t, id)
	c.Finish()
	path, err := record.Find(h.Recordings, id)
	if err != nil {
		t.Fatal(err)
	}
	h.Program = lab.PlainBinary // for many calls, each in a process of its own
	return h, id, path
}

// TestRecordings: the commands about recordings, and their refusals.
func TestRecordings(t *testing.T) {
	h, id, path := recordedSession(t)
	h.Env = append(h.Env, "PTYCTL_RECORD_DIR="+h.Recordings)
	out := filepath.Join(h.Dir, "out.svg")
	forged := filepath.Join(h.Recordings, "20260101T000000Z-forged.cast")
	h.Write(t, forged, `{"version":3,"term":{"cols":80,"rows":24},"ptyctl":{"session":"s\u009b31m"}}`+"\n"+`[0, "o", "\u001b]52;c;eA==\u0007for`+"\u009b1m"+`ged"]`+"\n[broken\n")
	for _, c := range []struct {
		words  string
		status int
		says   string // in the output, and of errors in theirs
	}{
		{"recordings list", 0, id + "  localhost"},
		{"recordings list --json", 0, `"session_id":"` + id + `"`},
		{"recordings show " + id, 0, "open: /bin/sh by "},
		{"recordings show " + path, 0, "state open: terminal 120x40"},
		{"recordings verify " + id, 0, "1 seal, complete"},
		{"recordings verify " + id + " " + forged, 1, forged + ": there is no seal"},
		{"recordings search seco.d", 0, filepath.Base(path) + ":0:0"},
		{"recordings search -i RED", 0, "Red\n"},
		{"recordings search -n 1 second", 0, "second"},
		{"recordings search nosuchword", 1, "no line of 2 recordings matches"},
		{"recordings search for1mged", 0, "for1mged"},
		{"recordings search (", 2, "is not a pattern"},
		{"recordings search -n 0 x", 2, "-n takes a number of lines from 1 on"},
		{"recordings export --to txt " + id, 0, "Red\n"},
		{"recordings export --to v2 " + id, 0, `"version":2,"width":120,"height":40`},
		{"recordings export --to v3 " + id, 0, "# ptyctl seal 1 end"},
		{"recordings export --to svg -o " + out + " " + id, 0, ""},
		{"recordings export --to svg -o " + out + " " + id, 1, "exists"},
		{"recordings export --to gif " + id, 2, "--to takes v2, txt, svg or v3"},
		{"recordings export --to svg --max-bytes 0 " + id, 2, "--max-bytes takes"},
		{"recordings show nosuch-session", 1, "has no recording of a session"},
		{"recordings show " + filepath.Join(h.Dir, "nosuch.cast"), 1, "no such file"},
		{"recordings show --identity " + path + " " + id, 2, "--identity"},
		{"recordings verify", 2, "needs FILE|ID"},
		{"replay --still --at 1h " + id, 0, "Red\nsecond\n"},
		{"replay --still --to-marker 1 " + id, 0, "0:00.0, 1 markers"},
		{"replay --speed 1000 " + id, 0, "Red"},
		{"replay --to-marker 99 " + id, 1, "marker 99 does not exist"},
		{"replay --speed 0 " + id, 2, "--speed takes"},
		{"replay --speed NaN " + id, 2, "--speed takes"},
		{"replay --at -1s " + id, 2, "not negative"},
		{"replay --at 1s --to-marker 1 " + id, 2, "cannot be given together"},
		{"replay", 2, "needs FILE|ID"},
	} {
		words := strings.Fields(c.words)
		stdout, stderr, status := h.Run(t, words...)
		if status != c.status || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("ptyctl %s: status %d, want %d; it says %q %q, want %q", c.words, status, c.status, stdout, stderr, c.says)
		}
		if strings.Contains(stdout+stderr, "\x1b]") || strings.Contains(stdout+stderr, "\u009b") {
			t.Errorf("ptyctl %s passes a sequence of the recording on: %q %q", c.words, stdout, stderr)
		}
	}
	if svg := lab.ReadFile(t, out); !strings.Contains(string(svg), ">Red</text>") {
		t.Errorf("the picture is %s", svg)
	}
	for line := range strings.Lines(first(h.Run(t, "recordings", "list", "--json"))) {
		if !json.Valid([]byte(line)) {
			t.Errorf("recordings list --json prints %q", line)
		}
	}
}

func first(stdout, _ string, _ int) string { return stdout }

// TestReplayAtTerminal: a person replays a recording, jumps in it, and has their terminal back.
func TestReplayAtTerminal(t *testing.T) {
	h, id, path := recordedSession(t)
	p := h.AtTerminal(t, "replay", "--dir", h.Recordings, "--idle", "10ms", id)
	p.Sees("Red")
	p.Sees("second")
	p.Leaves(0)
	p.WantSane()
	if strings.Contains(p.Text(), "title") && strings.Contains(p.Text(), "\x1b]0;") {
		t.Errorf("the replay sets the title of the terminal: %q", p.Text())
	}
	p = h.AtTerminal(t, "replay", "--speed", "0.01", path)
	p.Sees(`\x1b`) // it draws
	p.Types("nnnn")
	p.Sees("first")
	p.Types(" q")
	p.Leaves(0)
	p.WantSane()
	p = h.AtTerminal(t, "replay", "--speed", "0.01", path)
	p.Sees(`\x1b`)
	if err := p.Cmd.Process.Signal(syscall.SIGHUP); err != nil { // as when the window is closed
		t.Fatal(err)
	}
	p.Leaves(0)
	p.WantSane()
	p = h.AtTerminal(t, "recordings", "export", "--to", "v3", path)
	p.Sees("give -o FILE")
	p.Leaves(2)
}

// TestRecordingsEncrypted: encrypted recordings are listed, and read with an identity.
func TestRecordingsEncrypted(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	h, id, path := recordedSession(t, "[record]\nrecipients = ['"+key.Recipient().String()+"']")
	identity := filepath.Join(t.TempDir(), "key.txt")
	if err := os.WriteFile(identity, []byte(key.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p := lab.ReadFile(t, path); !strings.HasSuffix(path, ".cast.age") || strings.Contains(string(p), "second") {
		t.Fatalf("%s is not encrypted", path)
	}
	for words, says := range map[string]string{
		"recordings list":                                      id,
		"recordings list --identity " + identity:               "complete",
		"recordings verify --identity " + identity:             "1 seal, complete",
		"recordings export --to v3 --identity " + identity:     "# ptyctl seal 1 end",
		"recordings search --identity " + identity + " second": "second",
		"replay --still --at 1h --identity " + identity:        "Red\nsecond\n",
	} {
		line := append(strings.Fields(words), "")
		line = append(line[:2], append([]string{"--dir", h.Recordings}, line[2:len(line)-1]...)...)
		if line[0] == "replay" {
			line = append([]string{"replay", "--dir", h.Recordings}, strings.Fields(words)[1:]...)
		}
		if !strings.Contains(words, "list") {
			line = append(line, path)
		}
		if stdout, stderr, status := h.Run(t, line...); status != 0 || !strings.Contains(stdout, says) {
			t.Errorf("ptyctl %q: status %d: %q %q, want %q", line, status, stdout, stderr, says)
		}
	}
	if _, stderr, status := h.Run(t, "recordings", "show", path); status != 1 || !strings.Contains(stderr, "encrypted") {
		t.Errorf("without an identity: status %d, %q", status, stderr)
	}
	if stdout, stderr, status := h.Run(t, "audit", "verify", h.Audit); status != 0 || !strings.Contains(stdout, "1 of them complete") {
		t.Errorf("audit verify: status %d, %q %q", status, stdout, stderr)
	}
}

// TestRecordingsInterrupted: ctrl-c ends a command that reads a file without an end.
func TestRecordingsInterrupted(t *testing.T) {
	h := lab.NewHome(t)
	h.Program = lab.PlainBinary
	pipe := filepath.Join(h.Dir, "pipe.cast")
	if err := system.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"recordings show", "recordings verify", "recordings export --to v3", "audit verify"} {
		cmd := h.Command(append(strings.Fields(words), pipe)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		in, err := os.OpenFile(pipe, os.O_WRONLY, 0) // which waits until the command reads it
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		// Audit verify does not wait for a writer: it may have read the end of the pipe before there was one.
		if err := cmd.Wait(); !errors.As(err, new(*exec.ExitError)) {
			t.Errorf("%s of a pipe, interrupted, ended with %v, want the signal or a failure", words, err)
		}
		_ = in.Close()
	}
}

// TestReplayTooLarge: a person learns that their terminal is too small before the recording draws over it.
func TestReplayTooLarge(t *testing.T) {
	h := lab.NewHome(t)
	path := filepath.Join(h.Dir, "large.cast")
	h.Write(t, path, `{"version":3,"term":{"cols":100,"rows":30}}`+"\n"+`[0, "o", "the recording"]`+"\n")
	for _, tt := range []struct {
		keys string
		size int // columns of the terminal, after the notice; 0: as before
		show bool
	}{{keys: "x", show: true}, {keys: "q"}, {keys: "\x03"}, {size: 120, show: true}} {
		p := h.AtTerminal(t, "replay", path)
		p.Sees(`the recording is 100x30, and this terminal 80x24: enlarge it to see all; any key begins, q ends\r\n`)
		if strings.Contains(p.Text(), "the recording\r") {
			t.Errorf("the recording begins before the notice is read: %q", p.Text())
		}
		if tt.size > 0 {
			p.Resize(tt.size, 40)
		}
		p.Types(tt.keys)
		p.Leaves(0)
		p.WantSane()
		if shown := strings.Contains(p.Text(), "the recording\x1b") || strings.HasSuffix(p.Text(), "the recording\r\n"); shown != tt.show {
			t.Errorf("keys %q, size %d: the recording was shown: %t, want %t: %q", tt.keys, tt.size, shown, tt.show, p.Text())
		}
	}
}
