package cli

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// A person takes the terminal from an agent that writes, types a password, and gives the terminal back. Meanwhile the
// agent is kept out, and its next write must say so. No record may hold the typed text.
func TestAttachTake(t *testing.T) {
	const password = "typed-by-a-person-1138"
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s}, lab.ReadWrite)
	c := h.Connect(t)
	c.Hide(password)
	for _, test := range []struct{ name, task, after string }{
		{"from an agent without a lock", "", "LOCKED"},
		{"from one that has it", `,"task_id":"agent-7"`, "LOCK_REQUIRED"},
	} {
		t.Run(test.name, func(t *testing.T) {
			id := c.Open(t, s)
			c.PlainShell(t, id)
			c.Enter(t, id, "printf '\\033[6n\\033[c'; echo asked\r", "asked") // and must not be asked again: see sane
			if test.task != "" {
				c.Call(t, lab.ToolSession, `{"action":"lock","session_id":%s,"lock_ttl_ms":600000`+test.task+`}`, id)
			}
			write := `{"action":"write","session_id":%s,"data":"echo ag''ent\r"` + test.task + `}`
			c.Call(t, lab.ToolIO, write, id)

			p := h.AtTerminal(t, "attach", "--config", h.Config, "--take", id)
			p.Sees("you have taken " + id)
			if test.task != "" {
				p.Sees("from task agent-7")
			}
			if r := c.Refused(t, "LOCKED", lab.ToolIO, write, id); !strings.Contains(r.Message, "person ") {
				t.Errorf("refusal of the agent's write = %q", r.Message)
			}
			p.Types("stty -echo; printf 'Pass''word: '; read x; stty size; echo got ${#x}\r")
			p.Sees("Password: ")
			p.Types(password + "\r")
			p.Sees("24 80\r\ngot 22")
			p.Resize(100, 30)
			p.Types("until stty size | grep -x '30 100'; do sleep 0.05; done\r")
			p.Sees("30 100")
			p.Types("sh -c 'echo sle\\eping; exec sleep 1000'\r")
			p.Sees("sleeping")
			p.Types("\x03")
			p.Sees("sleeping\r\n(\r\n)?\\$ $")
			p.Types("echo stop''ped\r")
			p.Sees("stopped")
			p.Types("\x1d")
			p.Sees("detached")
			p.Leaves(0)
			p.WantSane()

			r := c.Refused(t, test.after, lab.ToolIO, write, id)
			if !strings.Contains(r.Message, "took") || !strings.Contains(r.Text, `"typed_since"`) ||
				!strings.Contains(r.Text, `"taken_over_by":"person `) {
				t.Errorf("the agent learns %s", r.Text)
			}
			if test.task != "" {
				c.Call(t, lab.ToolSession, `{"action":"lock","session_id":%s`+test.task+`}`, id)
			}
			r = c.Call(
				t,
				lab.ToolIO,
				`{"action":"write","session_id":%s,"data":"stty size\r","until_regex":"\\d+ \\d+\n","timeout_ms":20000`+test.task+`}`,
				id,
			)
			if !strings.Contains(r.Chunk, "40 120") {
				t.Errorf("the terminal's size was not restored: %s", r.Text)
			}
			if strings.Contains(r.Text, password) {
				t.Error("the password was echoed")
			}
		})
	}
	trail, err := os.ReadFile(h.Audit)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"event":"take_over"`, `"transport":"socket"`, `"client":"ptyctl attach"`, `"sensitive":true`,
	} {
		if !strings.Contains(string(trail), part) {
			t.Errorf("the audit log does not say %s", part)
		}
	}
	recordings, err := filepath.Glob(filepath.Join(h.Recordings, "*.cast"))
	if err != nil || len(recordings) != 2 {
		t.Fatalf("%d recordings, %v; want one of each session", len(recordings), err)
	}
	for _, path := range recordings {
		for _, part := range []string{`, "m", "take_over by a person`, "23 bytes, sensitive by a person", "Password: "} {
			lab.Eventually(t, part+" in the recording "+path, func() bool {
				return strings.Contains(string(lab.ReadFile(t, path)), part)
			})
		}
	}
}

