package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"ptyctl/internal/lab"
	recording "ptyctl/record"
	"ptyctl/screen"
)

// playedSession is a session of a shell, with a program that draws the whole screen, a secret, a resize, and a command
// beside the terminal. It returns the recording, and its home.
func playedSession(t *testing.T) (h *lab.Home, path string) {
	t.Helper()
	const secret = "played-secret-1138"
	sshd := lab.StartSSHD(t)
	h = lab.HomeFor(t, []*lab.SSHD{sshd})
	h.Recordings = filepath.Join(h.Dir, "recordings")
	p := h.Connect(t)
	p.Hide(secret)
	id := p.Call(t, lab.ToolSession, `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":%s}`,
		sshd.Port, sshd.User).SessionID
	write := func(text, until, more string) {
		t.Helper()
		p.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":%s`+more+"}", id, text)
		p.Expect(t, id, until)
	}
	p.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo beside; echo wrong >&2; exit 3"}`, id)
	write("PS1='$ '; echo be''gun\n", "begun", "")
	write("read -r x\n", "read", "")
	write(secret+"\n", `\$ $`, `,"sensitive":true`)
	p.Call(t, lab.ToolConfig, `{"action":"resize","session_id":%s,"cols":100,"rows":30}`, id)
	write("seq 1 200 | less\n", "(?s)1\\s.*\\s28", "")
	write("q", `\$ $`, "")
	p.Close(t, id)
	p.Finish()
	p.EndEngine()
	all, err := filepath.Glob(filepath.Join(h.Recordings, "*.cast"))
	if err != nil || len(all) != 1 {
		t.Fatalf("%d recordings, %v; want one", len(all), err)
	}
	return h, all[0]
}

// TestRecordingPlays: asciinema-player plays a recording as it is, and asciinema 2 plays it after an export.
func TestRecordingPlays(t *testing.T) {
	h, path := playedSession(t)
	player, err := recording.Play(path)
	if err != nil {
		t.Fatal(err)
	}
	defer player.Close()
	var output strings.Builder
	var markers, sizes []string
	sizes = append(sizes, "120x40")
	for {
		e, err := player.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e.Code {
		case 'o':
			output.WriteString(e.Text)
		case 'm':
			markers = append(markers, e.Text)
		case 'r':
			sizes = append(sizes, e.Text)
		}
	}
	if !slices.ContainsFunc(markers, func(m string) bool {
		return strings.Contains(m, "18 bytes, sensitive") || strings.Contains(m, "19 bytes, sensitive")
	}) ||
		!slices.ContainsFunc(markers, func(m string) bool { return strings.Contains(m, ": exit 3, ") }) {
		t.Errorf("markers %q, want those of the secret and of the command's end", markers)
	}
	v2 := filepath.Join(h.Dir, "v2.cast")
	if _, stderr, status := h.Run(t, "recordings", "export", "--config", h.Config, "--to", "v2", "-o", v2, path); status != 0 {
		t.Fatalf("export: %s", stderr)
	}
	n := installedNode(t)
	cmd := n.run(t, n.script(t, "play.mjs"), filepath.Join(string(n), "asciinema-player", "dist"), path, v2)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	for i, line := range lines {
		var got struct {
			Output                 string
			Sizes, Markers, Errors []string
		}
		if err := json.Unmarshal(line, &got); err != nil || len(lines) != 2 {
			t.Fatalf("%v: %s", err, out)
		}
		if got.Output != output.String() || !slices.Equal(got.Markers, markers) || !slices.Equal(got.Sizes, sizes) || len(got.Errors) > 0 {
			t.Errorf("asciinema-player, file %d: %d bytes of output, sizes %q, markers %q, errors %q; want %d, %q, %q",
				i, len(got.Output), got.Sizes, got.Markers, got.Errors, output.Len(), sizes, markers)
		}
	}
	// asciinema needs a terminal, which script(1) gives it.
	played := exec.Command("script", "-qec", "stty raw; asciinema cat '"+v2+"'", "/dev/null")
	played.Env = []string{"HOME=" + t.TempDir(), "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "TERM=xterm"}
	if out, err = played.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("beside")) {
		t.Fatalf("asciinema: %v: %q", err, out)
	}
	shown, want := screen.New(100, 30), screen.New(100, 30)
	_, _ = shown.Write(out)
	_, _ = want.Write([]byte(output.String()))
	if a, b := shown.Snapshot().Text(), want.Snapshot().Text(); a != b {
		t.Errorf("asciinema shows\n%s\nwant\n%s", a, b)
	}
}

