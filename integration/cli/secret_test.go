package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// A value that a person stores answers the login of a command and of an agent; it is in no output, log or file of theirs.
func TestSecret(t *testing.T) {
	const password = "Planted-1138-horse"
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	s := lab.ServeSSH(t, sshserver.Config{KeyboardInteractive: func(_ string, ask ssh.KeyboardInteractiveChallenge) error {
		answers, err := ask("", "", []string{"Password: "}, []bool{false})
		if err == nil && (len(answers) != 1 || answers[0] != password) {
			err = errWrongAnswer
		}
		return err
	}})
	dir := t.TempDir()
	keys, file := filepath.Join(dir, "keys.txt"), filepath.Join(dir, "web.age")
	h := lab.NewHome(t, lab.ReadWrite, "[secret.web]", "source = 'exec:/x'", "hosts = ['other']",
		"[secret.brief]", "source = 'exec:/bin/echo 1138'", "hosts = ['other']",
		"[secret.web-login]", "source = 'age:"+file+"'", "identity = '"+keys+"'", "hosts = ['web1']", "users = ['alice']", "auto = true")
	h.Write(t, keys, identity.String()+"\n")
	h.Write(t, h.SSHConfig, fmt.Sprintf("Host web1\n\tHostName 127.0.0.1\n\tPort %d\n\tUser alice\n\tIdentityAgent none\n\tIdentityFile none\n", s.Port()))
	h.Trust(t, s.KnownHostsLine())
	run := func(want int, part string, args ...string) {
		t.Helper()
		stdout, stderr, status := h.Run(t, args...)
		if status != want || !strings.Contains(stdout+stderr, part) || strings.Contains(stdout+stderr, password) {
			t.Errorf("%q: status %d, %q, %q; want %d and %q", args, status, stdout, stderr, want, part)
		}
	}
	run(0, "web-login  age:"+file, "secret", "list", "--config", h.Config)
	run(1, "no such file", "secret", "check", "--config", h.Config, "web-login")
	run(255, "secret web-login is not available", "exec", "--config", h.Config, "web1", "--", "true")
	run(2, `there is no secret "web2"`, "secret", "check", "--config", h.Config, "web2")
	run(1, "brief is not given: it has fewer than 6 characters", "secret", "check", "--config", h.Config, "brief")
	run(1, "use the program that keeps this one", "secret", "set", "--stdin", "--config", h.Config, "web")
	run(1, "a value is one line", "secret", "set", "--stdin", "--config", h.Config, "web-login")

	p := h.AtTerminal(t, "secret", "set", "--config", h.Config, "web-login")
	p.Sees("Value of web-login: ")
	p.Types(password + "\r")
	p.Sees("Again: ")
	p.Types(password + "\r")
	p.Sees("stored")
	p.Leaves(0)
	if strings.Contains(p.Text(), password) {
		t.Error("the value was shown")
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v; want mode 0600", info, err)
	}
	run(0, "has a value", "secret", "check", "--config", h.Config, "web-login")
	run(0, "i am here", "exec", "--config", h.Config, "web1", "--", "echo i am he''re")

	c := h.Connect(t)
	r := c.Call(t, lab.ToolExec, `{"host":"web1","cmd":"echo o''k"}`)
	if !strings.Contains(r.Text, "ok") || strings.Contains(r.Text, "Password") {
		t.Errorf("an agent's exec gives %s, want ok and no question", r.Text)
	}
	c.Finish()
	log, err := os.ReadFile(h.Audit)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(log), `"event":"secret"`); n != 1 || strings.Contains(string(log), password) ||
		!strings.Contains(string(log), `"host":"127.0.0.1","actor":{"transport":"stdio","client":"integration","version":"1"},"detail":"web-login for the login of alice at 127.0.0.1`) {
		t.Errorf("the audit log has %d uses:\n%s", n, log)
	}
}