// A person who takes the terminal from a list of steps has it at once, and nothing more of the list is typed.
func TestAttachTakesFromSteps(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s}, lab.ReadWrite)
	c := h.Connect(t)
	id := c.Open(t, s)
	c.PlainShell(t, id)
	var list sync.WaitGroup
	list.Go(func() {
		r := c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"steps":[`+
			`{"data":"echo be''gun\r","until_regex":"never","timeout_ms":40000},{"data":"echo ev''il\r"}]}`, id)
		if !strings.Contains(r.Text, `"stopped":"taken"`) || !strings.Contains(r.Text, `"step":0`) ||
			!strings.Contains(r.Text, `"error_code":"LOCKED"`) {
			t.Errorf("the steps were answered with %s, want them taken at step 0", r.Text)
		}
	})
	c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","until_regex":"begun","timeout_ms":20000}`, id)
	p := h.AtTerminal(t, "attach", "--config", h.Config, "--take", id)
	p.Sees("you have taken " + id)
	p.Types("echo per''son\r")
	p.Sees("person")
	list.Wait()
	p.Types("\x1d")
	p.Sees("detached")
	p.Leaves(0)
	r := c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","until_idle_ms":500,"timeout_ms":20000}`, id)
	if strings.Contains(r.Chunk, "evil") || !strings.Contains(r.Chunk, "person") {
		t.Errorf("the terminal shows %q, want the person's line and no later step", r.Chunk)
	}
}

// The terminal gets its own size back also when one person has taken it from another, and when the process of a person
// is killed.
func TestAttachTakeGivesTheSizeBack(t *testing.T) {
	t.Parallel()
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s}, lab.ReadWrite)
	c := h.Connect(t)
	const sizeBack = "echo wai''ting; until stty size | grep -x '40 120'; do sleep 0.1; done\r"
	sees := func(t *testing.T, id string) {
		t.Helper()
		r := c.Call(t, lab.ToolIO,
			`{"action":"read","session_id":%s,"cursor":"0","until_regex":"(?m)^40 120$","timeout_ms":50000}`, id)
		if !strings.Contains(r.Text, `"matched":true`) {
			t.Errorf("the terminal has not got its size back: %s", r.Text)
		}
	}
	take := func(t *testing.T, id string, cols, rows int, size string) *lab.Person {
		t.Helper()
		p := h.AtTerminal(t, "attach", "--config", h.Config, "--take", id)
		p.Sees("you have taken " + id)
		p.Resize(cols, rows)
		p.Types("until stty size | grep -x '" + size + "'; do sleep 0.1; done\r")
		p.Sees(size + "\r\n")
		return p
	}
	t.Run("two people", func(t *testing.T) {
		id := c.Open(t, s)
		c.PlainShell(t, id)
		first := take(t, id, 90, 25, "25 90")
		second := take(t, id, 100, 30, "30 100")
		first.Types("x")
		first.Leaves(1)
		second.Types(sizeBack)
		second.Types("\x1d")
		second.Leaves(0)
		sees(t, id)
	})
	t.Run("killed", func(t *testing.T) {
		id := c.Open(t, s)
		c.PlainShell(t, id)
		p := take(t, id, 90, 25, "25 90")
		p.Types(sizeBack)
		c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","until_regex":"waiting","timeout_ms":20000}`, id)
		if err := p.Cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		p.Leaves(-1)
		sees(t, id)
	})
}

// If the rules deny typing, attach --take must take nothing and must give advice.
func TestAttachTakeIsDenied(t *testing.T) {
	s := lab.StartSSHD(t)
	for _, test := range []struct{ name, rules, rule, remedy string }{
		{"because commands are ruled", `allow = ["ls *"]`, `policy.typing "auto" (for policy.allow (`, `set policy.typing = "allow"`},
		{"in so many words", `typing = "deny"`, `policy.typing "deny" (`, `set policy.typing = "allow"`},
		{"because the host is only read", `read_only_hosts = ["127.0.0.1"]`, `policy.read_only_hosts "127.0.0.1" (`, "change that rule"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := lab.HomeFor(t, []*lab.SSHD{s}, "[policy]", test.rules, lab.ReadWrite)
			c := h.Connect(t)
			id := c.Open(t, s)
			c.Call(t, lab.ToolSession, `{"action":"lock","session_id":%s,"task_id":"agent-7"}`, id)
			for _, args := range [][]string{{"attach"}, {"bridge", "tmux"}} {
				p := h.AtTerminal(t, append(args, "--config", h.Config, "--take", id)...)
				p.Leaves(1)
				// The terminal of the test breaks lines.
				said := strings.Join(strings.Fields(p.Text()), "")
				for _, want := range []string{
					"typing is denied by " + test.rule, "ptyctl.toml:", "watch without --take, or have the operator " + test.remedy,
				} {
					if want = strings.Join(strings.Fields(want), ""); !strings.Contains(said, want) {
						t.Errorf("%v --take says %q, want %q", args, said, want)
					}
				}
			}
			if n := len(lab.AuditLines(t, h.Audit, "take_over")); n > 0 {
				t.Errorf("the lock was taken over %d times", n)
			}
			if r := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id); r.Holder != "agent-7" {
				t.Errorf("the lock is %q's, want agent-7's: %s", r.Holder, r.Text)
			}
			p := h.AtTerminal(t, "attach", "--config", h.Config, id)
			p.Sees("watching " + id)
			p.Types("\x1d")
			p.Leaves(0)
		})
	}
	h := lab.HomeFor(t, []*lab.SSHD{s}, "[policy]", `allow = ["ls *"]`, `typing = "allow"`, lab.ReadWrite)
	id := h.Connect(t).Open(t, s)
	p := h.AtTerminal(t, "attach", "--config", h.Config, "--take", id)
	p.Sees("you have taken " + id)
	p.Types("echo per''son\r")
	p.Sees("person\r\n")
	p.Types("\x1d")
	p.Leaves(0)
}