// TestRecordingVerified: audit verify finds a changed byte, a cut tail and an exchanged file; the recording of a killed
// ptyctl is whole up to its last seal.
func TestRecordingVerified(t *testing.T) {
	t.Parallel() // it waits for a seal, as the next
	h := lab.NewHome(t)
	h.Recordings = filepath.Join(h.Dir, "recordings")
	p := h.Connect(t)
	first := p.OpenLocal(t, []string{"/bin/sh"}, "")
	p.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"echo one\n"}`, first)
	p.Expect(t, first, "one")
	p.Close(t, first)
	second := p.OpenLocal(t, []string{"/bin/sh"}, "")
	p.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"echo before the seal\n"}`, second)
	path := func(id string) (path string) {
		t.Helper()
		lab.Eventually(t, "the recording of "+id, func() bool {
			var err error
			path, err = recording.Find(h.Recordings, id)
			return err == nil
		})
		return path
	}
	lab.Eventually(t, "a seal", func() bool {
		return bytes.Contains(lab.ReadFile(t, path(second)), []byte("# ptyctl seal 1 "))
	})
	lab.Eventually(t, "its line in the audit log", func() bool {
		return bytes.Contains(lab.ReadFile(t, h.Audit), []byte(filepath.Base(path(second))))
	})
	p.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"echo after the seal\n"}`, second)
	time.Sleep(200 * time.Millisecond) // it is written, and not sealed
	p.KillEngine()

	verify := func(status int, says ...string) {
		t.Helper()
		stdout, stderr, got := h.Run(t, "audit", "verify", h.Audit)
		for _, text := range says {
			if !strings.Contains(stdout+stderr, text) {
				t.Errorf("audit verify says %q %q, want %q", stdout, stderr, text)
			}
		}
		if got != status {
			t.Errorf("audit verify has the status %d, want %d: %s %s", got, status, stdout, stderr)
		}
	}
	verify(0, "ok: 2 recordings as the log says, 1 of them complete", "prove nothing")
	player, err := recording.Play(path(second))
	if err != nil {
		t.Fatal(err)
	}
	if err := player.Seek(time.Hour); err != nil || !strings.Contains(player.Shown.Snapshot().Text(), "before the seal") {
		t.Errorf("%v, and it shows\n%s", err, player.Shown.Snapshot().Text())
	}
	_ = player.Close()

	a, b := lab.ReadFile(t, path(first)), lab.ReadFile(t, path(second))
	for what, c := range map[string]struct {
		path string
		to   []byte
		says string
	}{
		"a changed byte":     {path(first), bytes.Replace(a, []byte("one"), []byte("two"), 1), "that was changed"},
		"a cut tail":         {path(first), a[:len(a)/2], "its tail was cut off"},
		"a cut at a seal":    {path(second), b[:bytes.Index(b, []byte("# ptyctl seal"))], "its tail was cut off"},
		"an exchanged file":  {path(second), a, "another recording"},
		"a line at the end":  {path(first), append(bytes.Clone(a), "[1, \"o\", \"x\"]\n"...), "it was added"},
		"a file that is not": {path(first), nil, "is gone"},
	} {
		before := lab.ReadFile(t, c.path)
		if err := os.WriteFile(c.path, c.to, 0o600); err != nil {
			t.Fatal(err)
		}
		if c.to == nil {
			_ = os.Remove(c.path)
		}
		t.Log(what)
		verify(1, c.says)
		if err := os.WriteFile(c.path, before, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	verify(0, "ok: 2 recordings")
}

// TestRecordingEncryptedKilled: an encrypted recording of a killed ptyctl is whole up to its last seal, and the audit
// log shows, without an identity, whether it was changed.
func TestRecordingEncryptedKilled(t *testing.T) {
	t.Parallel()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	h := lab.NewHome(t, "[record]\nrecipients = ['"+key.Recipient().String()+"']")
	p := h.Connect(t)
	id := p.OpenLocal(t, []string{"/bin/sh"}, "")
	p.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"echo before the seal\n"}`, id)
	p.Expect(t, id, "before the seal")
	var path string
	lab.Eventually(t, "the recording, and its first seal in the audit log", func() bool {
		path, err = recording.Find(h.Recordings, id)
		return err == nil && bytes.Contains(lab.ReadFile(t, h.Audit), []byte(filepath.Base(path)))
	})
	p.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"echo after the seal\n"}`, id)
	p.KillEngine()
	rep, err := recording.Verify(path, nil, key)
	if err != nil || rep.Seals < 1 || rep.Ended || rep.Open != 0 {
		t.Errorf("Verify = %+v, %v; want it to end at a seal that is not the last", rep, err)
	}
	player, err := recording.Play(path, key)
	if err != nil {
		t.Fatal(err)
	}
	defer player.Close()
	if err := player.Seek(time.Hour); err != nil || !strings.Contains(player.Shown.Snapshot().Text(), "before the seal") {
		t.Errorf("%v, and it shows\n%s", err, player.Shown.Snapshot().Text())
	}
	before := lab.ReadFile(t, path)
	for what, c := range map[string]struct {
		to     []byte
		status int
		says   string
	}{
		"nothing changed": {before, 0, "ok: 1 recording as the log says, 0 of them complete"},
		"a changed byte":  {append([]byte{before[0] ^ 1}, before[1:]...), 1, "it was changed"},
		"a cut tail":      {before[:len(before)-1], 1, "its tail was cut off"},
	} {
		if err := os.WriteFile(path, c.to, 0o600); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, status := h.Run(t, "audit", "verify", h.Audit)
		if status != c.status || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("%s: audit verify has the status %d and says %q %q, want %d and %q", what, status, stdout, stderr, c.status, c.says)
		}
	}
	if err := os.WriteFile(path, before, 0o600); err != nil {
		t.Fatal(err)
	}
}
