package daemon

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// install makes a copy of a program the one of h, as package managers do: one that runs keeps its file.
func install(t *testing.T, h *lab.Home, program string) {
	t.Helper()
	h.Program = filepath.Join(h.Dir, "ptyctl")
	text := lab.ReadFile(t, program)
	_ = os.Remove(h.Program)
	if err := os.WriteFile(h.Program, text, 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	h.Given[h.Program] = true
}

// An upgrade replaces the program's file while the daemon runs. New clients come to the old daemon, and a terminal that
// prints all the while loses no byte.
func TestUpgrade(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	install(t, h, lab.Binary)
	h.EndDaemons(t)
	c := h.Converse(t, "--daemon")
	id := c.Open(s)
	c.NextResult(c.Ask(lab.ToolIO, `{"action":"write","session_id":%s,"data":%s}`, id,
		"i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo line $i; [ $((i%30)) = 0 ] && sleep 0.02; done; echo fin''ished\r"))
	d := theDaemon(t, h)
	c.Drain()
	install(t, h, lab.Binary)
	next := h.Converse(t, "--daemon")
	if now := theDaemon(t, h); now.PID != d.PID {
		t.Errorf("after the upgrade the daemon is process %d, want %d", now.PID, d.PID)
	}
	if r := next.NextResult(next.Ask(lab.ToolSession, `{"action":"adopt","session_id":%s}`, id)); r.ErrorCode != "" {
		t.Fatalf("adopt after the upgrade: %s", r.Text)
	}
	r := next.NextResult(next.Ask(lab.ToolIO,
		`{"action":"read","session_id":%s,"cursor":"0","until_regex":"finished","max_bytes":1000000,"timeout_ms":30000}`, id))
	if !r.Matched || r.DroppedBytes != 0 {
		t.Fatalf("read from the beginning: matched %t, %d bytes dropped, want all of it", r.Matched, r.DroppedBytes)
	}
	from := 0
	for i := 1; i <= 3000; i++ {
		line := fmt.Sprintf("\nline %d\n", i)
		at := strings.Index(r.Chunk[from:], line)
		if at < 0 {
			t.Fatalf("the output has no line %d behind the line before, want every line", i)
		}
		from += at + len(line) - 1
	}
}

// nextRelease is the version of another build.
const nextRelease = "v99.0.0"

// buildNext builds that release.
func buildNext(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ptyctl-next")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w -X main.release="+nextRelease, "-o", path, "ptyctl/cmd/ptyctl")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build another release: %v: %s", err, out)
	}
	return path
}

// ticks has vim add lines by itself once a file named go exists, and write a file named ticked at the last.
const ticks = `let g:n = 0
func Tick(timer)
  if g:n < 20 && filereadable('go')
    let g:n += 1
    call append('$', 'tick ' . g:n)
    normal! G
    redraw
    if g:n == 20
      call writefile([], 'ticked')
    endif
  endif
endfunc
call timer_start(50, 'Tick', {'repeat': -1})
`

