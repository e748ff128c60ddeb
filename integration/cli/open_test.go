package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

var errWrongAnswer = errors.New("wrong answers")

// A command that is run by hand is run as for an agent, and its status is ours.
func TestExecByHand(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	where := fmt.Sprintf("%s@127.0.0.1:%d", s.User, s.Port)
	for _, test := range []struct {
		command        string
		stdout, stderr string
		status         int
	}{
		{"echo out; echo err >&2; exit 7", "out\n", "err\n", 7},
		{"true", "", "", 0},
		{"seq 100000 | tail -c 70000 | md5sum", "", "", 0},
		{`printf '\377\000\001'`, "\xff\x00\x01", "", 0},
		{"for i in 1 2 3; do echo $i; sleep 0.3; done; exit 3", "1\n2\n3\n", "", 3},
		{"seq 200000", "", "", 0}, // more than one result holds
		{"kill -TERM $$", "", "", 128 + 15},
	} {
		stdout, stderr, status := h.Run(t, "exec", "--config", h.Config, where, "--", test.command)
		want := test.stdout
		switch test.command {
		case "seq 200000":
			var b strings.Builder
			for i := range 200_000 {
				fmt.Fprintln(&b, i+1)
			}
			want = b.String()
		case "seq 100000 | tail -c 70000 | md5sum":
			want = stdout
		}
		if stdout != want || stderr != test.stderr || status != test.status {
			t.Errorf("%s: status %d, %q, %q", test.command, status, lab.Tail(stdout, 200), stderr)
		}
	}

	cmd := h.Command("exec", "--config", h.Config, "--stdin", where, "--", "tr a-z A-Z")
	cmd.Stdin = strings.NewReader("from here\n")
	if out, err := cmd.Output(); err != nil || string(out) != "FROM HERE\n" {
		t.Errorf("%v, %q", err, out)
	}
	if _, stderr, status := h.Run(
		t, "exec", "--config", h.Config, "--timeout", "300ms", where, "--", "sleep 1000",
	); status != 124 ||
		!strings.Contains(stderr, "took too long") {
		t.Errorf("status %d, %q", status, stderr)
	}
	if _, stderr, status := h.Run(
		t, "exec", "--config", h.Config, fmt.Sprintf("127.0.0.1:%d", lab.FreePort(t)), "--", "true",
	); status != 255 ||
		!strings.Contains(stderr, "refused") {
		t.Errorf("status %d, %q", status, stderr)
	}
	t.Run("ctrl-c", func(t *testing.T) {
		p := h.AtTerminal(t, "exec", "--config", h.Config, where, "--", "echo here; sleep 60")
		p.Sees("here")
		p.Types("\x03")
		p.Leaves(130)
	})
	s.WaitIdle(t)
}

// A person has a terminal through the very same engine.
func TestOpenByHand(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	where := fmt.Sprintf("%s@127.0.0.1:%d", s.User, s.Port)
	p := h.AtTerminal(t, "open", "--config", h.Config, where)
	p.Types("stty size; echo $TERM\r")
	p.Sees("24 80\r\nxterm-256color")
	p.Resize(90, 20)
	p.Types("until stty size | grep -x '20 90'; do sleep 0.05; done\r")
	p.Sees("20 90\r\n")
	p.Types("sh -c 'echo sle\\eping; exec sleep 1000'\r")
	p.Sees("sleeping")
	p.Types("\x03")
	p.Types("\r")
	p.Sees("(?s)sleeping.*# .*# $")
	p.Types("exit 5\r")
	p.Leaves(5)
	p.WantSane()

	p = h.AtTerminal(t, "open", "--config", h.Config, where)
	p.Types("printf '\\033[?1049h\\033[?25l'; echo re''ady\r")
	p.Sees("ready")
	p.Types("\x1d")
	p.Leaves(0)
	p.WantSane()
	if _, stderr, status := h.Run(t, "open", "--config", h.Config, where); status != 2 ||
		!strings.Contains(stderr, "ptyctl exec") {
		t.Errorf("without a terminal: status %d, %q", status, stderr)
	}
	s.WaitIdle(t)
}

// What an account runs in place of a shell, and ends by itself, has its output and its status shown, as with ssh(1),
// though the connection would go on for commands; also when the person types meanwhile.
func TestOpenOfARestrictedAccount(t *testing.T) {
	forced := lab.StartSSHD(t, "ForceCommand echo forced; exit 7")
	h := lab.HomeFor(t, []*lab.SSHD{forced})
	where := fmt.Sprintf("%s@127.0.0.1:%d", forced.User, forced.Port)
	for _, keys := range []string{"", "x", "x", "x"} {
		p := h.AtTerminal(t, "open", "--config", h.Config, where)
		p.Types(keys)
		p.Sees("forced")
		p.Types(keys)
		p.Leaves(7)
		p.WantSane()
	}
	forced.WaitIdle(t)

	bare := lab.StartSSHD(t, "PermitTTY no")
	h = lab.HomeFor(t, []*lab.SSHD{bare})
	p := h.AtTerminal(t, "open", "--config", h.Config, fmt.Sprintf("%s@127.0.0.1:%d", bare.User, bare.Port))
	p.Sees("refuses a pseudo-terminal(?s).*run commands with ptyctl exec")
	p.Leaves(254)
	bare.WaitIdle(t)
}

