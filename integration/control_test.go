package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// watchedHome is a home in whose runtime folder its ptyctl's have their sockets.
func watchedHome(tb testing.TB, servers []*sshd, lines ...string) *home {
	tb.Helper()
	h := homeFor(tb, servers, lines...)
	run := runtimeDir(tb)
	h.env = append(h.env, "XDG_RUNTIME_DIR="+run)
	return h
}

// runtimeDir makes a runtime folder with a short name: the path of a socket has little room.
func runtimeDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "run") //nolint:usetesting // TempDir's name has the test's in it
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

const readWrite = "[server.control]\ncontrol_mode = 'readwrite'"

// ps1 starts a shell that shows nothing but its prompt and what its commands print.
func (c *client) ps1(tb testing.TB, id string) {
	tb.Helper()
	c.enter(tb, id, "stty -echo; exec env PS1='$ ' sh\r", `[\r\n]\$ $`)
	c.enter(tb, id, "echo rea''dy\r", `ready\r\n\$ $`)
}

// Who looks at a session sees what it shows, lives through what it does to the terminal, and disturbs nobody.
func TestAttach(t *testing.T) {
	s := startSSHD(t)
	h := watchedHome(t, []*sshd{s})
	c := h.connect(t)
	id := c.open(t, s)
	c.enter(t, id, "echo ear''lier\r", "earlier")

	p := h.sit(t, "attach", "--config", h.config, id)
	p.sees(`watching ` + id + ` \(ssh 127\.0\.0\.1\); ctrl-\] leaves`)
	p.sees("earlier")
	c.enter(t, id, "echo la''ter\r", "later\r\n")
	p.sees("later\r\n")

	t.Run("nothing is typed", func(t *testing.T) {
		p.types("echo in''truder\r\x03\x04")
		c.enter(t, id, "echo mar''ker\r", "marker\r\n")
		p.sees("marker\r\n")
		if strings.Contains(p.text(), "intruder") {
			t.Errorf("a watcher has typed:\n%s", p.text())
		}
	})
	t.Run("ctrl-s and ctrl-q", func(t *testing.T) {
		p.types("\x13")
		p.types("\x13") // it may be held twice
		c.enter(t, id, "echo he''ld\r", "held\r\n")
		p.types("\x11")
		p.sees("held\r\n")
	})
	t.Run("the beginning of an id", func(t *testing.T) {
		p := h.sit(t, "attach", "--config", h.config, id[:len(id)-3])
		p.sees("later")
		p.types("\x1d")
		p.leaves(0)
	})
	p.types("\x1d")
	p.sees("detached from " + id)
	p.leaves(0)
	p.sane()

	t.Run("the session ends", func(t *testing.T) {
		p := h.sit(t, "attach", "--config", h.config, id)
		p.sees("later")
		c.close(t, id)
		p.sees("session " + id + " has ended")
		p.leaves(0)
		p.sane()
	})
	t.Run("ptyctl ends", func(t *testing.T) {
		c := h.connect(t)
		id := c.open(t, s)
		p := h.sit(t, "attach", "--config", h.config, id)
		p.sees("watching")
		c.enter(t, id, "echo la''st\r", "last\r\n")
		p.sees("last")
		c.finish()
		p.leaves(0)
	})
	t.Run("ptyctl is killed", func(t *testing.T) {
		c := h.connect(t)
		id := c.open(t, s)
		p := h.sit(t, "attach", "--config", h.config, id)
		p.sees("watching")
		c.kill()
		p.sees("does not answer any more")
		p.leaves(1)
		p.sane()
	})
}

