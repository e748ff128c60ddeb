package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// dropbear starts the other SSH server that is widely deployed, with a host key of each of its types: with ed25519
// alone, version 2022.83 fails an assertion during the key exchange. It returns the lines of known_hosts.
func (l *lab) dropbear(t *testing.T) (s *labServer, known string) {
	t.Helper()
	s = &labServer{port: labFreePort(t)}
	dir := fmt.Sprintf("/etc/ssh/lab/%d", s.port)
	command := fmt.Sprintf("/usr/sbin/dropbear -F -E -p 127.0.0.1:%d -P %s/pid", s.port, dir)
	var make strings.Builder
	fmt.Fprintf(&make, "mkdir -p %s\n", dir)
	for _, kind := range []string{"rsa", "ecdsa", "ed25519"} {
		fmt.Fprintf(&make, "dropbearkey -t %s -f %s/%s 2>/dev/null | grep -E '^(ssh|ecdsa)-'\n", kind, dir, kind)
		command += fmt.Sprintf(" -r %s/%s", dir, kind)
	}
	for line := range strings.Lines(l.run(t, make.String())) {
		known += fmt.Sprintf("[127.0.0.1]:%d %s", s.port, strings.TrimSuffix(line, "\n")+"\n")
	}
	l.run(t, `umask 077
mkdir -p ~alice/.ssh
cp /etc/ssh/lab/authorized/alice ~alice/.ssh/authorized_keys
chown -R alice:alice ~alice/.ssh`)
	l.start(t, s, command, `Not backgrounding`)
	return s, known
}

func labDropbear(t *testing.T, l *lab) {
	server, known := l.dropbear(t)
	alice, bob := l.users["alice"], l.users["bob"]
	operator := func(t *testing.T) *labOperator {
		o := l.operator(t)
		o.knows(known)
		return o
	}
	t.Run("key", func(t *testing.T) {
		s := operator(t).mustOpen(server.withKey(alice))
		labWantExec(t, s, "id -un; exit 3", "alice\n", 3)
		r := labExec(t, s, "echo out; echo err >&2")
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
		s := operator(t).mustOpen(server.withKey(alice))
		for i := range 60 {
			labWantExec(t, s, fmt.Sprintf("echo %d", i), fmt.Sprintf("%d\n", i), 0)
		}
	})
	t.Run("each known key", func(t *testing.T) {
		for line := range strings.Lines(known) {
			o := l.operator(t)
			o.knows(line)
			labWantExec(t, o.mustOpen(server.withKey(alice)), "id -un", "alice\n", 0)
		}
	})
	t.Run("password", func(t *testing.T) {
		o := operator(t)
		labWantExec(t, o.mustOpen(server.withPassword(bob)), "id -un", "bob\n", 0)
		target := server.withPassword(bob)
		target.Auth.Password, target.Auth.NoInteractive = "a wrong one-1138", true
		o.refused(target, term.AuthFailed)
	})
	t.Run("terminal", func(t *testing.T) {
		s := operator(t).mustOpen(server.withKey(alice))
		labType(t, s, "stty size\r", `40 120\r`)
		if err := s.Resize(t.Context(), 91, 33); err != nil {
			t.Fatal(err)
		}
		labType(t, s, "stty size\r", `33 91\r`)
		labType(t, s, "sleep 4321.8\r", `4321\.8`)
		l.wantRunning(t, "sleep 4321.8")
		labType(t, s, "\x03", `\^C`)
		l.wantGone(t, "sleep 4321.8", 5*time.Second)
		labType(t, s, "exit 6\r", `exit 6`)
		if end := labWantEnd(t, s, 10*time.Second); end.Exit.Code != 6 {
			t.Errorf("the session ended with %+v (%v)", end.Exit, end.Err)
		}
	})
	t.Run("signal", func(t *testing.T) {
		s := operator(t).mustOpen(server.withKey(alice))
		labType(t, s, "exec sleep 4321.7\r", `4321\.7`)
		l.wantRunning(t, "sleep 4321.7")
		if err := s.Signal(t.Context(), "TERM"); err != nil {
			t.Fatal(err)
		}
		if end := labWantEnd(t, s, 5*time.Second); end.Exit.Signal != "TERM" {
			t.Errorf("the session ended with %+v (%v); want signal TERM", end.Exit, end.Err)
		}
	})
	t.Run("exec timeout", func(t *testing.T) {
		s := operator(t).mustOpen(server.withKey(alice))
		r, err := s.Exec(
			t.Context(),
			session.ExecRequest{Command: "exec sleep 4321.3", Lane: session.LaneChannel, Timeout: 500 * time.Millisecond},
		)
		if err != nil {
			labFatal(t, err)
		}
		labWantStopped(t, l, r, "sleep 4321.3")
		labWantExec(t, s, "echo still here", "still here\n", 0)
	})
	t.Run("keepalive", func(t *testing.T) {
		o := operator(t)
		o.options.KeepaliveInterval, o.options.KeepaliveCountMax = 200*time.Millisecond, 2
		s := o.mustOpen(server.withKey(alice))
		select {
		case <-s.Ended():
			t.Fatalf("the idle session has ended: %+v", s.Info().End)
		case <-time.After(1500 * time.Millisecond):
		}
		pid := labDropbearProcess(t, l, s)
		l.run(t, "kill -STOP "+pid)
		t.Cleanup(func() { l.run(t, "kill -KILL "+pid+" || true") })
		labWantError(t, labWantEnd(t, s, 5*time.Second).Err, term.RemoteClosed)
	})
}

// labDropbearProcess returns the pid of the process that serves the terminal's connection.
func labDropbearProcess(t *testing.T, l *lab, s *session.Session) string {
	t.Helper()
	pid, _, _ := strings.Cut(labSessionProcesses(t, l, s), " ")
	return pid
}
