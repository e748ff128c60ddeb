package ssh

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/session"
	"ptyctl/term"
)

// The terminal holds the only session that the server allows per connection.
func labMaxSessionsOne(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{Config: "MaxSessions 1"})
	s := l.Operator(t, server).MustOpen(server.WithKey(l.Users["alice"]))
	for i := range 5 {
		lab.WantExec(t, s, fmt.Sprintf("echo %d", i), fmt.Sprintf("%d\n", i), 0)
	}
	lab.TypeUntil(t, s, "echo the-$((40+2))\r", `the-42`)

	t.Run("one connection", func(t *testing.T) {
		o := l.Operator(t, server)
		o.Options.MaxConnectionsPerHost = 1
		s := o.MustOpen(server.WithKey(l.Users["alice"]))
		_, err := s.Exec(
			t.Context(),
			session.ExecRequest{Command: "true", Lane: session.LaneChannel, Timeout: 5 * time.Second},
		)
		lab.WantError(t, err, term.LimitExceeded)
		lab.TypeUntil(t, s, "echo the-$((40+2))\r", `the-42`)
	})
}

func labForceCommand(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(
		t,
		lab.ServerConfig{
			Config: `ForceCommand echo "forced [$SSH_ORIGINAL_COMMAND]"; [ -n "$SSH_ORIGINAL_COMMAND" ] || read line; exit 7`,
		},
	)
	s := l.Operator(t, server).MustOpen(server.WithKey(l.Users["alice"]))
	lab.ReadUntil(t, s, 0, `forced \[\]`)
	lab.WantExec(t, s, "id -un", "forced [id -un]\n", 7)

	// OpenSSH takes no signal for a forced command, which is why the capability promises none.
	if c := s.Info().About.Capabilities.Signal; c != term.Maybe && c != term.No {
		t.Errorf("the session says %q to signals", c)
	}
	lab.WantError(t, s.Signal(t.Context(), "TERM"), term.Unsupported)

	if _, err := s.Write(t.Context(), []byte("\r"), session.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if end := lab.WantEnd(t, s); !end.Exit.Known || end.Exit.Code != 7 {
		t.Errorf("the session ended with %+v (%v); want status 7", end.Exit, end.Err)
	}
}

func labPermitTTYNo(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{Config: "PermitTTY no"})
	o := l.Operator(t, server)
	target := server.WithKey(l.Users["alice"])
	// Without a terminal the session is for commands, and says so.
	bare := o.MustOpen(target)
	if about := bare.Info().About; about.PTY || !strings.Contains(about.NoTerminal, "PermitTTY") ||
		!strings.Contains(strings.Join(about.Warnings, "\n"), "no terminal") {
		t.Errorf("the session does not say that it has no terminal: %+v", about)
	}
	lab.WantExec(t, bare, "id -un; exit 4", "alice\n", 4)
	_, err := bare.Write(t.Context(), []byte("id\r"), session.WriteOptions{})
	lab.WantError(t, err, term.Unsupported)
	target.PTY.Disabled = true
	s := o.MustOpen(target)
	lab.TypeUntil(t, s, "echo out; echo err >&2; tty\n", `out\n(?s:.*)not a tty\n`)
	lab.ReadUntil(t, s, 0, `err\n`)
	lab.WantExec(t, s, "id -un", "alice\n", 0)
	lab.WantError(t, s.Resize(t.Context(), 100, 30), term.Unsupported)
	if _, err := s.Write(t.Context(), []byte("exit 5\n"), session.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if end := lab.WantEnd(t, s); end.Exit.Code != 5 {
		t.Errorf("the session ended with %+v; want status 5", end.Exit)
	}
}

func labNoLogin(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{})
	s := l.Operator(t, server).MustOpen(server.WithKey(l.Users["nina"]))
	lab.ReadUntil(t, s, 0, `This account is currently not available`)
	// The terminal has ended, with the status of nologin(8), and commands get the same answer.
	if c := s.Read(t.Context(), session.ReadRequest{Cursor: s.End(), Timeout: 10 * time.Second}); !c.EOF {
		t.Errorf("the terminal has not ended: %+v", c)
	}
	if i := s.Info(); i.State != session.Open || !strings.Contains(i.About.NoTerminal, "status 1") {
		t.Errorf("the session is %s, without a terminal because %q; want it open, because of status 1", i.State,
			i.About.NoTerminal)
	}
	lab.WantExec(t, s, "id -un", "This account is currently not available.\n", 1)
}