// A login asks for the operator's secret: a person gives it, and the agent that has opened the session may not.
func TestSecretOfAPerson(t *testing.T) {
	const password = "Planted-1139-horse"
	s := lab.ServeSSH(t, sshserver.Config{KeyboardInteractive: func(_ string, ask ssh.KeyboardInteractiveChallenge) error {
		answers, err := ask("", "", []string{"Password: "}, []bool{false})
		if err == nil && (len(answers) != 1 || answers[0] != password) {
			err = errWrongAnswer
		}
		return err
	}})
	h := lab.NewHome(t, lab.ReadWrite, "[secret.web]", "source = 'person'", "hosts = ['web1']", "auto = true")
	h.Write(t, h.SSHConfig, fmt.Sprintf("Host web1\n\tHostName 127.0.0.1\n\tPort %d\n\tUser alice\n\tIdentityAgent none\n\tIdentityFile none\n", s.Port()))
	h.Trust(t, s.KnownHostsLine())
	c := h.Connect(t)
	opened := c.Call(t, lab.ToolSession, `{"action":"open","protocol":"ssh","host":"web1"}`)
	if !strings.Contains(opened.Text, `"waiting_for":{"kind":"person","text":"secret web"}`) {
		t.Fatalf("open gives %s, want that it waits for a person", opened.Text)
	}
	refused := c.Refused(t, "POLICY_DENIED", lab.ToolIO, `{"action":"write","session_id":%s,"data":"guess-1138\r"}`, opened.SessionID)
	if !strings.Contains(refused.Message, "ptyctl answer") {
		t.Errorf("the agent's answer gives %q, want who answers", refused.Message)
	}
	p := h.AtTerminal(t, "answer", opened.SessionID)
	p.Sees("Password: ")
	p.Types(password + "\r")
	p.Sees("is open")
	p.Leaves(0)
	if r := c.Call(t, lab.ToolExec, `{"session_id":"`+opened.SessionID+`","cmd":"echo o\u0027\u0027k"}`); !strings.Contains(r.Text, "ok") {
		t.Errorf("exec in the session gives %s, want ok", r.Text)
	}
	c.Finish()
	log, err := os.ReadFile(h.Audit)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(log)+p.Text(), password) || !strings.Contains(string(log), "web for the login of alice") {
		t.Errorf("the audit log is\n%s\nand the person's screen %q, want the use without the value", log, p.Text())
	}
}

// A terminal on this machine asks for a password that a person gives: the call that names the secret ends with BUSY, the
// person answers, and the same call types it.
func TestSecretTypedForAPerson(t *testing.T) {
	const password = "Planted-1140-horse"
	h := lab.NewHome(t, lab.ReadWrite, "[limits]", "max_wait_ms = 500", "[session]", "read_timeout_ms = 500",
		"[secret.disk]", "source = 'person'", "local = true", "hint = 'the disk'")
	c := h.Connect(t)
	id := c.OpenLocal(t, []string{"/bin/sh", "-c", `stty -echo; printf "Password: "; read x; echo; echo "len ${#x}: $x"; read y`}, "")
	c.Expect(t, id, "Password: $")
	const write = `{"action":"write","session_id":%s,"secret":"disk"}`
	busy := c.Refused(t, "BUSY", lab.ToolIO, write, id)
	if !strings.Contains(busy.Text, `"waiting_for":{"kind":"person"`) {
		t.Errorf("the write gives %s, want that it waits for a person", busy.Text)
	}
	if stdout, _, _ := h.Run(t, "sessions", "--config", h.Config); !strings.Contains(stdout, "asks to use the secret disk (terminal)") {
		t.Errorf("ptyctl sessions prints %s, want the question for the value", stdout)
	}
	p := h.AtTerminal(t, "answer")
	p.Sees("use the secret disk")
	p.Sees("value of disk")
	p.Types(password + "\r")
	p.Sees("is answered")
	p.Leaves(0)
	c.Call(t, lab.ToolIO, write, id)
	if r := c.Expect(t, id, `len \d+: \S+`); !strings.Contains(r.Chunk, fmt.Sprintf("len %d: ****", len(password))) {
		t.Errorf("the program shows %q, want the password's length and a mask", r.Chunk)
	}
	c.Refused(t, "POLICY_DENIED", lab.ToolIO, write, id) // no question is there any more
	c.Call(t, lab.ToolSession, `{"action":"close","session_id":%s}`, id)
	c.Finish()
	log, err := os.ReadFile(h.Audit)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(log)+p.Text(), password) || !strings.Contains(string(log), "named disk") {
		t.Errorf("the audit log is\n%s\nand the person's screen %q, want the question without the value", log, p.Text())
	}
}

// A secret that cannot work is refused when the configuration is read, with its line.
func TestSecretMistakes(t *testing.T) {
	for lines, want := range map[string]string{
		"source = 'op read x'\nhosts = ['a']":                     "ptyctl.toml:4: secret.x.source: a source is one of exec:",
		"source = 'exec:op read x'\nhosts = ['a']":                "secret.x.source: exec: the path must be absolute",
		"source = 'env:A'":                                        "secret.x.hosts: it names no place; write hosts, devices or local = true",
		"hosts = ['a']":                                           "[secret.x] has no source",
		"source = 'env:A'\nhosts = ['a']\nprompts = ['(']":        "secret.x.prompts: error parsing regexp",
		"source = 'env:A'\nhosts = ['a']\nvalue = 'Planted-1138'": "there is no key secret.x.value",
	} {
		h := lab.NewHome(t, "[secret.x]", lines)
		_, stderr, status := h.Run(t, "secret", "list", "--config", h.Config)
		if status != 2 || !strings.Contains(stderr, want) || strings.Contains(stderr, "Planted") {
			t.Errorf("%q: status %d, %q; want 2 and %q", lines, status, stderr, want)
		}
	}
}