// Two who look, one of them with a terminal that is stopped, and the agent see the same bytes, and nobody waits.
func TestTwoWatchersAndTheAgent(t *testing.T) {
	s := startSSHD(t)
	h := watchedHome(t, []*sshd{s})
	c := h.connect(t)
	id := c.open(t, s)
	c.ps1(t, id)

	first := h.sit(t, "attach", "--config", h.config, "--raw", id)
	second := h.sit(t, "attach", "--config", h.config, "--raw", id)
	first.sees(`ready\r\n`)
	second.sees(`ready\r\n`)
	second.stop()

	// More than a terminal, its watcher and the connections between hold together: the second one must stand still.
	const lines = 20_000
	began := time.Now()
	r := c.call(
		t,
		toolIO,
		`{"action":"write","session_id":%s,"data":%s}`,
		id,
		fmt.Sprintf("seq -f 'line %%05g of the output' %d\r", lines),
	)
	var agent strings.Builder
	for cursor := r.Cursor; !strings.HasSuffix(agent.String(), "\n$ "); {
		r := c.call(
			t,
			toolIO,
			`{"action":"read","session_id":%s,"cursor":%s,"timeout_ms":20000,"max_bytes":1000000}`,
			id,
			cursor,
		)
		if r.Truncated || r.TimedOut {
			t.Fatalf("the agent has missed something: %s", tail(r.text, 500))
		}
		cursor = r.NextCursor
		agent.WriteString(r.Chunk)
	}
	first.sees(`line 20000 of the output\r\n\$ $`)
	t.Logf("the agent had %d bytes after %v", agent.Len(), time.Since(began))

	want := agent.String()
	if n := strings.Count(want, "\n"); n != lines {
		t.Errorf("the agent has seen %d lines, want %d", n, lines)
	}
	if !strings.HasSuffix(first.text(), want) {
		t.Error("the first watcher has seen other bytes than the agent")
	}
	if got := second.text(); strings.Contains(got, "line 20000") {
		t.Error("the second watcher's terminal was not stopped at all")
	}
	second.goOn()
	second.sees(`line 20000 of the output\r\n\$ $`)
	if !strings.HasSuffix(second.text(), want) {
		t.Error("the second watcher has seen other bytes than the agent")
	}

	// Whose terminal takes nothing can be told to go all the same.
	second.stop()
	c.call(
		t,
		toolIO,
		`{"action":"write","session_id":%s,"data":%s}`,
		id,
		fmt.Sprintf("seq -f 'line %%05g again' %d\r", lines),
	)
	first.sees(`line 20000 again\r\n`)
	if err := second.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of a watcher whose terminal is stopped", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", second.cmd.Process.Pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

// A picture is drawn anew in another size, and a full-screen program is drawn as it stands.
func TestAttachDraws(t *testing.T) {
	s := startSSHD(t)
	h := watchedHome(t, []*sshd{s})
	c := h.connect(t)
	id := c.open(t, s)
	c.ps1(t, id)
	c.enter(t, id, `printf '\033[?1049h\033[2J\033[5;10Hin the mid''dle\033[1;31m'; read x`+"\r", "in the middle")

	p := h.sit(t, "attach", "--config", h.config, id)
	p.showing(`(?m)^ {9}in the middle`)
	c.enter(t, id, "\r", `\$ $`)
	c.enter(t, id, `printf '\033[7;3Hand he''re'`+"\r", "and here")
	p.showing(`(?m)^  and here`)
	p.resize(100, 30)
	p.showing(`(?m)^  and here`)
	p.types("\x1d")
	p.leaves(0)
	p.sane()
	if picture := p.picture(); strings.Contains(picture, "in the middle") {
		t.Errorf("the program's screen was left:\n%s", picture)
	}
}

// The worst that output can do to a terminal does nothing to that of who looks at it.
func TestHostileOutput(t *testing.T) {
	s := startSSHD(t)
	h := watchedHome(t, []*sshd{s})
	c := h.connect(t)
	id := c.open(t, s)
	c.ps1(t, id)
	const hostile = `\033]0;pwned\007\033]52;c;ZXZpbA==\007\033[?1049h\033[?25l\033[?1000h\033[?1006h\033[?1h\033=\033[?2004h\033[4h\033[?7l` +
		`\033[2;5r\033[?6h\033(0\033[31;1;7;8m\033[6n\033[c\033[>c\033[21t\033P$qm\033\\\005\033[20h\033[2h\033[5i` +
		`\342\200\256gnp.exe\342\201\251\233\302\233hid''den`
	c.enter(t, id, "printf '"+hostile+"'\r", "hidden")

	for _, args := range [][]string{{"attach"}, {"tail", "-f"}, {"tail"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			p := h.sit(t, append(args, "--config", h.config, id)...)
			p.sees("(?i)hidden|│") // in the drawing character set it is other letters
			switch args[0] + fmt.Sprint(len(args)) {
			case "attach1":
				p.types("\x1d")
			case "tail2":
				p.types("\x03")
			}
			p.leaves(0)
			p.sane()
			for _, bad := range []string{"\x1b]", "\x1bP", "\x1b[6n", "\x1b[c", "\u202e", "\x05", "\x1b[5i", "\x1b[8m"} {
				if strings.Contains(p.text(), bad) {
					t.Errorf("the terminal was sent %q", bad)
				}
			}
		})
	}
	t.Run("into a file", func(t *testing.T) {
		stdout, stderr, status := h.run(t, "tail", "--config", h.config, id)
		if status != 0 || stderr != "" || strings.ContainsAny(stdout, "\x1b\x07\x05\r") ||
			!strings.Contains(stdout, "hidden") {
			t.Errorf("status %d, %q, %q", status, stdout, stderr)
		}
	})
	t.Run("raw", func(t *testing.T) {
		stdout, _, status := h.run(t, "tail", "--config", h.config, "--raw", id)
		if status != 0 || !strings.Contains(stdout, "\x1b]52;c;ZXZpbA==\a") {
			t.Errorf("status %d, %q", status, stdout)
		}
	})
}

