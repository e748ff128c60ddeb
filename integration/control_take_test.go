package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
)

// A person takes the terminal from an agent that writes, types a password, and gives it back; the agent is kept out
// meanwhile, and learns of it when it types again. What was typed is in no record.
func TestAttachTake(t *testing.T) {
	const password = "typed-by-a-person-1138"
	s := startSSHD(t)
	h := watchedHome(t, []*sshd{s}, readWrite)
	c := h.connect(t)
	c.hide(password)
	for _, test := range []struct{ name, task, after string }{
		{"from an agent without a lock", "", "LOCKED"},
		{"from one that has it", `,"task_id":"agent-7"`, "LOCK_REQUIRED"},
	} {
		t.Run(test.name, func(t *testing.T) {
			id := c.open(t, s)
			c.ps1(t, id)
			c.enter(t, id, "printf '\\033[6n\\033[c'; echo asked\r", "asked") // and must not be asked again: see sane
			if test.task != "" {
				c.call(t, toolSession, `{"action":"lock","session_id":%s,"lock_ttl_ms":600000`+test.task+`}`, id)
			}
			write := `{"action":"write","session_id":%s,"data":"echo ag''ent\r"` + test.task + `}`
			c.call(t, toolIO, write, id)

			p := h.sit(t, "attach", "--config", h.config, "--take", id)
			p.sees("you have taken " + id)
			if test.task != "" {
				p.sees("from task agent-7")
			}
			if r := c.refused(t, "LOCKED", toolIO, write, id); !strings.Contains(r.Message, "person ") {
				t.Errorf("the agent is told %q", r.Message)
			}
			p.types("stty -echo; printf 'Pass''word: '; read x; stty size; echo got ${#x}\r")
			p.sees("Password: ")
			p.types(password + "\r")
			p.sees("24 80\r\ngot 22")
			p.resize(100, 30)
			p.types("until stty size | grep -x '30 100'; do sleep 0.05; done\r")
			p.sees("30 100")
			p.types("sh -c 'echo sle\\eping; exec sleep 1000'\r")
			p.sees("sleeping")
			p.types("\x03")
			p.sees("sleeping\r\n(\r\n)?\\$ $")
			p.types("echo stop''ped\r")
			p.sees("stopped")
			p.types("\x1d")
			p.sees("detached")
			p.leaves(0)
			p.sane()

			r := c.refused(t, test.after, toolIO, write, id)
			if !strings.Contains(r.Message, "took") || !strings.Contains(r.text, `"typed_since"`) ||
				!strings.Contains(r.text, `"taken_over_by":"person `) {
				t.Errorf("the agent learns %s", r.text)
			}
			if test.task != "" {
				c.call(t, toolSession, `{"action":"lock","session_id":%s`+test.task+`}`, id)
			}
			r = c.call(
				t,
				toolIO,
				`{"action":"write","session_id":%s,"data":"stty size\r","until_regex":"\\d+ \\d+\r\n","timeout_ms":20000`+test.task+`}`,
				id,
			)
			if !strings.Contains(r.Chunk, "40 120") {
				t.Errorf("the terminal's size was not put back: %s", r.text)
			}
			if strings.Contains(r.text, password) {
				t.Error("the password was echoed")
			}
		})
	}
	trail, err := os.ReadFile(h.audit)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"event":"take_over"`, `"transport":"socket"`, `"client":"ptyctl attach"`, `"sensitive":true`} {
		if !strings.Contains(string(trail), part) {
			t.Errorf("the audit log does not say %s", part)
		}
	}
}

// Where the rules deny typing, nothing is taken, and the person is told what to do.
func TestAttachTakeIsDenied(t *testing.T) {
	s := startSSHD(t)
	for _, test := range []struct{ name, rules, rule, remedy string }{
		{"because commands are ruled", `allow = ["ls *"]`, `policy.typing "auto" (for policy.allow (`, `set policy.typing = "allow"`},
		{"in so many words", `typing = "deny"`, `policy.typing "deny" (`, `set policy.typing = "allow"`},
		{"because the host is only read", `read_only_hosts = ["127.0.0.1"]`, `policy.read_only_hosts "127.0.0.1" (`, "change that rule"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := watchedHome(t, []*sshd{s}, "[policy]", test.rules, readWrite)
			c := h.connect(t)
			id := c.open(t, s)
			c.call(t, toolSession, `{"action":"lock","session_id":%s,"task_id":"agent-7"}`, id)
			for _, args := range [][]string{{"attach"}, {"bridge", "tmux"}} {
				p := h.sit(t, append(args, "--config", h.config, "--take", id)...)
				p.leaves(1)
				// The terminal of the test breaks lines.
				said := strings.Join(strings.Fields(p.text()), "")
				for _, want := range []string{"typing is denied by " + test.rule, "ptyctl.toml:", "watch without --take, or have the operator " + test.remedy} {
					if want = strings.Join(strings.Fields(want), ""); !strings.Contains(said, want) {
						t.Errorf("%v --take says %q, want %q", args, said, want)
					}
				}
			}
			if n := len(auditLines(t, h.audit, "take_over")); n > 0 {
				t.Errorf("the lock was taken over %d times", n)
			}
			if r := c.call(t, toolSession, `{"action":"status","session_id":%s}`, id); r.Holder != "agent-7" {
				t.Errorf("the lock is %q's, want agent-7's: %s", r.Holder, r.text)
			}
			p := h.sit(t, "attach", "--config", h.config, id)
			p.sees("watching " + id)
			p.types("\x1d")
			p.leaves(0)
		})
	}
	h := watchedHome(t, []*sshd{s}, "[policy]", `allow = ["ls *"]`, `typing = "allow"`, readWrite)
	id := h.connect(t).open(t, s)
	p := h.sit(t, "attach", "--config", h.config, "--take", id)
	p.sees("you have taken " + id)
	p.types("echo per''son\r")
	p.sees("person\r\n")
	p.types("\x1d")
	p.leaves(0)
}

// The death of who has taken a terminal keeps it from nobody for long, and his terminal is left in order.
func TestAttachTakeIsKilled(t *testing.T) {
	s := startSSHD(t)
	h := watchedHome(t, []*sshd{s}, readWrite)
	c := h.connect(t)
	id := c.open(t, s)
	p := h.sit(t, "attach", "--config", h.config, "--take", id)
	p.sees("you have taken")
	p.types("echo typ''ed\r")
	p.sees("typed")
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.leaves(0)
	p.sane()
	r := c.call(t, toolSession, `{"action":"status","session_id":%s}`, id)
	if r.Holder != "" {
		t.Errorf("the lock is still held: %s", r.text)
	}
}

// What a login asks is answered by a person, without the agent.
func TestAnswer(t *testing.T) {
	const password, code = "answer-password-1138", "answer-code-271828"
	s := serve(t, sshserver.Config{KeyboardInteractive: func(_ string, ask ssh.KeyboardInteractiveChallenge) error {
		answers, err := ask("", "", []string{"Password: \x1b]0;pwned\a", "Code: "}, []bool{false, true})
		if err == nil && (len(answers) != 2 || answers[0] != password || answers[1] != code) {
			return errWrongAnswer
		}
		return err
	}})
	h := newHome(t, readWrite)
	h.env = append(h.env, "XDG_RUNTIME_DIR="+runtimeDir(t))
	h.trust(t, s.KnownHostsLine())
	c := h.connect(t)
	c.hide(password)
	if stdout, stderr, status := h.run(t, "answer", "--config", h.config); status != 0 || stdout != "nothing is asked\n" {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	open := func() string {
		return c.call(
			t,
			toolSession,
			`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"alice","acquire_lock":true,"task_id":"agent-7"}`,
			s.Port(),
		).SessionID
	}
	id := open()
	stdout, stderr, status := h.run(t, "answer", "--config", h.config, "--list")
	if status != 0 || !strings.Contains(stdout, id+": alice@127.0.0.1") || !strings.Contains(stdout, "Password:") ||
		strings.Contains(stdout, "\x1b") {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	if stdout, _, _ := h.run(t, "sessions", "--config", h.config); !strings.Contains(stdout, "asks") {
		t.Errorf("sessions: %q", stdout)
	}

	p := h.sit(t, "answer", "--config", h.config, id)
	p.sees("alice@127.0.0.1.* asks .*\r\nPassword: $")
	p.types(password + "\r")
	p.sees("\r\nCode: $")
	p.types(code + "\r")
	p.sees("session " + id + " is open")
	p.leaves(0)
	p.sane()
	if strings.Contains(p.text(), password) {
		t.Errorf("the password was shown:\n%s", p.text())
	}
	if !strings.Contains(p.text(), code) {
		t.Error("what may be seen was hidden")
	}
	c.heard.Result(id, `{"state":"open"}`) // it was a person who answered: what the client types now is no secret
	r := c.call(
		t,
		toolIO,
		`{"action":"write","session_id":%s,"data":"echo o''k\r","task_id":"agent-7","until_regex":"ok\r\n","timeout_ms":20000}`,
		id,
	)
	if !r.Matched {
		t.Errorf("the agent cannot go on: %s", r.text)
	}

	// A wrong answer is asked for again; leaving leaves the question.
	id = open()
	p = h.sit(t, "answer", "--config", h.config, id)
	p.sees("Password: $")
	p.types("wrong\r")
	p.sees("Code: $")
	p.types("wrong\r")
	p.sees(`(?s)Code: .*Password: $`)
	p.types("\x03")
	p.leaves(1)
	p.sane()
	if r := c.call(t, toolSession, `{"action":"status","session_id":%s}`, id); r.Prompt == nil {
		t.Errorf("the question is gone: %s", r.text)
	}

	// A program answers from its input.
	h.write(t, filepath.Join(h.dir, "answers"), password+"\n"+code+"\n")
	in, err := os.Open(filepath.Join(h.dir, "answers"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd := h.command("answer", "--config", h.config, id)
	cmd.Stdin = in
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "is open") ||
		strings.Contains(string(out), password) {
		t.Errorf("%v: %s", err, out)
	}
}
