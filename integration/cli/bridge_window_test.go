package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// A session has one window, which must show it as long as it lasts, and afterwards to the viewers of that moment.
func TestBridgeLife(t *testing.T) {
	h, c, id := bridgeHome(t)
	if all := listBridges(t, h); len(all) != 0 {
		t.Errorf("bridge list of a fresh home = %+v, want none", all)
	}
	if stdout, _, status := h.Run(t, "bridge", "tmux", "--list"); status != 0 || stdout != "no bridges\n" {
		t.Errorf("status %d, %q", status, stdout)
	}
	b := startBridge(t, h, id)
	if want := "tmux -S " + b.Socket + " attach -t " + id + " -r"; b.Attach != want || b.SessionID != id ||
		b.Mode != "watch" ||
		!b.Alive ||
		b.Cols != 100 ||
		b.Rows != 30 {
		t.Errorf("%+v, want %s", b, want)
	}
	for path, want := range map[string]os.FileMode{b.Socket: 0o600, filepath.Dir(b.Socket): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %#o", path, info.Mode(), err, want)
		}
	}
	window := b.do("list-panes", "-a", "-F", "#{session_id} #{pane_pid}")
	if again := startBridge(t, h, id[:len(id)-2]); again.Attach != b.Attach ||
		b.do("list-panes", "-a", "-F", "#{session_id} #{pane_pid}") != window {
		t.Errorf("another window: %+v", again)
	}
	stdout, stderr, status := h.Run(t, "bridge", "tmux", "--config", h.Config, id)
	if status != 0 || stderr != "" || !strings.Contains(stdout, "    "+b.Attach+"\n\nctrl-] leaves\n") {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	second := c.OpenLocal(t, []string{"sh"}, bridgePTY)
	other := startBridge(t, h, second)
	if all := listBridges(t, h); len(all) != 2 || all[0].SessionID == all[1].SessionID || all[0].Socket != b.Socket {
		t.Errorf("bridge list with two sessions = %+v, want two sessions on socket %s", all, b.Socket)
	}
	stdout, stderr, status = h.Run(t, "bridge", "tmux", "--list")
	if status != 0 || stderr != "" || strings.Count(stdout, "\n") != 3 || !strings.Contains(stdout, other.Attach) {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}

	c.Enter(t, id, "echo la''st words\r", "last words")
	p := b.look(t, h)
	p.Showing("last words")
	// attach was killed: the same window is used again.
	b.do("run-shell", "kill -9 "+strings.Fields(window)[1])
	lab.Eventually(t, "the end of attach", func() bool { return !bridgeOf(t, h, id).Alive })
	startBridge(t, h, id)
	c.Enter(t, id, "echo ve''ry last words\r", "very last words")
	p.Showing("very last words")
	if all := bridgeOf(t, h, id); all.Viewers != 1 {
		t.Errorf("bridge after the restart of attach = %+v, want 1 viewer", all)
	}
	c.Close(t, id)
	p.Showing("(?s)very last words.*session " + id + " has ended")
	lab.Eventually(t, "the end of attach", func() bool { return !bridgeOf(t, h, id).Alive })
	if now := bridgeOf(t, h, id); now.Viewers != 1 {
		t.Errorf("bridge after the end of the session = %+v, want 1 viewer", now)
	}
	p.Types("\x1d")
	p.Leaves(0)
	lab.Eventually(
		t,
		"the end of a window that nobody looks at",
		func() bool { return bridgeOf(t, h, id).SessionID == "" },
	)
	stdout, stderr, status = h.Run(t, "bridge", "tmux", "--config", h.Config, id)
	if status != 1 || stdout != "" || !strings.Contains(stderr, "has ended; ptyctl tail "+id) {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}

	// No viewer ever attached, so the window goes with the session, and the tmux server with its last window.
	c.Close(t, second)
	lab.Eventually(t, "the end of the server", func() bool {
		_, err := other.try("list-sessions")
		return err != nil
	})
	if all := listBridges(t, h); len(all) != 0 {
		t.Errorf("bridge list after all windows have closed = %+v, want none", all)
	}
}