// The login's questions come to the person, and an unknown host key can be asked about.
func TestOpenAsks(t *testing.T) {
	const password = "open-password-1138"
	s := lab.ServeSSH(t, sshserver.Config{KeyboardInteractive: func(_ string, ask ssh.KeyboardInteractiveChallenge) error {
		answers, err := ask("", "", []string{"Password: "}, []bool{false})
		if err == nil && (len(answers) != 1 || answers[0] != password) {
			return errWrongAnswer
		}
		return err
	}})
	h := lab.NewHome(t)
	p := h.AtTerminal(
		t,
		"exec",
		"--config",
		h.Config,
		"--host-key",
		"ask",
		fmt.Sprintf("alice@127.0.0.1:%d", s.Port()),
		"--",
		"echo i am he''re",
	)
	p.Sees(`\(yes/no|fingerprint`)
	p.Types("yes\r")
	p.Sees("Password: $")
	p.Types(password + "\r")
	p.Sees("i am here")
	p.Leaves(0)
	if strings.Contains(p.Text(), password) {
		t.Error("the password was shown")
	}
	if known, err := os.ReadFile(h.KnownHosts); err != nil || len(known) == 0 {
		t.Errorf("the key is not on record: %v", err)
	}
	if _, stderr, status := h.Run(
		t, "exec", "--config", h.Config, fmt.Sprintf("alice@127.0.0.1:%d", s.Port()), "--", "true",
	); status != 255 ||
		!strings.Contains(stderr, "no answer") {
		t.Errorf("without anybody to ask: status %d, %q", status, stderr)
	}
	lab.Eventually(t, "the end of every connection", func() bool { return s.Stats().Open == 0 })
}

// A person who leaves a login without an answer is told whether the question stays open.
func TestOpenLeft(t *testing.T) {
	s := lab.ServeSSH(t, sshserver.Config{KeyboardInteractive: func(_ string, ask ssh.KeyboardInteractiveChallenge) error {
		_, err := ask("", "", []string{"Password: "}, []bool{false})
		return errors.Join(err, errWrongAnswer)
	}})
	h := lab.NewHome(t, "[server.control]", `control_mode = "readwrite"`)
	c := h.Connect(t)
	where := fmt.Sprintf("alice@127.0.0.1:%d", s.Port())
	for _, keep := range []bool{false, true} {
		args := []string{"open", "--config", h.Config, "--host-key", "accept_new"}
		if keep {
			args = append(args, "--keep")
		}
		p := h.AtTerminal(t, append(args, where)...)
		p.Sees("Password: $")
		p.Types("not-the-password\r")
		p.Sees(`(?s)Password: .*Password: $`)
		p.Types("\x03")
		p.Leaves(255)
		stdout, _, _ := h.Run(t, "answer", "--config", h.Config, "--list")
		if keep {
			p.Sees(`left without an answer; the question stays open: ptyctl answer (\S+) answers it`)
		} else {
			p.Sees("left without an answer, so the login is given up")
		}
		if open := strings.Contains(stdout, "Password"); open != keep {
			t.Errorf("with --keep: %t; the questions that wait are %q", keep, stdout)
		}
	}
	c.Finish()
}

// Stepping in from a script is the agent's own calls.
func TestCallByHand(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s}, lab.ReadWrite)
	c := h.Connect(t)
	id := c.Open(t, s)
	stdout, stderr, status := h.Run(
		t,
		"call",
		"--config",
		h.Config,
		lab.ToolExec,
		`{"session_id":"`+id+`","cmd":"echo by hand"}`,
	)
	if status != 0 || stderr != "" || !strings.Contains(stdout, `"stdout":"by hand\n"`) {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	stdout, stderr, status = h.Run(t, "call", "--config", h.Config, lab.ToolExec, `{"session_id":"`+id+`","cmd":""}`)
	if status != 1 || !strings.Contains(stdout, `"error_code":"INVALID_ARGUMENT"`) {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	if stdout, stderr, status = h.Run(t, "call", "--config", h.Config, lab.ToolSession, `[]`); status != 2 ||
		stdout != "" ||
		!strings.Contains(stderr, "JSON object") {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	cmd := h.Command("call", "--config", h.Config, lab.ToolSession, "-")
	cmd.Stdin = strings.NewReader(`{"action":"list"}`)
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), id) {
		t.Errorf("%v, %q", err, out)
	}
}