func labBanner(t *testing.T, l *lab.Namespace) {
	const banner = "Grüße, \x1b[31mAuthorized users only\x1b[0m — 許可\n"
	l.WriteFile(t, "/etc/ssh/lab/banner", "644", banner)
	server := l.SSHD(t, lab.ServerConfig{Config: "Banner /etc/ssh/lab/banner"})
	s := l.Operator(t, server).MustOpen(server.WithKey(l.Users["alice"]))
	want := strings.ReplaceAll(banner, "\x1b", `\x1b`)
	if got := s.Info().About.ServerBanner; got != want {
		t.Errorf("the banner is %q; want %q", got, want)
	}
	if c := s.Read(t.Context(), session.ReadRequest{NoWait: true}); strings.Contains(string(c.Data),
		"Authorized users only") {
		t.Errorf("the banner is in the terminal's output: %q", c.Data)
	}
	lab.WantExec(t, s, "id -un", "alice\n", 0)
}

func labEnvironment(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{Config: "AcceptEnv LANG LC_*\nSetEnv SITE=lab"})
	o := l.Operator(t, server)
	o.Write("config", "SetEnv LC_LAB=configured NOT_ACCEPTED=x\n")
	s := o.MustOpen(server.WithKey(l.Users["alice"]))
	lab.TypeUntil(t, s, "echo \"[$LC_LAB][$NOT_ACCEPTED][$SITE]\"\r", `\[configured\]\[\]\[lab\]`)

	lab.WantExec(t, s, `echo "[$LC_LAB][$NOT_ACCEPTED][$SITE]"`, "[configured][][lab]\n", 0)
	r, err := s.Exec(
		t.Context(),
		session.ExecRequest{
			Command: `echo "[$LC_LAB][$SITE]"`,
			Env:     []term.EnvVar{{Name: "LC_LAB", Value: "a b"}},
			Lane:    session.LaneChannel,
		},
	)
	if err != nil {
		lab.Fatal(t, err)
	}
	if got := string(r.Stdout.Bytes()); got != "[a b][lab]\n" {
		t.Errorf("the command sees %q", got)
	}
	_, err = s.Exec(
		t.Context(),
		session.ExecRequest{
			Command: "true",
			Env:     []term.EnvVar{{Name: "NOT_ACCEPTED", Value: "x"}},
			Lane:    session.LaneChannel,
		},
	)
	if e := lab.WantError(t, err, term.Unsupported); !strings.Contains(e.Message(), "NOT_ACCEPTED") {
		t.Errorf("the message does not name the variable: %s", e.Message())
	}
}

func labSignal(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{})
	s := l.Operator(t, server).MustOpen(server.WithKey(l.Users["alice"]))
	lab.TypeUntil(t, s, "exec sleep 4321.6\r", `4321\.6`)
	l.WantRunning(t, "sleep 4321.6")
	if err := s.Signal(t.Context(), "TERM"); err != nil {
		t.Fatal(err)
	}
	if end := lab.WantEnd(t, s); end.Exit.Signal != "TERM" || end.Exit.Code != 143 {
		t.Errorf("the session ended with %+v (%v); want signal TERM, code 143", end.Exit, end.Err)
	}
}

// labWantStopped fails the test unless the command has run out of time, and all of it ends without further help. Left
// alone, its processes would go on for an hour.
func labWantStopped(t *testing.T, l *lab.Namespace, s *session.Session, r session.ExecResult, mark string) {
	t.Helper()
	if r.Done == session.DoneRunning { // the call ended before the command did
		var err error
		if r, err = s.ContinueExec(t.Context(), r.ID, session.ContinueRequest{Wait: lab.Patience}); err != nil {
			lab.Fatal(t, err)
		}
	}
	if !r.TimedOut {
		t.Errorf("the command did not run out of time: %s, %+v", r.Done, r.Exit)
	}
	l.WantGone(t, mark)
}

