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

func labDropbear(t *testing.T, l *lab.Namespace) {
	server, known := l.Dropbear(t)
	alice, bob := l.Users["alice"], l.Users["bob"]
	operator := func(t *testing.T) *lab.Operator {
		o := l.Operator(t)
		o.Knows(known)
		return o
	}
	t.Run("key", func(t *testing.T) {
		s := operator(t).MustOpen(server.WithKey(alice))
		lab.WantExec(t, s, "id -un; exit 3", "alice\n", 3)
		r := lab.ChannelExec(t, s, "echo out; echo err >&2")
		if string(r.Stdout.Bytes()) != "out\n" || string(r.Stderr.Bytes()) != "err\n" {
			t.Errorf("the streams are %q and %q", r.Stdout.Bytes(), r.Stderr.Bytes())
		}
		if v := s.Info().About.ServerVersion; !strings.Contains(v, "dropbear") {
			t.Errorf("the server is %s", v)
		}
	})
	// Version 2022.83 closes a channel on which nothing runs yet when a command on another one ends, and fails an
	// assertion if it is then asked to run something there.
	t.Run("commands in a row", func(t *testing.T) {
		s := operator(t).MustOpen(server.WithKey(alice))
		for i := range 60 {
			lab.WantExec(t, s, fmt.Sprintf("echo %d", i), fmt.Sprintf("%d\n", i), 0)
		}
	})
	t.Run("each known key", func(t *testing.T) {
		for line := range strings.Lines(known) {
			o := l.Operator(t)
			o.Knows(line)
			lab.WantExec(t, o.MustOpen(server.WithKey(alice)), "id -un", "alice\n", 0)
		}
	})
	t.Run("password", func(t *testing.T) {
		o := operator(t)
		lab.WantExec(t, o.MustOpen(server.WithPassword(bob)), "id -un", "bob\n", 0)
		target := server.WithPassword(bob)
		target.Auth.Password, target.Auth.NoInteractive = "a wrong one-1138", true
		o.Refused(target, term.AuthFailed)
	})
	t.Run("terminal", func(t *testing.T) {
		s := operator(t).MustOpen(server.WithKey(alice))
		lab.TypeUntil(t, s, "stty size\r", `40 120\r`)
		if err := s.Resize(t.Context(), 91, 33); err != nil {
			t.Fatal(err)
		}
		lab.TypeUntil(t, s, "stty size\r", `33 91\r`)
		lab.TypeUntil(t, s, "sleep 4321.8\r", `4321\.8`)
		l.WantRunning(t, "sleep 4321.8")
		lab.TypeUntil(t, s, "\x03", `\^C`)
		l.WantGone(t, "sleep 4321.8")
		lab.TypeUntil(t, s, "exit 6\r", `exit 6`)
		if end := lab.WantEnd(t, s); end.Exit.Code != 6 {
			t.Errorf("the session ended with %+v (%v)", end.Exit, end.Err)
		}
	})
	t.Run("signal", func(t *testing.T) {
		s := operator(t).MustOpen(server.WithKey(alice))
		lab.TypeUntil(t, s, "exec sleep 4321.7\r", `4321\.7`)
		l.WantRunning(t, "sleep 4321.7")
		if err := s.Signal(t.Context(), "TERM"); err != nil {
			t.Fatal(err)
		}
		if end := lab.WantEnd(t, s); end.Exit.Signal != "TERM" {
			t.Errorf("the session ended with %+v (%v); want signal TERM", end.Exit, end.Err)
		}
	})
	t.Run("exec timeout", func(t *testing.T) {
		s := operator(t).MustOpen(server.WithKey(alice))
		r, err := s.Exec(
			t.Context(),
			session.ExecRequest{Command: "exec sleep 4321.3", Lane: session.LaneChannel, Timeout: 500 * time.Millisecond},
		)
		if err != nil {
			lab.Fatal(t, err)
		}
		labWantStopped(t, l, s, r, "sleep 4321.3")
		lab.WantExec(t, s, "echo still here", "still here\n", 0)
	})
	t.Run("keepalive", func(t *testing.T) {
		lab.InTime(t, "an idle session that goes on", 200*time.Millisecond, func(d time.Duration) bool {
			o := operator(t)
			o.Options.KeepaliveInterval, o.Options.KeepaliveCountMax = d, 2
			s := labOpens(t, o, server.WithKey(alice))
			shown := labShows(s, askParent, shownParent)
			if shown == "" || ended(s, 7*d) {
				t.Logf("keepalives every %v: the idle session has ended", d)
				return false
			}
			pid, _, _ := strings.Cut(labParents(t, l, shown), " ") // of the process that serves the connection
			l.Run(t, "kill -STOP "+pid)
			t.Cleanup(func() { l.Run(t, "kill -KILL "+pid+" || true") })
			lab.WantError(t, lab.WantEnd(t, s).Err, term.RemoteClosed)
			return true
		})
	})
}
