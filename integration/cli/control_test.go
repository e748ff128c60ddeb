package cli

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

	"ptyctl/internal/lab"
)

// A viewer must see the session's picture, must survive whatever the session does to the terminal, and must not disturb
// others.
func TestAttach(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	c := h.Connect(t)
	id := c.Open(t, s)
	c.Enter(t, id, "echo ear''lier\r", "earlier")

	p := h.AtTerminal(t, "attach", "--config", h.Config, id)
	p.Sees(`watching ` + id + ` \(ssh 127\.0\.0\.1\); ctrl-\] leaves`)
	p.Sees("earlier")
	c.Enter(t, id, "echo la''ter\r", "later\n")
	p.Sees("later\r\n")

	t.Run("nothing is typed", func(t *testing.T) {
		p.Types("echo in''truder\r\x03\x04")
		c.Enter(t, id, "echo mar''ker\r", "marker\n")
		p.Sees("marker\r\n")
		if strings.Contains(p.Text(), "intruder") {
			t.Errorf("a watcher has typed:\n%s", p.Text())
		}
	})
	t.Run("ctrl-s and ctrl-q", func(t *testing.T) {
		p.Types("\x13")
		p.Types("\x13") // it may be held twice
		c.Enter(t, id, "echo he''ld\r", "held\n")
		p.Types("\x11")
		p.Sees("held\r\n")
	})
	t.Run("the beginning of an id", func(t *testing.T) {
		p := h.AtTerminal(t, "attach", "--config", h.Config, id[:len(id)-3])
		p.Sees("later")
		p.Types("\x1d")
		p.Leaves(0)
	})
	p.Types("\x1d")
	p.Sees("detached from " + id)
	p.Leaves(0)
	p.WantSane()

	t.Run("the session ends", func(t *testing.T) {
		p := h.AtTerminal(t, "attach", "--config", h.Config, id)
		p.Sees("later")
		c.Close(t, id)
		p.Sees("session " + id + " has ended")
		p.Leaves(0)
		p.WantSane()
	})
	t.Run("ptyctl ends", func(t *testing.T) {
		c := h.Connect(t)
		id := c.Open(t, s)
		p := h.AtTerminal(t, "attach", "--config", h.Config, id)
		p.Sees("watching")
		c.Enter(t, id, "echo la''st\r", "last\n")
		p.Sees("last")
		c.Finish()
		p.Leaves(0)
	})
	t.Run("ptyctl is killed", func(t *testing.T) {
		c := h.Connect(t)
		id := c.Open(t, s)
		p := h.AtTerminal(t, "attach", "--config", h.Config, id)
		p.Sees("watching")
		c.Kill()
		p.Sees("does not answer any more")
		p.Leaves(1)
		p.WantSane()
	})
}

