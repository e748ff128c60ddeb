package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
)

var errWrongAnswer = errors.New("wrong answers")

// A command that is run by hand is run as for an agent, and its status is ours.
func TestExecByHand(t *testing.T) {
	s := startSSHD(t)
	h := watchedHome(t, []*sshd{s})
	where := fmt.Sprintf("%s@127.0.0.1:%d", s.user, s.port)
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
		stdout, stderr, status := h.run(t, "exec", "--config", h.config, where, "--", test.command)
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
			t.Errorf("%s: status %d, %q, %q", test.command, status, tail(stdout, 200), stderr)
		}
	}

	cmd := h.command("exec", "--config", h.config, "--stdin", where, "--", "tr a-z A-Z")
	cmd.Stdin = strings.NewReader("from here\n")
	if out, err := cmd.Output(); err != nil || string(out) != "FROM HERE\n" {
		t.Errorf("%v, %q", err, out)
	}
	if _, stderr, status := h.run(t, "exec", "--config", h.config, "--timeout", "300ms", where, "--", "sleep 1000"); status != 124 ||
		!strings.Contains(stderr, "took too long") {
		t.Errorf("status %d, %q", status, stderr)
	}
	if _, stderr, status := h.run(t, "exec", "--config", h.config, fmt.Sprintf("127.0.0.1:%d", freePort(t)), "--", "true"); status != 255 ||
		!strings.Contains(stderr, "refused") {
		t.Errorf("status %d, %q", status, stderr)
	}
	t.Run("ctrl-c", func(t *testing.T) {
		p := h.sit(t, "exec", "--config", h.config, where, "--", "echo here; sleep 1000")
		p.sees("here")
		p.types("\x03")
		p.leaves(130)
	})
	s.idle(t)
}

// A person has a terminal through the very same engine.
func TestOpenByHand(t *testing.T) {
	s := startSSHD(t)
	h := watchedHome(t, []*sshd{s})
	where := fmt.Sprintf("%s@127.0.0.1:%d", s.user, s.port)
	p := h.sit(t, "open", "--config", h.config, where)
	p.types("stty size; echo $TERM\r")
	p.sees("24 80\r\nxterm-256color")
	p.resize(90, 20)
	p.types("until stty size | grep -x '20 90'; do sleep 0.05; done\r")
	p.sees("20 90\r\n")
	p.types("sh -c 'echo sle\\eping; exec sleep 1000'\r")
	p.sees("sleeping")
	p.types("\x03")
	p.types("\r")
	p.sees("(?s)sleeping.*# .*# $")
	p.types("exit 5\r")
	p.leaves(5)
	p.sane()

	p = h.sit(t, "open", "--config", h.config, where)
	p.types("printf '\\033[?1049h\\033[?25l'; echo re''ady\r")
	p.sees("ready")
	p.types("\x1d")
	p.leaves(0)
	p.sane()
	if _, stderr, status := h.run(t, "open", "--config", h.config, where); status != 2 ||
		!strings.Contains(stderr, "ptyctl exec") {
		t.Errorf("without a terminal: status %d, %q", status, stderr)
	}
	s.idle(t)
}

// The login's questions come to the person, and an unknown host key can be asked about.
func TestOpenAsks(t *testing.T) {
	const password = "open-password-1138"
	s := serve(t, sshserver.Config{KeyboardInteractive: func(_ string, ask ssh.KeyboardInteractiveChallenge) error {
		answers, err := ask("", "", []string{"Password: "}, []bool{false})
		if err == nil && (len(answers) != 1 || answers[0] != password) {
			return errWrongAnswer
		}
		return err
	}})
	h := newHome(t)
	p := h.sit(
		t,
		"exec",
		"--config",
		h.config,
		"--host-key",
		"ask",
		fmt.Sprintf("alice@127.0.0.1:%d", s.Port()),
		"--",
		"echo i am he''re",
	)
	p.sees(`\(yes/no|fingerprint`)
	p.types("yes\r")
	p.sees("Password: $")
	p.types(password + "\r")
	p.sees("i am here")
	p.leaves(0)
	if strings.Contains(p.text(), password) {
		t.Error("the password was shown")
	}
	if known, err := os.ReadFile(h.knownHosts); err != nil || len(known) == 0 {
		t.Errorf("the key is not on record: %v", err)
	}
	if _, stderr, status := h.run(t, "exec", "--config", h.config, fmt.Sprintf("alice@127.0.0.1:%d", s.Port()), "--", "true"); status != 255 ||
		!strings.Contains(stderr, "no answer") {
		t.Errorf("without anybody to ask: status %d, %q", status, stderr)
	}
	eventually(t, "the end of every connection", func() bool { return s.Stats().Open == 0 })
}