// bridgeOf returns the window of a session, or a zero one.
func bridgeOf(tb testing.TB, h *lab.Home, id string) bridge {
	tb.Helper()
	for _, b := range listBridges(tb, h) {
		if b.SessionID == id {
			return b
		}
	}
	return bridge{}
}

// A viewer must not be able to type, neither into the session nor to tmux, with or without tmux's read-only flag;
// leaving must work.
func TestBridgeIsReadOnly(t *testing.T) {
	h, c, id := bridgeHome(t)
	defer c.Close(t, id)
	b := startBridge(t, h, id)
	before := b.do("list-keys")
	marker := filepath.Join(t.TempDir(), "made")
	for _, readOnly := range []bool{true, false} {
		words := strings.Fields(b.Attach)
		if !readOnly {
			words = words[:len(words)-1]
		}
		p := h.CommandAtTerminal(t, words...)
		p.Showing(`\$ `)
		for _, keys := range []string{
			"echo in''truder\r", "\x03", "\x04", "\x13", // of a shell, and ctrl-s
			"\x02:run-shell 'touch " + marker + "'\r", "\x02!", "\x02c", "\x02[", ":run-shell 'touch " + marker + "'\r", // of tmux
			"\x1b[5~", "\x1b[<64;1;1M",
		} {
			p.Types(keys)
		}
		c.Enter(t, id, fmt.Sprintf("echo mar''ker %v\r", readOnly), fmt.Sprintf("marker %v\n", readOnly))
		p.Showing(fmt.Sprintf("marker %v", readOnly))
		p.Types("\x1d")
		p.Leaves(0)
		if all := readAll(t, c, id); strings.Contains(all, "intruder") || strings.Contains(all, "run-shell") {
			t.Errorf("a viewer has typed: %q", all)
		}
		if _, err := os.Stat(marker); err == nil {
			t.Error("a viewer has had tmux run a program")
		}
		if now := bridgeOf(t, h, id); !now.Alive || now.Viewers != 0 || len(listBridges(t, h)) != 1 {
			t.Errorf("bridge after the viewer has left = %+v, want one that is alive without viewers", now)
		}
	}
	if after := b.do("list-keys"); after != before {
		t.Errorf("the keys are %q, were %q", after, before)
	}
}

// The tmux server has the required settings, and ignores the user's configuration.
func TestBridgeIsHardened(t *testing.T) {
	h, c, id := bridgeHome(t)
	defer c.Close(t, id)
	h.Write(
		t,
		filepath.Join(h.Dir, ".tmux.conf"),
		"set -g status on\nset -g @mine 1\nbind -n x run-shell 'true'\nset -g prefix C-a\n",
	)
	b := startBridge(t, h, id)
	for _, o := range []struct{ scope, name, want string }{
		{"-s", "escape-time", "0"},
		{"-s", "set-clipboard", "off"},
		{"-s", "exit-empty", "on"},
		{"-g", "status", "off"},
		{"-g", "history-limit", "200000"},
		{"-g", "prefix", "None"},
		{"-g", "prefix2", "None"},
		{"-g", "mouse", "off"},
		{"-g", "assume-paste-time", "0"},
		{"-g", "key-table", "watch"},
		{"-g", "set-titles", "off"},
		{"-gw", "allow-passthrough", "off"},
		{"-gw", "allow-rename", "off"},
		{"-gw", "remain-on-exit", "on"},
		{"-gw", "alternate-screen", "on"},
		{"-wt" + id, "window-size", "manual"},
	} {
		if got := strings.TrimSpace(b.do("show-options", o.scope, "-v", o.name)); got != o.want {
			t.Errorf("%s is %q, want %q", o.name, got, o.want)
		}
	}
	if got := b.do("show-options", "-g"); strings.Contains(got, "@mine") {
		t.Error("the user's configuration was read")
	}
	keys := strings.Split(strings.TrimSpace(b.do("list-keys")), "\n")
	if len(keys) != 2 || !strings.Contains(keys[0], "-T take ") ||
		!strings.HasSuffix(keys[1], "-T watch C-] detach-client") {
		t.Errorf("tmux list-keys = %q, want one key in the table take, and C-] in the table watch", keys)
	}
	if got := b.do("display-message", "-p", "-t", id, "#{history_limit} #{pane_in_mode}"); got != "200000 0\n" {
		t.Errorf("the window has %q", got)
	}
}

