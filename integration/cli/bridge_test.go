package cli

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// A bridge is the description that ptyctl bridge tmux prints of a window.
type bridge struct {
	tmuxServer
	SessionID  string `json:"session_id"`
	Mode       string
	Alive      bool
	Cols, Rows int
	Viewers    int
	Socket     string
	Attach     string
}

// startBridge makes a session's window, or returns the one that there is. The server ends with the test.
func startBridge(tb testing.TB, h *lab.Home, args ...string) *bridge {
	tb.Helper()
	b := &bridge{
		tmuxServer: tmuxServer{tb, filepath.Join(h.RuntimeDir, "ptyctl", "tmux.sock")},
	}
	tb.Cleanup(func() {
		if tb.Failed() && b.Attach != "" {
			panes, _ := b.try(
				"list-panes",
				"-a",
				"-F",
				"#{session_name} #{pane_pid} dead #{pane_dead} #{pane_dead_status} viewers #{session_attached}",
			)
			tb.Logf("the windows are\n%sand that of %s shows\n%s", panes, b.SessionID, b.shows())
		}
		b.end()
	})
	stdout, stderr, status := h.Run(tb, append([]string{"bridge", "tmux", "--json", "--config", h.Config}, args...)...)
	if err := json.Unmarshal([]byte(stdout), b); err != nil || status != 0 || stderr != "" || b.Socket != b.socket {
		tb.Fatalf("status %d, %v: %q, %q", status, err, stdout, stderr)
	}
	return b
}

// listBridges lists the windows.
func listBridges(tb testing.TB, h *lab.Home) (all []bridge) {
	tb.Helper()
	stdout, stderr, status := h.Run(tb, "bridge", "tmux", "--json", "--list")
	if err := json.Unmarshal([]byte(stdout), &all); err != nil || status != 0 || stderr != "" {
		tb.Fatalf("status %d, %v: %q, %q", status, err, stdout, stderr)
	}
	return all
}

// window is the tmux session of the bridge, as its command to attach names it.
func (b *bridge) window() string {
	words := strings.Fields(b.Attach)
	return words[5]
}

func (b *bridge) shows() string { return b.picture(b.window()) }

// readAll returns a session's whole output, unchanged.
func readAll(tb testing.TB, c *lab.Client, id string) string {
	tb.Helper()
	var all strings.Builder
	for cursor := "0"; ; {
		r := c.Call(
			tb,
			lab.ToolIO,
			`{"action":"read","session_id":%s,"cursor":%s,"encoding":"base64","timeout_ms":0,"max_bytes":262144}`,
			id,
			cursor,
		)
		data, err := base64.StdEncoding.DecodeString(r.Chunk)
		if err != nil || r.DroppedBytes > 0 {
			tb.Fatal(err, r.Text)
		}
		all.Write(data)
		if len(data) == 0 {
			return all.String()
		}
		cursor = r.NextCursor
	}
}

const bridgePTY = `,"env":["PS1=$ ","LANG=C.UTF-8"],"pty":{"cols":100,"rows":30,"term":"xterm-256color"}`

// bridgeHome returns a home with a ptyctl that has one local shell.
func bridgeHome(t *testing.T, lines ...string) (*lab.Home, *lab.Client, string) {
	t.Helper()
	h := lab.HomeFor(t, nil, lines...)
	c := h.Connect(t)
	id := c.OpenLocal(t, []string{"sh"}, bridgePTY)
	c.Expect(t, id, `\$ $`)
	return h, c, id
}