// If the process that took a terminal is killed, the terminal must soon be free again, and the person's own terminal
// restored.
func TestAttachTakeIsKilled(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s}, lab.ReadWrite)
	c := h.Connect(t)
	id := c.Open(t, s)
	p := h.AtTerminal(t, "attach", "--config", h.Config, "--take", id)
	p.Sees("you have taken")
	p.Types("echo typ''ed\r")
	p.Sees("typed")
	if err := p.Cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.Leaves(0)
	p.WantSane()
	r := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id)
	if r.Holder != "" {
		t.Errorf("the lock is still held: %s", r.Text)
	}
}

// A person answers a login's question without the agent.
func TestAnswer(t *testing.T) {
	const password, code = "answer-password-1138", "answer-code-271828"
	s := lab.ServeSSH(t, sshserver.Config{KeyboardInteractive: func(_ string, ask ssh.KeyboardInteractiveChallenge) error {
		answers, err := ask("", "", []string{"Password: \x1b]0;pwned\a", "Code: "}, []bool{false, true})
		if err == nil && (len(answers) != 2 || answers[0] != password || answers[1] != code) {
			return errWrongAnswer
		}
		return err
	}})
	h := lab.NewHome(t, lab.ReadWrite)
	h.Trust(t, s.KnownHostsLine())
	c := h.Connect(t)
	c.Hide(password)
	if stdout, stderr, status := h.Run(t, "answer", "--config", h.Config); status != 0 || stdout != "nothing is asked\n" {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	open := func() string {
		return c.Call(
			t,
			lab.ToolSession,
			`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"alice","acquire_lock":true,"task_id":"agent-7"}`,
			s.Port(),
		).SessionID
	}
	id := open()
	stdout, stderr, status := h.Run(t, "answer", "--config", h.Config, "--list")
	if status != 0 || !strings.Contains(stdout, id+": alice@127.0.0.1") || !strings.Contains(stdout, "Password:") ||
		strings.Contains(stdout, "\x1b") {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	if stdout, _, _ := h.Run(t, "sessions", "--config", h.Config); !strings.Contains(stdout, "asks") {
		t.Errorf("sessions: %q", stdout)
	}

	p := h.AtTerminal(t, "answer", "--config", h.Config, id)
	p.Sees(`alice@127.0.0.1.* asks .*\r\nPassword: \\x1b\]0;pwned\\x07 $`)
	p.Types(password + "\r")
	p.Sees("\r\nCode: $")
	p.Types(code + "\r")
	p.Sees("session " + id + " is open")
	p.Leaves(0)
	p.WantSane()
	if strings.Contains(p.Text(), password) {
		t.Errorf("the password was shown:\n%s", p.Text())
	}
	if !strings.Contains(p.Text(), code) {
		t.Error("the echo of a visible answer is hidden, want it shown")
	}
	c.Heard.Result(id, `{"state":"open"}`) // a person answered, so the client's own text is not secret
	r := c.Call(
		t,
		lab.ToolIO,
		`{"action":"write","session_id":%s,"data":"echo o''k\r","task_id":"agent-7","until_regex":"ok\n","timeout_ms":20000}`,
		id,
	)
	if !r.Matched {
		t.Errorf("the agent cannot go on: %s", r.Text)
	}

	// A wrong answer is asked for again; leaving leaves the question.
	id = open()
	p = h.AtTerminal(t, "answer", "--config", h.Config, id)
	p.Sees(`Password: \\x1b\]0;pwned\\x07 $`)
	p.Types("wrong\r")
	p.Sees("Code: $")
	p.Types("wrong\r")
	p.Sees(`(?s)Code: .*Password: \\x1b\]0;pwned\\x07 $`)
	p.Types("\x03")
	p.Leaves(1)
	p.WantSane()
	if r := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id); r.Prompt == nil {
		t.Errorf("the question is gone: %s", r.Text)
	}

	// A program answers from its input.
	h.Write(t, filepath.Join(h.Dir, "answers"), password+"\n"+code+"\n")
	in, err := os.Open(filepath.Join(h.Dir, "answers"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd := h.Command("answer", "--config", h.Config, id)
	cmd.Stdin = in
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "is open") ||
		strings.Contains(string(out), password) {
		t.Errorf("%v: %s", err, out)
	}
}