// Two viewers, one with a stopped terminal, and the agent must see the same bytes without waiting for each other.
func TestTwoWatchersAndTheAgent(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	c := h.Connect(t)
	id := c.Open(t, s)
	c.PlainShell(t, id)

	first := h.AtTerminal(t, "attach", "--config", h.Config, "--raw", id)
	second := h.AtTerminal(t, "attach", "--config", h.Config, "--raw", id)
	first.Sees(`ready\r\n`)
	second.Sees(`ready\r\n`)
	second.Pause()

	// More than a terminal, its viewer and the connections between them can buffer, so that the second viewer must stop.
	const lines = 20_000
	began := time.Now()
	r := c.Call(
		t,
		lab.ToolIO,
		`{"action":"write","session_id":%s,"data":%s}`,
		id,
		fmt.Sprintf("seq -f 'line %%05g of the output' %d\r", lines),
	)
	var agent strings.Builder
	for cursor := r.Cursor; !strings.HasSuffix(agent.String(), "\n$ "); {
		r := c.Call(
			t,
			lab.ToolIO,
			`{"action":"read","session_id":%s,"cursor":%s,"timeout_ms":20000,"max_bytes":1000000,"format":"raw"}`,
			id,
			cursor,
		)
		if r.Truncated || r.TimedOut {
			t.Fatalf("the agent has missed something: %s", lab.Tail(r.Text, 500))
		}
		cursor = r.NextCursor
		agent.WriteString(r.Chunk)
	}
	first.Sees(`line 20000 of the output\r\n\$ $`)
	t.Logf("the agent had %d bytes after %v", agent.Len(), time.Since(began))

	want := agent.String()
	if n := strings.Count(want, "\n"); n != lines {
		t.Errorf("the agent has seen %d lines, want %d", n, lines)
	}
	if !strings.HasSuffix(first.Text(), want) {
		t.Error("the first watcher has seen other bytes than the agent")
	}
	if got := second.Text(); strings.Contains(got, "line 20000") {
		t.Error("the second watcher's terminal was not stopped at all")
	}
	second.Resume()
	second.Sees(`line 20000 of the output\r\n\$ $`)
	if !strings.HasSuffix(second.Text(), want) {
		t.Error("the second watcher has seen other bytes than the agent")
	}

	// A viewer must leave on request even if its terminal accepts no output.
	second.Pause()
	c.Call(
		t,
		lab.ToolIO,
		`{"action":"write","session_id":%s,"data":%s}`,
		id,
		fmt.Sprintf("seq -f 'line %%05g again' %d\r", lines),
	)
	first.Sees(`line 20000 again\r\n`)
	if err := second.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	lab.Eventually(t, "the end of a watcher whose terminal is stopped", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", second.Cmd.Process.Pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

// A frame must be drawn again in another size, and a full-screen program drawn in its current state.
func TestAttachDraws(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	c := h.Connect(t)
	id := c.Open(t, s)
	c.PlainShell(t, id)
	c.Enter(t, id, `printf '\033[?1049h\033[2J\033[5;10Hin the mid''dle\033[1;31m'; read x`+"\r", "in the middle")

	p := h.AtTerminal(t, "attach", "--config", h.Config, id)
	p.Showing(`(?m)^ {9}in the middle`)
	c.Enter(t, id, "\r", `\$ $`)
	c.Enter(t, id, `printf '\033[7;3Hand he''re'`+"\r", "and here")
	p.Showing(`(?m)^  and here`)
	p.Resize(100, 30)
	p.Showing(`(?m)^  and here`)
	p.Types("\x1d")
	p.Leaves(0)
	p.WantSane()
	if picture := p.Picture(); strings.Contains(picture, "in the middle") {
		t.Errorf("the program's screen was left:\n%s", picture)
	}
}

// The most hostile output must not harm the viewer's terminal.
func TestHostileOutput(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	c := h.Connect(t)
	id := c.Open(t, s)
	c.PlainShell(t, id)
	const hostile = `\033]0;pwned\007\033]52;c;ZXZpbA==\007\033[?1049h\033[?25l\033[?1000h\033[?1006h\033[?1h\033=\033[?2004h\033[4h\033[?7l` +
		`\033[2;5r\033[?6h\033(0\033[31;1;7;8m\033[6n\033[c\033[>c\033[21t\033P$qm\033\\\005\033[20h\033[2h\033[5i` +
		`\342\200\256gnp.exe\342\201\251\233\302\233hid''den`
	c.Enter(t, id, "printf '"+hostile+"'\r", "hidden")

	for _, args := range [][]string{{"attach"}, {"tail", "-f"}, {"tail"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			p := h.AtTerminal(t, append(args, "--config", h.Config, id)...)
			p.Sees("(?i)hidden|│") // in the drawing character set it is other letters
			switch args[0] + fmt.Sprint(len(args)) {
			case "attach1":
				p.Types("\x1d")
			case "tail2":
				p.Types("\x03")
			}
			p.Leaves(0)
			p.WantSane()
			for _, bad := range []string{"\x1b]", "\x1bP", "\x1b[6n", "\x1b[c", "\u202e", "\x05", "\x1b[5i", "\x1b[8m"} {
				if strings.Contains(p.Text(), bad) {
					t.Errorf("the terminal was sent %q", bad)
				}
			}
		})
	}
	t.Run("into a file", func(t *testing.T) {
		stdout, stderr, status := h.Run(t, "tail", "--config", h.Config, id)
		if status != 0 || stderr != "" || strings.ContainsAny(stdout, "\x1b\x07\x05\r") ||
			!strings.Contains(stdout, "hidden") {
			t.Errorf("status %d, %q, %q", status, stdout, stderr)
		}
	})
	t.Run("raw", func(t *testing.T) {
		stdout, _, status := h.Run(t, "tail", "--config", h.Config, "--raw", id)
		if status != 0 || !strings.Contains(stdout, "\x1b]52;c;ZXZpbA==\a") {
			t.Errorf("status %d, %q", status, stdout)
		}
	})
}

func TestTail(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	c := h.Connect(t)
	id := c.Open(t, s)
	c.PlainShell(t, id)
	c.Enter(t, id, "seq -f 'n%g' 50\r", `n50\n\$ $`)
	stdout, stderr, status := h.Run(t, "tail", "--config", h.Config, "-n", "3", id)
	if status != 0 || stderr != "" || stdout != "n49\nn50\n$ \n" {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	p := h.AtTerminal(t, "tail", "--config", h.Config, "-n", "2", "-f", id)
	p.Sees(`n50\r\n\$ $`)
	c.Enter(t, id, "echo mo''re\r", `more\n`)
	p.Sees(`more\r\n`)
	c.Close(t, id)
	p.Leaves(0)
	if strings.Contains(p.Text(), "n49") {
		t.Errorf("more lines than asked for:\n%s", p.Text())
	}
}

// Several processes of one user are found, and each session's own is asked.
func TestSeveralProcesses(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	first, second := h.Connect(t), h.Connect(t)
	a, b := first.Open(t, s), second.Open(t, s)
	second.Enter(t, b, "echo on the sec''ond\r", "on the second")

	stdout, stderr, status := h.Run(t, "sessions", "--config", h.Config)
	if status != 1 || stdout != "" || !strings.Contains(stderr, "2 ptyctl processes run") ||
		!strings.Contains(stderr, "--all") ||
		!strings.Contains(stderr, strconv.Itoa(first.PID)) ||
		!strings.Contains(stderr, strconv.Itoa(second.PID)) {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	stdout, stderr, status = h.Run(t, "sessions", "--config", h.Config, "--all", "--json")
	var list []struct {
		PID       int
		SessionID string `json:"session_id"`
		State     string
	}
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || status != 0 || len(list) != 2 {
		t.Fatalf("status %d, %v: %q, %q", status, err, stdout, stderr)
	}
	for _, e := range list {
		if want := map[string]int{a: first.PID, b: second.PID}[e.SessionID]; want != e.PID || e.State != "open" {
			t.Errorf("%+v, want process %d", e, want)
		}
	}
	if stdout, stderr, status = h.Run(
		t, "sessions", "--config", h.Config, "--pid", strconv.Itoa(first.PID),
	); status != 0 ||
		!strings.Contains(stdout, a) ||
		strings.Contains(stdout, b) {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	if stdout, stderr, status = h.Run(t, "tail", "--config", h.Config, b); status != 0 ||
		!strings.Contains(stdout, "on the second") {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	stdout, stderr, status = h.Run(t, "status", "--config", h.Config)
	if status != 0 || strings.Count(stdout, "  sessions  1 open\n") != 2 ||
		!strings.Contains(stdout, "process "+strconv.Itoa(second.PID)) ||
		!regexp.MustCompile(`(?m)^  ptyctl_`).MatchString(stdout) {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}

	// The files of a killed process must not mislead later commands.
	second.Kill()
	if stdout, stderr, status = h.Run(t, "sessions", "--config", h.Config); status != 0 || stderr != "" ||
		!strings.Contains(stdout, a) ||
		strings.Contains(stdout, b) {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	p := h.AtTerminal(t, "sessions", "--config", h.Config, "--watch")
	p.Showing(a)
	p.Resize(120, 24) // room for the whole reason: the table keeps to the width
	first.Close(t, a)
	p.Showing("closed: closed by the caller")
	p.Types("\x03")
	p.Leaves(0)
	p.WantSane()
}

// Viewers may only watch unless the operator allows more, and must show a token if the operator demands one.
func TestControlModes(t *testing.T) {
	s := lab.StartSSHD(t)
	const token = "a-token-of-the-operator-1138"
	socket := func(h *lab.Home, c *lab.Client) string {
		return filepath.Join(h.RuntimeDir, "ptyctl", fmt.Sprintf("%d.sock", c.PID))
	}

	t.Run("readonly", func(t *testing.T) {
		h := lab.HomeFor(t, []*lab.SSHD{s})
		c := h.Connect(t)
		id := c.Open(t, s)
		for _, call := range []string{
			lab.ToolIO + ` {"action":"write","session_id":"` + id + `","data":"x"}`,
			lab.ToolSession + ` {"action":"close","session_id":"` + id + `"}`,
			lab.ToolSession + ` {"action":"lock","session_id":"` + id + `","task_id":"t","take_over":true}`,
			lab.ToolConfig + ` {"action":"resize","session_id":"` + id + `","cols":100,"rows":50}`,
			lab.ToolExec + ` {"session_id":"` + id + `","cmd":"true"}`,
		} {
			tool, arguments, _ := strings.Cut(call, " ")
			stdout, stderr, status := h.Run(t, "call", "--config", h.Config, tool, arguments)
			if status != 1 ||
				!strings.Contains(stdout+stderr, "POLICY_DENIED") && !strings.Contains(stdout+stderr, "not found") {
				t.Errorf("%s: status %d, %q, %q", call, status, stdout, stderr)
			}
		}
		stdout, stderr, status := h.Run(
			t,
			"call",
			"--config",
			h.Config,
			lab.ToolSession,
			`{"action":"status","session_id":"`+id+`"}`,
		)
		if status != 0 || !strings.Contains(stdout, `"state":"open"`) {
			t.Errorf("status %d, %q, %q", status, stdout, stderr)
		}
		p := h.AtTerminal(t, "attach", "--config", h.Config, "--take", id)
		p.Sees("--control-mode readwrite")
		p.Leaves(1)
	})
	t.Run("disabled", func(t *testing.T) {
		h := lab.HomeFor(t, []*lab.SSHD{s}, "[server.control]\ncontrol_mode = 'disabled'")
		c := h.Connect(t)
		if _, err := os.Stat(socket(h, c)); err == nil {
			t.Error("there is a socket")
		}
		if stdout, stderr, status := h.Run(t, "sessions", "--config", h.Config); status != 1 ||
			!strings.Contains(stderr, "no ptyctl of yours is running") {
			t.Errorf("status %d, %q, %q", status, stdout, stderr)
		}
	})
	t.Run("token", func(t *testing.T) {
		h := lab.HomeFor(t, []*lab.SSHD{s}, lab.ReadWrite+"\ncontrol_auth_token = '"+token+"'")
		c := h.Connect(t)
		c.Hide(token)
		id := c.Open(t, s)
		if stdout, stderr, status := h.Run(t, "sessions", "--config", h.Config); status != 0 ||
			!strings.Contains(stdout, id) {
			t.Errorf("status %d, %q, %q", status, stdout, stderr)
		}
		if stdout, stderr, status := h.Run(t, "sessions", "--socket", socket(h, c)); status != 1 || stdout != "" ||
			!strings.Contains(stderr, "401") && !strings.Contains(strings.ToLower(stderr), "token") {
			t.Errorf("without the token: status %d, %q, %q", status, stdout, stderr)
		}
	})
	t.Run("a place of its own", func(t *testing.T) {
		h := lab.HomeFor(t, []*lab.SSHD{s})
		path := filepath.Join(lab.RuntimeDir(t), "desk.sock")
		c := h.Connect(t, "--control-socket", path)
		id := c.Open(t, s)
		for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
			if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v, want %#o", p, info.Mode(), err, want)
			}
		}
		if stdout, stderr, status := h.Run(t, "sessions", "--socket", path); status != 0 || !strings.Contains(stdout, id) {
			t.Errorf("status %d, %q, %q", status, stdout, stderr)
		}
		stdout, stderr, status := h.Run(t, "mcp", "--config", h.Config, "--control-socket", path)
		if status != 1 || stdout != "" || !strings.Contains(stderr, "another process serves "+path) {
			t.Errorf("a second one: status %d, %q, %q", status, stdout, stderr)
		}
		c.Finish()
		if _, err := os.Stat(path); err == nil {
			t.Error("the socket was left")
		}
	})
}