func TestTail(t *testing.T) {
	s := startSSHD(t)
	h := watchedHome(t, []*sshd{s})
	c := h.connect(t)
	id := c.open(t, s)
	c.ps1(t, id)
	c.enter(t, id, "seq -f 'n%g' 50\r", `n50\r\n\$ $`)
	stdout, stderr, status := h.run(t, "tail", "--config", h.config, "-n", "3", id)
	if status != 0 || stderr != "" || stdout != "n49\nn50\n$ \n" {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	p := h.sit(t, "tail", "--config", h.config, "-n", "2", "-f", id)
	p.sees(`n50\r+\n\$ $`)
	c.enter(t, id, "echo mo''re\r", `more\r\n`)
	p.sees(`more\r+\n`)
	c.close(t, id)
	p.leaves(0)
	if strings.Contains(p.text(), "n49") {
		t.Errorf("more lines than asked for:\n%s", p.text())
	}
}

// Several processes of one user are found, and each session's own is asked.
func TestSeveralProcesses(t *testing.T) {
	s := startSSHD(t)
	h := watchedHome(t, []*sshd{s})
	first, second := h.connect(t), h.connect(t)
	a, b := first.open(t, s), second.open(t, s)
	second.enter(t, b, "echo on the sec''ond\r", "on the second")

	stdout, stderr, status := h.run(t, "sessions", "--config", h.config)
	if status != 1 || stdout != "" || !strings.Contains(stderr, "2 ptyctl processes run") ||
		!strings.Contains(stderr, "--all") ||
		!strings.Contains(stderr, strconv.Itoa(first.pid)) ||
		!strings.Contains(stderr, strconv.Itoa(second.pid)) {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	stdout, stderr, status = h.run(t, "sessions", "--config", h.config, "--all", "--json")
	var list []struct {
		PID       int
		SessionID string `json:"session_id"`
		State     string
	}
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || status != 0 || len(list) != 2 {
		t.Fatalf("status %d, %v: %q, %q", status, err, stdout, stderr)
	}
	for _, e := range list {
		if want := map[string]int{a: first.pid, b: second.pid}[e.SessionID]; want != e.PID || e.State != "open" {
			t.Errorf("%+v, want process %d", e, want)
		}
	}
	if stdout, stderr, status = h.run(t, "sessions", "--config", h.config, "--pid", strconv.Itoa(first.pid)); status != 0 ||
		!strings.Contains(stdout, a) ||
		strings.Contains(stdout, b) {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	if stdout, stderr, status = h.run(t, "tail", "--config", h.config, b); status != 0 ||
		!strings.Contains(stdout, "on the second") {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	stdout, stderr, status = h.run(t, "status", "--config", h.config)
	if status != 0 || strings.Count(stdout, "  sessions  1 open\n") != 2 ||
		!strings.Contains(stdout, "process "+strconv.Itoa(second.pid)) ||
		!regexp.MustCompile(`(?m)^  ptyctl_`).MatchString(stdout) {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}

	// What a process that was killed has left misleads nobody.
	second.kill()
	if stdout, stderr, status = h.run(t, "sessions", "--config", h.config); status != 0 || stderr != "" ||
		!strings.Contains(stdout, a) ||
		strings.Contains(stdout, b) {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	p := h.sit(t, "sessions", "--config", h.config, "--watch")
	p.showing(a)
	first.close(t, a)
	p.showing("closed: closed by the caller")
	p.types("\x03")
	p.leaves(0)
	p.sane()
}

// Watching is all that is allowed unless the operator says otherwise, and a token is asked for if he wants one.
func TestControlModes(t *testing.T) {
	s := startSSHD(t)
	const token = "a-token-of-the-operator-1138"
	socket := func(h *home, c *client) string {
		return filepath.Join(strings.TrimPrefix(h.env[0], "XDG_RUNTIME_DIR="), "ptyctl", fmt.Sprintf("%d.sock", c.pid))
	}

	t.Run("readonly", func(t *testing.T) {
		h := watchedHome(t, []*sshd{s})
		c := h.connect(t)
		id := c.open(t, s)
		for _, call := range []string{
			toolIO + ` {"action":"write","session_id":"` + id + `","data":"x"}`,
			toolSession + ` {"action":"close","session_id":"` + id + `"}`,
			toolSession + ` {"action":"lock","session_id":"` + id + `","task_id":"t","take_over":true}`,
			toolConfig + ` {"action":"resize","session_id":"` + id + `","cols":100,"rows":50}`,
			toolExec + ` {"session_id":"` + id + `","cmd":"true"}`,
		} {
			tool, arguments, _ := strings.Cut(call, " ")
			stdout, stderr, status := h.run(t, "call", "--config", h.config, tool, arguments)
			if status != 1 ||
				!strings.Contains(stdout+stderr, "POLICY_DENIED") && !strings.Contains(stdout+stderr, "not found") {
				t.Errorf("%s: status %d, %q, %q", call, status, stdout, stderr)
			}
		}
		stdout, stderr, status := h.run(
			t,
			"call",
			"--config",
			h.config,
			toolSession,
			`{"action":"status","session_id":"`+id+`"}`,
		)
		if status != 0 || !strings.Contains(stdout, `"state":"open"`) {
			t.Errorf("status %d, %q, %q", status, stdout, stderr)
		}
		p := h.sit(t, "attach", "--config", h.config, "--take", id)
		p.sees("--control-mode readwrite")
		p.leaves(1)
	})
	t.Run("disabled", func(t *testing.T) {
		h := watchedHome(t, []*sshd{s}, "[server.control]\ncontrol_mode = 'disabled'")
		c := h.connect(t)
		if _, err := os.Stat(socket(h, c)); err == nil {
			t.Error("there is a socket")
		}
		if stdout, stderr, status := h.run(t, "sessions", "--config", h.config); status != 1 ||
			!strings.Contains(stderr, "no ptyctl of yours is running") {
			t.Errorf("status %d, %q, %q", status, stdout, stderr)
		}
	})
	t.Run("token", func(t *testing.T) {
		h := watchedHome(t, []*sshd{s}, readWrite+"\ncontrol_auth_token = '"+token+"'")
		c := h.connect(t)
		c.hide(token)
		id := c.open(t, s)
		if stdout, stderr, status := h.run(t, "sessions", "--config", h.config); status != 0 ||
			!strings.Contains(stdout, id) {
			t.Errorf("status %d, %q, %q", status, stdout, stderr)
		}
		if stdout, stderr, status := h.run(t, "sessions", "--socket", socket(h, c)); status != 1 || stdout != "" ||
			!strings.Contains(stderr, "401") && !strings.Contains(strings.ToLower(stderr), "token") {
			t.Errorf("without the token: status %d, %q, %q", status, stdout, stderr)
		}
	})
	t.Run("a place of its own", func(t *testing.T) {
		h := watchedHome(t, []*sshd{s})
		path := filepath.Join(runtimeDir(t), "desk.sock")
		c := h.connect(t, "--control-socket", path)
		id := c.open(t, s)
		for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
			if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v, want %#o", p, info.Mode(), err, want)
			}
		}
		if stdout, stderr, status := h.run(t, "sessions", "--socket", path); status != 0 || !strings.Contains(stdout, id) {
			t.Errorf("status %d, %q, %q", status, stdout, stderr)
		}
		stdout, stderr, status := h.run(t, "mcp", "--config", h.config, "--control-socket", path)
		if status != 1 || stdout != "" || !strings.Contains(stderr, "another process serves "+path) {
			t.Errorf("a second one: status %d, %q, %q", status, stdout, stderr)
		}
		c.finish()
		if _, err := os.Stat(path); err == nil {
			t.Error("the socket was left")
		}
	})
}

func (p *person) resize(cols, rows int) {
	p.t.Helper()
	p.mu.Lock()
	p.screen.Resize(cols, rows)
	p.mu.Unlock()
	if err := setSize(p.tty, cols, rows); err != nil {
		p.t.Fatal(err)
	}
}