// Stepping in from a script is the agent's own calls.
func TestCallByHand(t *testing.T) {
	s := startSSHD(t)
	h := watchedHome(t, []*sshd{s}, readWrite)
	c := h.connect(t)
	id := c.open(t, s)
	stdout, stderr, status := h.run(
		t,
		"call",
		"--config",
		h.config,
		toolExec,
		`{"session_id":"`+id+`","cmd":"echo by hand"}`,
	)
	if status != 0 || stderr != "" || !strings.Contains(stdout, `"stdout":"by hand\n"`) {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	stdout, stderr, status = h.run(t, "call", "--config", h.config, toolExec, `{"session_id":"`+id+`","cmd":""}`)
	if status != 1 || !strings.Contains(stdout, `"error_code":"INVALID_ARGUMENT"`) {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	if stdout, stderr, status = h.run(t, "call", "--config", h.config, toolSession, `[]`); status != 2 || stdout != "" ||
		!strings.Contains(stderr, "JSON object") {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	cmd := h.command("call", "--config", h.config, toolSession, "-")
	cmd.Stdin = strings.NewReader(`{"action":"list"}`)
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), id) {
		t.Errorf("%v, %q", err, out)
	}
}

// Another user is shut out of the socket by its folder, and by the kernel's word where that stands open.
func labControlSocket(t *testing.T, l *lab) {
	program, err := os.ReadFile(plainBinary)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ptyctl"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	l.run(
		t,
		"cp "+filepath.Join(
			dir,
			"ptyctl",
		)+" /run/lab/ptyctl; chmod 755 /run/lab/ptyctl; install -d -o alice -g alice -m 700 /run/lab/alice; mkfifo -m 666 /run/lab/input",
	)
	defer l.run(t, "rm -rf /run/lab/alice /run/lab/input /run/lab/ptyctl")
	as := func(user, command string) string {
		return "setpriv --reuid " + user + " --regid " + user + " --clear-groups env -i HOME=/run/lab/home/" + user + " PATH=/usr/bin:/bin " + command
	}
	const socket = "/run/lab/alice/ptyctl/s.sock"
	// Its input stays open until somebody has opened the pipe for writing, and closed it.
	l.run(
		t,
		as(
			"alice",
			"/run/lab/ptyctl mcp --control-socket "+socket,
		)+" </run/lab/input >/dev/null 2>/run/lab/log &\nexec 9>/run/lab/input; sleep infinity 9>&9 & echo $! >/run/lab/holder",
	)
	defer l.run(t, "kill $(cat /run/lab/holder) || true")
	sessions := func(user string) string {
		return l.run(t, as(user, "/run/lab/ptyctl sessions --socket "+socket)+" 2>&1 || echo status $?")
	}
	eventually(t, "the socket", func() bool { return l.run(t, "test -S "+socket+" && echo yes || true") == "yes" })
	if got := sessions("alice"); got != "no sessions" {
		t.Errorf("its owner is told %q", got)
	}
	if got := sessions("bob"); !strings.Contains(got, "permission denied") || !strings.Contains(got, "status 1") {
		t.Errorf("another user is told %q", got)
	}
	l.run(t, "chmod 755 /run/lab/alice /run/lab/alice/ptyctl; chmod 666 "+socket)
	for _, user := range []string{"bob", "root"} {
		if got := sessions(user); !strings.Contains(got, "belongs to user") || !strings.Contains(got, "status 1") {
			t.Errorf("%s at an open folder is told %q", user, got)
		}
	}
}
