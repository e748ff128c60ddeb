package screen

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// letters turns the DEC line drawing set into the letters that were sent for it, because "tmux capture-pane" prints those.
var letters = strings.NewReplacer(
	"◆", "`", "▒", "a", "°", "f", "±", "g", "┘", "j", "┐", "k", "┌", "l", "└", "m", "┼", "n", "─", "q", "├", "t", "┤", "u",
	"┴", "v", "┬", "w", "│", "x", "≤", "y", "≥", "z", "π", "{", "≠", "|", "£", "}", "·", "~",
)

// TestTmux draws the recordings in tmux.
func TestTmux(t *testing.T) {
	same := func(ours, theirs string) bool { return ours == theirs || letters.Replace(ours) == theirs }
	compare(t, inTmux, same, nil)
}

func inTmux(t *testing.T, cols, rows int, all []recording) [][]string {
	t.Helper()
	m := startTmux(t, cols, rows)
	var screens [][]string
	for _, r := range all {
		screens = append(screens, m.draw(t, r))
	}
	return screens
}

// A multiplexer is a tmux server of the test's own.
type multiplexer struct{ dir string }

func startTmux(t *testing.T, cols, rows int) multiplexer {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatalf("tmux is missing: run scripts/install-test-deps (%v)", err)
	}
	m := multiplexer{t.TempDir()}
	m.run(t, "new-session", "-d", "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows), "exec sleep 3600")
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

// draw returns the rows that tmux shows after r. The end of r has been drawn when the title that follows it has been
// set.
func (m multiplexer) draw(t *testing.T, r recording) []string {
	t.Helper()
	file := filepath.Join(m.dir, r.name)
	if err := os.WriteFile(file, append(bytes.Clone(r.raw), "\x18\x1b]2;drawn\x07"...), 0o600); err != nil {
		t.Fatal(err)
	}
	m.run(t, "new-window", "-n", r.name, "stty raw -echo; cat '"+file+"'; exec sleep 3600")
	lab.Eventually(t, "tmux draws "+r.name, func() bool {
		return strings.TrimSpace(m.run(t, "display", "-p", "#{pane_title}")) == "drawn"
	})
	rows := strings.Split(strings.TrimSuffix(m.run(t, "capture-pane", "-p"), "\n"), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	for len(rows) < r.rows {
		rows = append(rows, "")
	}
	m.run(t, "kill-window")
	return rows
}
