package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/term"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// opening are the events of a session that opens.
func opening(r term.Observer, cols, rows int) {
	r.Observe(term.Event{Verb: term.VerbOpen, Session: "web1-k3f9q2zd", Protocol: "ssh", Host: "web1", Detail: "alice@web1:22", Actor: actor})
	r.Observe(term.Event{Verb: term.VerbState, Session: "web1-k3f9q2zd", Protocol: "ssh", Host: "web1", State: "open", From: "connecting", Detail: fmt.Sprintf("terminal %dx%d", cols, rows)})
}

var actor = term.Actor{Transport: "stdio", Client: "claude", Task: "t1", Call: "call-7"}

func output(text string) term.Event {
	return term.Event{Verb: term.VerbOutput, Data: []byte(text), Size: len(text)}
}

// ran are the events of a command beside the terminal.
func ran(r *Recorder, id, line, stdout, stderr string, code int) {
	r.Observe(term.Event{Verb: term.VerbExec, Exec: id, Detail: "channel", Command: line, Actor: actor})
	if stdout != "" {
		r.ObserveExec(term.Event{Verb: term.VerbExecOutput, Exec: id, Detail: "stdout", Data: []byte(stdout)})
	}
	if stderr != "" {
		r.ObserveExec(term.Event{Verb: term.VerbExecOutput, Exec: id, Detail: "stderr", Data: []byte(stderr)})
	}
	r.Observe(term.Event{
		Verb: term.VerbExecEnd, Exec: id, Detail: "channel", State: "ended", Duration: 1500 * time.Millisecond,
		Exit: &term.Exit{Known: true, Code: code}, Actor: actor,
	})
}

// read returns the events of a recording.
func read(tb testing.TB, cast []byte) (Header, []Event) {
	tb.Helper()
	r, err := NewReader(bytes.NewReader(cast))
	if err != nil {
		tb.Fatal(err)
	}
	var all []Event
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.Header, all
		}
		if err != nil {
			tb.Fatalf("%v in\n%s", err, cast)
		}
		all = append(all, e)
	}
}

// recorded returns the recording of the events that session passes to a Recorder.
func recorded(tb testing.TB, o Options, session func(r *Recorder)) []byte {
	tb.Helper()
	var b bytes.Buffer
	r := New(&b, o)
	session(r)
	if err := r.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// TestFile: a whole recording, byte for byte.
func TestFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := string(recorded(t, Options{Version: "1.2.3"}, func(r *Recorder) {
			opening(r, 80, 24)
			time.Sleep(1500 * time.Millisecond)
			r.Observe(output("$ \x1b[32mjä"[:9]))
			time.Sleep(time.Microsecond)
			r.Observe(output("$ jä"[4:] + "\xff\r\n\"\\\t"))
			r.Observe(term.Event{Verb: term.VerbWrite, Size: 8, Sensitive: true, Actor: actor})
			r.Observe(term.Event{Verb: term.VerbResize, Detail: "100x30", Actor: actor})
			r.Observe(term.Event{Verb: term.VerbRead, Size: 8, Actor: actor})
			r.Observe(term.Event{Verb: term.VerbState, State: "closed", From: "open", Detail: "the program exited with status 3", Exit: &term.Exit{Known: true, Code: 3}})
			time.Sleep(5 * time.Second)
			r.Observe(output("too late"))
		}))
		lines := strings.Split(got, "\n")
		head, seal := lines[0], lines[len(lines)-2]
		body := strings.Join(lines[1:len(lines)-2], "\n")
		const want = `[0, "m", "open alice@web1:22 by claude/t1 [call-7]"]
[0, "m", "state open: terminal 80x24"]
[1.5, "o", "$ \u001b[32mj"]
[0.000001, "o", "ä` + "\uFFFD" + `\r\n\"\\\u0009"]
[0, "m", "write 8 bytes, sensitive by claude/t1 [call-7]"]
[0, "m", "resize 100x30 by claude/t1 [call-7]"]
[0, "r", "100x30"]
[0, "m", "state closed: the program exited with status 3, exit 3"]
[1, "m", "1 bytes were not UTF-8, and are shown as ` + "\uFFFD" + `"]
[0, "x", "3"]`
		if body != want {
			t.Errorf("events:\n%s\nwant\n%s", body, want)
		}
		if !strings.HasPrefix(head, `{"version":3,"term":{"cols":80,"rows":24},"timestamp":946684800,"title":"web1-k3f9q2zd web1","ptyctl":{"recording":"rec-`) {
			t.Errorf("header = %s", head)
		}
		if !strings.HasPrefix(seal, "# ptyctl seal 1 end sha256=") {
			t.Errorf("last line = %q, want the last seal", seal)
		}
	})
}