// An upgrade under an editor on another host: the screen is as it was, the cursors go on, and no byte is lost, also of
// the output while no client is connected. script(1) records the output of vim on the host.
func TestUpgradeUnderVim(t *testing.T) {
	next := buildNext(t)
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	install(t, h, lab.Binary)
	h.EndDaemons(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ticks.vim"), []byte(ticks), 0o600); err != nil {
		t.Fatal(err)
	}

	old := h.Converse(t, "--daemon")
	d := theDaemon(t, h)
	id := old.Open(s)
	steps := fmt.Sprintf(`{"action":"write","session_id":%%s,"steps":[`+
		`{"data":"cd %s && script -q -f -c 'vim -Nu NONE -n -S ticks.vim text' typed\r","until_screen":"\"text\""},`+
		`{"data":"ibefore"},{"key":"esc","until_stable_ms":300}],"timeout_ms":30000}`, dir)
	if r := old.NextResult(old.Ask(lab.ToolIO, steps, id)); r.ErrorCode != "" {
		t.Fatalf("text is typed into vim: %s", r.Text)
	}
	// vim asks the terminal for its kind, and goes on to draw after the answers.
	old.NextResult(old.Ask(lab.ToolIO, `{"action":"read","session_id":%s,"format":"screen","until_stable_ms":700,"timeout_ms":30000}`, id))
	before, sent := shown(old, id), output(t, old, id)
	if !strings.Contains(before, "before") {
		t.Fatalf("the screen before the upgrade is\n%s\nwant vim's with the typed text", before)
	}
	old.Drain()
	install(t, h, next)
	if out, _, _ := h.Run(t, "version", "--short"); strings.TrimSpace(out) != nextRelease {
		t.Fatalf("ptyctl version prints %q, want that of the next release, %s", out, nextRelease)
	}

	adopt := func() *lab.Conversation {
		t.Helper()
		c := h.Converse(t, "--daemon")
		if r := c.NextResult(c.Ask(lab.ToolSession, `{"action":"adopt","session_id":%s}`, id)); r.State != "open" {
			t.Fatalf("adopt by a client of the next release: %s, want the session open", r.Text)
		}
		return c
	}
	first := adopt()
	if now := theDaemon(t, h); now.PID != d.PID {
		t.Errorf("after the upgrade the daemon is process %d, want %d", now.PID, d.PID)
	}
	if now := shown(first, id); now != before {
		t.Errorf("the screen after the upgrade is\n%s\nwant\n%s", now, before)
	}
	if now := output(t, first, id); !strings.HasPrefix(now, sent) {
		t.Errorf("the output after the upgrade begins with %q, want %q", now[:min(len(now), len(sent))], sent)
	}
	first.Drain()

	// vim goes on while there is no client.
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lab.Eventually(t, "vim has added its lines", func() bool { return exists(filepath.Join(dir, "ticked")) })
	second := adopt()
	r := second.NextResult(second.Ask(lab.ToolIO,
		`{"action":"read","session_id":%s,"cursor":%s,"until_regex":"tick 20","timeout_ms":30000}`, id,
		fmt.Sprint(len(sent))))
	if !r.Matched || r.DroppedBytes != 0 {
		t.Errorf("a read from the cursor before the upgrade: matched %t, %d bytes dropped, want all lines: %s",
			r.Matched, r.DroppedBytes, r.Text)
	}
	if r := second.NextResult(second.Ask(lab.ToolIO, `{"action":"write","session_id":%s,"steps":[{"data":"Goafter"},{"key":"esc"},`+
		`{"data":":wq\r","until_prompt":true}],"timeout_ms":30000}`, id)); r.ErrorCode != "" {
		t.Fatalf("text is typed after the upgrade: %s", r.Text)
	}
	want := "before\n"
	for i := range 20 {
		want += fmt.Sprintf("tick %d\n", i+1)
	}
	if got := string(lab.ReadFile(t, filepath.Join(dir, "text"))); got != want+"after\n" {
		t.Errorf("vim has saved %q, want %q", got, want+"after\n")
	}
	got := output(t, second, id)
	_, put, _ := strings.Cut(string(lab.ReadFile(t, filepath.Join(dir, "typed"))), "\n") // the first line is script's
	if end := strings.LastIndex(put, "\nScript done"); end >= 0 {
		put = put[:end]
	}
	if len(put) < 1000 || !strings.Contains(got, put) {
		t.Errorf("the session's output is %q, want in it the %d bytes that vim has put out, %q", got, len(put), put)
	}
}

// shown returns the text on the screen of a session.
func shown(c *lab.Conversation, id string) string {
	c.TB.Helper()
	return c.NextResult(c.Ask(lab.ToolIO, `{"action":"read","session_id":%s,"format":"screen"}`, id)).Chunk
}

// output returns all output bytes of a session. None may be lost.
func output(t *testing.T, c *lab.Conversation, id string) string {
	t.Helper()
	r := c.NextResult(c.Ask(lab.ToolIO,
		`{"action":"read","session_id":%s,"cursor":"0","mode":"cursor","format":"raw","max_bytes":1000000}`, id))
	text, err := []byte(r.Chunk), error(nil)
	if r.Encoding == "base64" {
		text, err = base64.StdEncoding.DecodeString(r.Chunk)
	}
	if err != nil || r.DroppedBytes != 0 || r.NextCursor != fmt.Sprint(len(text)) {
		t.Fatalf("the output has %d bytes up to the cursor %s, %d are dropped, %v; want all of them", len(text), r.NextCursor, r.DroppedBytes, err)
	}
	return string(text)
}
