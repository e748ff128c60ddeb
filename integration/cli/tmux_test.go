package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// A tmuxServer is a tmux server, by its socket.
type tmuxServer struct {
	tb     testing.TB
	socket string
}

// try has the server do a command.
func (s *tmuxServer) try(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-f", "/dev/null", "-S", s.socket}, args...)...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "TERM=xterm-256color"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *tmuxServer) do(args ...string) string {
	s.tb.Helper()
	out, err := s.try(args...)
	if err != nil {
		s.tb.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return out
}

// end ends the server, if there is one.
func (s *tmuxServer) end() {
	if _, err := os.Stat(s.socket); err != nil {
		return
	}
	_, _ = s.try("kill-server") // fails if the server has already ended with its last window
	lab.Eventually(s.tb, "the end of the tmux server", func() bool {
		_, err := s.try("list-sessions")
		return err != nil
	})
}

// picture returns the contents of a window: each cell with its colours, the cursor, the size and the screen in use.
func (s *tmuxServer) picture(window string) string {
	where, err := s.try(
		"display-message",
		"-p",
		"-t",
		window,
		"#{window_width}x#{window_height} cursor #{cursor_x},#{cursor_y} shown #{cursor_flag} alternate #{alternate_on}",
	)
	if err != nil {
		return ""
	}
	cells, _ := s.try("capture-pane", "-p", "-e", "-t", window)
	return cells + where
}

// history returns the lines that have scrolled out of a window.
func (s *tmuxServer) history(window string) string {
	out, _ := s.try("capture-pane", "-p", "-e", "-S", "-", "-E", "-1", "-t", window)
	return out
}

// A plainPane is a window of its own tmux, which gets a terminal's bytes directly.
type plainPane struct {
	tmuxServer
	mirror string // a file: tmux shows all text appended to it
}

func newPlainPane(tb testing.TB, cols, rows int, command ...string) *plainPane {
	tb.Helper()
	p := &plainPane{
		tmuxServer: tmuxServer{tb, filepath.Join(lab.RuntimeDir(tb), "plain.sock")},
		mirror:     filepath.Join(tb.TempDir(), "mirror"),
	}
	if err := os.WriteFile(p.mirror, nil, 0o600); err != nil {
		tb.Fatal(err)
	}
	if len(command) == 0 {
		command = []string{"sh", "-c", fmt.Sprintf("stty raw -echo; exec tail -s 0.05 -c +1 -f %s", p.mirror)}
	}
	tb.Cleanup(p.end)
	p.do(append([]string{
		"start-server", ";", "set", "-g", "status", "off", ";", "set", "-s", "escape-time", "0", ";",
		"new-session", "-d", "-s", "plain", "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows), "--",
	}, command...)...)
	return p
}

// show sends data to the window.
func (p *plainPane) show(data string) {
	p.tb.Helper()
	f, err := os.OpenFile(p.mirror, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(data)
		_ = f.Close()
	}
	if err != nil {
		p.tb.Fatal(err)
	}
}

func (p *plainPane) resize(cols, rows int) {
	p.tb.Helper()
	p.do("resize-window", "-t", "plain", "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows))
}

// same waits until two windows show the same.
func same(tb testing.TB, what string, got, want func() string) {
	tb.Helper()
	defer func() {
		if tb.Failed() {
			tb.Logf("%s: the bridge shows\n%s\n\nand should show\n%s", what, visible(got()), visible(want()))
		}
	}()
	lab.Eventually(tb, what, func() bool { g := got(); return g != "" && g == want() })
}

func visible(text string) string { return strings.ReplaceAll(text, "\x1b", "␛") }
