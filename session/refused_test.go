package session_test

import (
	"os"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
	"ptyctl/session"
	"ptyctl/sshx"
	"ptyctl/term"
)

// A server that has no channel for a command, and that a person had to log in to, runs it in the terminal if the
// caller left the lane open, and not if the caller asked for a channel.
func TestExecWithoutChannel(t *testing.T) {
	srv, err := sshserver.Listen(sshserver.Config{
		MaxSessions: 1, Shell: "/bin/sh",
		KeyboardInteractive: func(_ string, ask ssh.KeyboardInteractiveChallenge) error {
			_, err := ask("", "", []string{"Code: "}, []bool{false})
			return err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	home := t.TempDir()
	known := home + "/known_hosts"
	if err := os.WriteFile(known, []byte(srv.KnownHostsLine()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := session.NewManager(
		session.Config{
			Dialers: map[string]term.Dialer{
				"ssh": sshx.Dialer(sshx.Options{HomeDir: home, KnownHostsPath: known, NoConfig: true, IdentityAgent: "none"}),
			},
		},
	)
	t.Cleanup(func() { m.Close(t.Context()) })
	r, err := m.Open(
		t.Context(),
		session.OpenRequest{Target: term.Target{Protocol: "ssh", Host: "127.0.0.1", Port: srv.Port(), User: "u"}},
	)
	if err != nil || r.Prompt == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	s := r.Session
	if _, err := s.Write(t.Context(), []byte("123\r"), session.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Settle(t.Context(), 10*time.Second)
	_, err = s.Exec(t.Context(), session.ExecRequest{Command: "echo here; (exit 6)", Lane: session.LaneChannel})
	wantKind(t, err, term.LimitExceeded)
	got, err := s.Exec(t.Context(), session.ExecRequest{Command: "echo here; (exit 6)", Class: session.ClassPosix})
	if err != nil || got.Lane != session.LaneTerminal || got.Exit.Code != 6 || string(got.Stdout.Bytes()) != "here\n" {
		t.Errorf("%+v, %v", got, err)
	}
}