// A bridge must show the same picture as the session's terminal, no matter when it was made. The test compares it with
// a tmux that gets the session's output directly.
func TestBridgeShows(t *testing.T) {
	h, c, id := bridgeHome(t)
	defer c.Close(t, id)
	text := filepath.Join(t.TempDir(), "text")
	var lines strings.Builder
	for i := range 300 {
		fmt.Fprintf(&lines, "%d \x1b[3%dmcolour\x1b[0m über 漢字 │ %s\n", i, i%8, strings.Repeat("word ", i%30))
	}
	if err := os.WriteFile(text, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	early := startBridge(t, h, id)
	plain := newPlainPane(t, 100, 30)
	shown := 0
	for _, step := range []struct{ name, typed, until string }{
		{"a shell", "printf 'on\\ttwo\\r\\nand \\033[1;31mred\\033[0m\\n'; seq 200; echo do''ne\r", `done\n\$ $`},
		{"long lines", "head -c 3000 /dev/zero | tr '\\0' x; echo; printf '\\033[3A\\033[44mup\\033[0m\\0337\\033[1;1Hcorner\\0338'; echo do''ne\r", `done\n\$ $`},
		{"vim", "vim -u NONE -i NONE -n -c 'set number cursorline hlsearch' " + text + "\r", "word"},
		{"moving in vim", "\x04\x04/colour\rdd", "more lines|1 line less|colour"},
		{"vim is left", ":q!\r", `\$ $`},
		{"less", "less -R " + text + "\r", text + "|[(]END|lines 1-"},
		{"paging in less", "  k", ":"},
		{"less is left", "q", `\$ $`},
		{"a region that scrolls, the drawing characters, insertion", `printf '\033[?1049h\033[2J\033[5;20r\033[5;1H'; for i in $(seq 40); do printf '\033[4%dm line %d\033[K\033[0m\r\n' $((i % 8)) $i; done; printf '\033[r\033[22;3H\033(0lqqqk\033(B\033[23;3Habcdef\033[3G\033[2@\033[5M\033[?25l'; echo rea''dy` + "\r", `ready\n`},
		{"and its end", `printf '\033[?25h\033[?1049l'; echo en''ded` + "\r", `ended\n\$ $`},
	} {
		t.Run(step.name, func(t *testing.T) {
			c.Enter(t, id, step.typed, step.until)
			c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"until_idle_ms":300,"timeout_ms":5000}`, id)
			all := readAll(t, c, id)
			plain.show(all[shown:])
			shown = len(all)
			same(t, "a bridge from the start", early.shows, func() string { return plain.picture("plain") })
			// Another one, of the same ptyctl, made now.
			late := bridgeLate(t, h, id)
			same(t, "a bridge made now", late.shows, func() string { return plain.picture("plain") })
			if got, want := late.history(late.window()), plain.history("plain"); got != want {
				t.Errorf("scrolled out are %d bytes, want %d", len(got), len(want))
			}
		})
	}
}

// bridgeLate makes a bridge in another tmux server, besides those that there are.
func bridgeLate(tb testing.TB, h *lab.Home, id string) *bridge {
	tb.Helper()
	other := *h
	other.RuntimeDir = lab.RuntimeDir(tb)
	sockets, err := filepath.Glob(filepath.Join(h.RuntimeDir, "ptyctl", "[0-9]*.sock"))
	if err != nil || len(sockets) != 1 {
		tb.Fatal(sockets, err)
	}
	return startBridge(tb, &other, "--socket", sockets[0], id)
}

// A program must look the same in a session as in a tmux of the same size.
func TestBridgeShowsPrograms(t *testing.T) {
	h, c, id := bridgeHome(t)
	defer c.Close(t, id)
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(
		text, []byte(strings.Repeat("one \x1b[32mgreen\x1b[0m two\n\tthree\n", 100)), 0o600,
	); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"vim", "-u", "NONE", "-i", "NONE", "-n", "-c", "set number cursorline", text},
		{"less", "-R", text},
	} {
		t.Run(command[0], func(t *testing.T) {
			b := startBridge(t, h, id)
			plain := newPlainPane(t, 100, 30, append([]string{"env", "TERM=xterm-256color", "LANG=C.UTF-8"}, command...)...)
			c.Enter(t, id, "clear; '"+strings.Join(command, "' '")+"'\r", "three")
			same(
				t,
				command[0],
				func() string { return strings.ReplaceAll(b.shows(), "alternate 0", "alternate 1") },
				func() string { return plain.picture("plain") },
			)
			c.Enter(t, id, "\x1b:q\r", `\$ $`)
		})
	}
}

// The window has the size of the session's terminal, and programs draw for that size.
func TestBridgeFollowsTheSize(t *testing.T) {
	h, c, id := bridgeHome(t)
	defer c.Close(t, id)
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte(strings.Repeat(strings.Repeat("0123456789", 11)+"\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	b := startBridge(t, h, id)
	plain := newPlainPane(t, 100, 30)
	c.Enter(t, id, "vim -u NONE -i NONE -n -c 'set number' "+text+"\r", "0123")
	shown := 0
	for _, size := range [][2]int{{100, 30}, {140, 45}, {61, 17}, {132, 24}} {
		c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"until_idle_ms":300,"timeout_ms":5000}`, id)
		all := readAll(t, c, id)
		plain.show(all[shown:])
		shown = len(all)
		same(t, fmt.Sprintf("before it becomes %v", size), b.shows, func() string { return plain.picture("plain") })
		c.Call(
			t,
			lab.ToolConfig,
			`{"action":"resize","session_id":%s,"cols":`+fmt.Sprint(size[0])+`,"rows":`+fmt.Sprint(size[1])+`}`,
			id,
		)
		plain.resize(size[0], size[1])
		c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"until_idle_ms":300,"timeout_ms":5000}`, id)
		all = readAll(t, c, id)
		plain.show(all[shown:])
		shown = len(all)
		same(t, fmt.Sprintf("%v", size), b.shows, func() string { return plain.picture("plain") })
		if want := fmt.Sprintf("%dx%d", size[0], size[1]); !strings.Contains(b.shows(), "\n"+want+" ") {
			t.Errorf("the size is not %s: %s", want, b.shows())
		}
	}
	// A viewer's terminal of another size must not change the session.
	p := b.look(t, h)
	p.Resize(50, 10)
	same(t, "with a viewer", b.shows, func() string { return plain.picture("plain") })
}

// look starts a person who runs the command that ptyctl printed.
func (b *bridge) look(tb testing.TB, h *lab.Home) *lab.Person {
	tb.Helper()
	return h.CommandAtTerminal(tb, strings.Fields(b.Attach)...)
}