func labExecTimeout(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{})
	s := l.Operator(t, server).MustOpen(server.WithKey(l.Users["alice"]))
	for _, test := range []struct{ name, command, mark string }{
		{"obeys TERM", "echo begun; sleep 4321.1 & sleep 4321.1", "sleep 4321.1"},
		{"ignores TERM", "trap '' TERM; echo begun; sleep 4321.2 & sleep 4321.2; sleep 4321.2", "sleep 4321.2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			lab.InTime(t, "a command that says that it has begun", 700*time.Millisecond, func(d time.Duration) bool {
				r, err := s.Exec(
					t.Context(), session.ExecRequest{Command: test.command, Lane: session.LaneChannel, Timeout: d},
				)
				if err != nil {
					lab.Fatal(t, err)
				}
				stdout := string(r.Stdout.Bytes())
				if stdout != "begun\n" && stdout != "" {
					t.Errorf("stdout = %q, want \"begun\\n\"", stdout)
				}
				labWantStopped(t, l, s, r, test.mark)
				return stdout != ""
			})
		})
	}
	lab.WantExec(t, s, "echo still here", "still here\n", 0)
}

// The commands beside a session's terminal must end with it when it is closed without force, although closing a channel
// without a terminal ends no process.
func labCloseEndsCommands(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{})
	s := l.Operator(t, server).MustOpen(server.WithKey(l.Users["alice"]))
	r, err := s.Exec(
		t.Context(),
		session.ExecRequest{Command: "exec sleep 4321.5", Lane: session.LaneChannel, Wait: 300 * time.Millisecond},
	)
	if err != nil {
		lab.Fatal(t, err)
	}
	if r.Done != session.DoneRunning {
		t.Fatalf("the command has ended: %s, %+v", r.Done, r.Exit)
	}
	pid := l.WantRunning(t, "sleep 4321.5")
	s.Close(t.Context(), session.CloseOptions{})
	l.WantGone(t, "sleep 4321.5")
	l.Run(t, "kill "+pid+" 2>/dev/null || true") // if it has not: let the other tests go on
}

func labAgentForwarding(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{})
	alice := l.Users["alice"]
	listed := alice.Key.Fingerprint()
	const show = "ssh-add -l; echo status-$?-$SSH_AUTH_SOCK.\r"

	t.Run("allowed", func(t *testing.T) {
		o := l.Operator(t, server)
		o.Options.IdentityAgent = labAgent(t, o, alice.Key)
		o.Options.AllowAgentForwarding = true
		o.Write("config", "ForwardAgent yes\n")
		s := o.MustOpen(server.Target(alice))
		if got := lab.TypeUntil(t, s, show, `status-\d-.*\.\r`); !strings.Contains(got, listed) {
			t.Errorf("the agent does not list %s there: %q", listed, got)
		}
	})
	t.Run("of the program", func(t *testing.T) {
		o := l.Operator(t, server)
		o.Options.Agent = keyring(t, alice.Key)
		o.Options.AllowAgentForwarding = true
		o.Write("config", "ForwardAgent yes\n")
		s := o.MustOpen(server.Target(alice))
		if got := lab.TypeUntil(t, s, show, `status-\d-.*\.\r`); !strings.Contains(got, listed) {
			t.Errorf("the agent does not list %s there: %q", listed, got)
		}
	})
	t.Run("not allowed", func(t *testing.T) {
		o := l.Operator(t, server)
		o.Options.IdentityAgent = labAgent(t, o, alice.Key)
		o.Write("config", "ForwardAgent yes\n")
		s := o.MustOpen(server.Target(alice))
		lab.TypeUntil(t, s, show, `status-2-\.\r`)
		if w := s.Info().About.Warnings; !strings.Contains(strings.Join(w, "\n"), "agent") {
			t.Errorf("nothing says that the agent was not forwarded: %q", w)
		}
	})
	t.Run("asked for by the caller", func(t *testing.T) {
		o := l.Operator(t, server)
		o.Options.IdentityAgent = labAgent(t, o, alice.Key)
		target := server.Target(alice)
		target.SSH.ExtraArgs = []string{"-A"}
		o.Refused(target, term.PolicyDenied)
	})
	t.Run("allowed, but not asked for", func(t *testing.T) {
		o := l.Operator(t, server)
		o.Options.IdentityAgent = labAgent(t, o, alice.Key)
		o.Options.AllowAgentForwarding = true
		s := o.MustOpen(server.Target(alice))
		lab.TypeUntil(t, s, show, `status-2-\.\r`)
	})
}