// TestSealed: every changed byte, and each cut, is found; a cut at a seal shows that the end is missing.
func TestSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seals []Seal
		cast := recorded(t, Options{Sealed: func(s Seal) { seals = append(seals, s) }}, func(r *Recorder) {
			opening(r, 80, 24)
			for range 3 {
				r.Observe(output("some output\r\n"))
				time.Sleep(6 * time.Second)
			}
			r.Observe(output("more\r\n"))
		})
		path := filepath.Join(t.TempDir(), "a.cast")
		check := func(cast []byte, known *Seal) (Report, error) { return verify(path, bytes.NewReader(cast), known, nil) }
		rep, err := check(cast, nil)
		if err != nil || len(seals) != 4 || rep.Seals != 4 || !rep.Ended || rep.Open != 0 || rep.Last != seals[3] || seals[3].Bytes != int64(len(cast)) {
			t.Fatalf("Verify = %+v, %v; want four seals, the last of them %+v", rep, err, seals)
		}
		for i := range seals {
			if _, err := check(cast, &seals[i]); err != nil {
				t.Errorf("Verify with seal %d = %v, want it found", i+1, err)
			}
		}
		for at := range cast {
			changed := bytes.Clone(cast)
			changed[at] ^= 1
			if rep, err := check(changed, nil); err == nil && rep.Ended && rep.Open == 0 {
				t.Errorf("a changed bit in byte %d was not found", at)
			}
			if _, err := check(changed, &seals[3]); err == nil {
				t.Errorf("a changed bit in byte %d was not found with the last seal", at)
			}
			if rep, err := check(cast[:at], nil); err == nil && rep.Ended {
				t.Errorf("a cut at byte %d was not found", at)
			}
			if _, err := check(cast[:at], &seals[3]); err == nil {
				t.Errorf("a cut at byte %d was not found with the last seal", at)
			}
		}
		if _, err := check(append(bytes.Clone(cast), "[1, \"o\", \"x\"]\n"...), nil); err == nil {
			t.Error("a line behind the end was not found")
		}
		other := recorded(t, Options{}, func(r *Recorder) { opening(r, 80, 24) })
		if _, err := check(other, &seals[3]); err == nil {
			t.Error("another recording was taken for it")
		}
	})
}

// TestCommands: commands are drawn on a screen of their own, and the terminal's comes back.
func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leaktest.Secret(t, "hunter2-1138")
		cast := recorded(t, Options{}, func(r *Recorder) {
			opening(r, 40, 6)
			r.Observe(output("\x1b[31mred\x1b[2;5H$ "))
			time.Sleep(time.Second)
			ran(r, "exec-1", "mysql --password=hunter2-1138\necho b", "line 1\nline 2", "oops\n", 3)
			ran(r, "exec-2", "true", "", "", 0)
			time.Sleep(time.Second)
			r.Observe(output("ls"))
			time.Sleep(100 * time.Millisecond)
			ran(r, "exec-3", "id", "uid=0\n", "", 0)
			r.Observe(output("\r\na"))
			time.Sleep(time.Second)
		})
		leaktest.Output(t, "recording", string(cast))
		path := filepath.Join(t.TempDir(), "a.cast")
		if err := os.WriteFile(path, cast, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := Play(path)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		at := func(d time.Duration, shown, terminal string) {
			t.Helper()
			if err := p.Seek(d); err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimRight(p.Shown.Snapshot().Text(), "\n"); got != shown {
				t.Errorf("shown at %v:\n%s\nwant\n%s", d, got, shown)
			}
			if got := strings.TrimRight(p.Terminal.Snapshot().Text(), "\n"); got != terminal {
				t.Errorf("terminal at %v:\n%s\nwant\n%s", d, got, terminal)
			}
		}
		const commands = "line 2oops\n[exec-1: exit 3, 1.5s]\n$ true\n[exec-2: exit 0, 1.5s]"
		at(900*time.Millisecond, "red\n    $", "red\n    $")
		at(1500*time.Millisecond, "line 1\n"+commands, "red\n    $")
		at(2050*time.Millisecond, "red\n    $ ls", "red\n    $ ls")
		at(2150*time.Millisecond, "red\n    $ ls\na", "red\n    $ ls\na")
		at(2900*time.Millisecond, commands[strings.Index(commands, "$ true"):]+"\n$ id\nuid=0\n[exec-3: exit 0, 1.5s]", "red\n    $ ls\na")
		at(time.Millisecond, "red\n    $", "red\n    $")
		e, err := p.SeekMarker(3)
		if err != nil || !strings.HasPrefix(e.Text, "exec exec-1 (channel): mysql --password=[redacted] echo b by claude/t1") {
			t.Errorf("marker 3 = %q, %v", e.Text, err)
		}
	})
}
