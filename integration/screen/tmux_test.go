package screen

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/screen"
)

// letters turns the DEC line drawing set into the letters that were sent for it, because "tmux capture-pane" prints those.
var letters = strings.NewReplacer(
	"◆", "`", "▒", "a", "°", "f", "±", "g", "┘", "j", "┐", "k", "┌", "l", "└", "m", "┼", "n", "─", "q", "├", "t", "┤", "u",
	"┴", "v", "┬", "w", "│", "x", "≤", "y", "≥", "z", "π", "{", "≠", "|", "£", "}", "·", "~",
)

// TestTmux draws the recordings of package screen in tmux at 80x24, and compares its rows.
func TestTmux(t *testing.T) {
	files, err := filepath.Glob("../../screen/testdata/*-80x24.raw.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no recordings: %v", err)
	}
	m := startTmux(t)
	total, wrong := 0, 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), "-80x24.raw.gz")
		raw := unzip(t, file)
		want := m.draw(t, name, raw)
		s := screen.New(80, 24)
		s.Write(raw)
		snap := s.Snapshot()
		var differ []string
		for y := range snap.Rows {
			total++
			if got := snap.Row(y); got != want[y] && letters.Replace(got) != want[y] {
				differ = append(differ, fmt.Sprintf("row %d is %q, tmux shows %q", y, got, want[y]))
			}
		}
		if wrong += len(differ); len(differ) > 0 {
			t.Errorf("%s: %d rows differ:\n%s", name, len(differ), strings.Join(differ, "\n"))
		}
	}
	t.Logf("%d of %d rows differ from tmux", wrong, total)
}

// A multiplexer is a tmux server of the test's own.
type multiplexer struct{ dir string }

func startTmux(t *testing.T) multiplexer {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatalf("tmux is missing: run scripts/install-test-deps (%v)", err)
	}
	m := multiplexer{t.TempDir()}
	m.run(t, "new-session", "-d", "-x", "80", "-y", "24", "exec sleep 3600")
	m.run(t, "set", "-g", "status", "off")
	t.Cleanup(func() { m.run(t, "kill-server") })
	return m
}

func (m multiplexer) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(m.dir, "socket"), "-f", "/dev/null"}, args...)...)
	cmd.Env = append(os.Environ(), "TMUX=", "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// draw returns the 24 rows that tmux shows after raw. The end of raw has been drawn when the title that follows it has
// been set.
func (m multiplexer) draw(t *testing.T, name string, raw []byte) []string {
	t.Helper()
	file := filepath.Join(m.dir, name)
	if err := os.WriteFile(file, append(bytes.Clone(raw), "\x18\x1b]2;drawn\x07"...), 0o600); err != nil {
		t.Fatal(err)
	}
	m.run(t, "new-window", "-n", name, "stty raw -echo; cat '"+file+"'; exec sleep 3600")
	lab.Eventually(t, "tmux draws "+name, func() bool {
		return strings.TrimSpace(m.run(t, "display", "-p", "#{pane_title}")) == "drawn"
	})
	rows := strings.Split(strings.TrimSuffix(m.run(t, "capture-pane", "-p"), "\n"), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	for len(rows) < 24 {
		rows = append(rows, "")
	}
	m.run(t, "kill-window")
	return rows
}

func unzip(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