// In a window that takes the terminal, the viewer types and the agent waits. The agent gets the terminal back when the
// viewer leaves.
func TestBridgeTake(t *testing.T) {
	h, c, id := bridgeHome(t, lab.ReadWrite)
	defer c.Close(t, id)
	write := `{"action":"write","session_id":%s,"data":"echo ag''ent\r"}`
	for _, leave := range []string{"ctrl-]", "the client"} {
		t.Run(leave, func(t *testing.T) {
			b := startBridge(t, h, "--take", id)
			if want := "tmux -S " + b.Socket + " attach -t take-" + id; b.Mode != "take" || b.Attach != want {
				t.Errorf("%+v, want %s", b, want)
			}
			p := b.look(t, h)
			p.Showing(`\$ `)
			lab.Eventually(t, "the lock", func() bool {
				r, _ := c.Try(t.Context(), lab.ToolIO, `{"action":"write","session_id":%s,"data":""}`, id)
				return r.ErrorCode == "LOCKED"
			})
			p.Types("echo per''son; stty size\r")
			p.Showing(`(?s)person *\n30 100`)
			c.Refused(t, "LOCKED", lab.ToolIO, write, id)
			if leave == "ctrl-]" {
				p.Types("\x1d")
			} else {
				b.do("detach-client", "-s", "take-"+id)
			}
			p.Leaves(0)
			lab.Eventually(t, "the end of the window", func() bool { return len(listBridges(t, h)) == 0 })
			lab.Eventually(t, "the agent's turn", func() bool {
				r, _ := c.Try(t.Context(), lab.ToolIO, write, id)
				return r.ErrorCode == ""
			})
		})
	}
}

// The bridge must name each error.
func TestBridgeErrors(t *testing.T) {
	h, c, id := bridgeHome(t)
	defer c.Close(t, id)
	refused := func(h *lab.Home, want string, args ...string) {
		t.Helper()
		stdout, stderr, status := h.Run(t, append([]string{"bridge", "tmux"}, args...)...)
		if slices.Contains(args, "--json") { // the same, as JSON
			if !strings.Contains(stdout, want) {
				t.Errorf("%v: stdout %q, want %q", args, stdout, want)
			}
			stdout = ""
		}
		if status == 0 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%v: status %d, %q, %q, want %q", args, status, stdout, stderr, want)
		}
	}
	with := func(env ...string) *lab.Home {
		other := *h
		other.Env = append(append([]string(nil), h.Env...), env...)
		return &other
	}
	refused(h, "there is no session web9", "web9")
	refused(h, "needs ID", "--json")
	refused(h, `takes no argument "`+id, "--list", id)
	refused(h, `takes no argument "`+id, id, "--list")
	refused(h, "--control-mode readwrite", "--take", id)
	refused(with("PATH="+t.TempDir()), "no tmux to be found in PATH", id)

	old := t.TempDir()
	if err := os.WriteFile(filepath.Join(old, "tmux"), []byte("#!/bin/sh\necho tmux 3.2a\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	refused(with("PATH="+old+":/usr/bin:/bin"), "is tmux 3.2a, and a bridge needs tmux 3.3", id)

	dir := filepath.Join(h.RuntimeDir, "ptyctl")
	foreign := filepath.Join(dir, "tmux.sock")
	if err := os.WriteFile(foreign, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(h, "is no socket", id)
	if text, err := os.ReadFile(foreign); err != nil || string(text) != "kept" {
		t.Errorf("%q, %v", text, err)
	}
	if err := os.Remove(foreign); err != nil {
		t.Fatal(err)
	}
	open := lab.RuntimeDir(t)
	if err := os.Mkdir(filepath.Join(open, "ptyctl"), 0o755); err != nil {
		t.Fatal(err)
	}
	refused(with("XDG_RUNTIME_DIR="+open), "open to others", "--list")

	if _, stderr, status := h.Run(t, "attach", "--config", h.Config, "--pane", id); status != 2 ||
		!strings.Contains(stderr, "ptyctl bridge tmux") {
		t.Errorf("status %d, %q", status, stderr)
	}
}
