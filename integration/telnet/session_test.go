package telnet

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
	"ptyctl/session"
	"ptyctl/session/prompt"
	"ptyctl/telnet"
	"ptyctl/term"
)

// telnetSession opens a session and logs in as a caller does, by the server's output and questions. The manager closes
// with the test.
func telnetSession(t *testing.T, s *lab.TelnetServer, target term.Target) *session.Session {
	t.Helper()
	leaktest.Typed(t, s.Password)
	m := session.NewManager(
		session.Config{Dialers: map[string]term.Dialer{"telnet": telnet.Dialer{}.Open}, Logger: leaktest.Log(t)},
	)
	t.Cleanup(func() { m.Close(context.Background()) })
	r, err := m.Open(t.Context(), session.OpenRequest{Target: target})
	if err != nil {
		lab.Fatal(t, err)
	}
	if r.State != session.Open {
		t.Fatalf("the session is %s, with the question %+v", r.State, r.Prompt)
	}
	cursor := int64(0)
	for _, answer := range []struct{ asked, text string }{{s.Login, s.User}, {`Password: $`, s.Password}} {
		if answer.text != "" {
			lab.ReadUntil(t, r.Session, cursor, answer.asked)
			w, err := r.Session.Write(
				t.Context(),
				[]byte(answer.text+"\r"),
				session.WriteOptions{Sensitive: answer.text == s.Password},
			)
			if err != nil {
				t.Fatal(err)
			}
			cursor = w.Cursor
		}
	}
	lab.ReadUntil(t, r.Session, cursor, s.Prompt)
	return r.Session
}

// telnetExec runs a command in the session's terminal.
func telnetExec(t *testing.T, s *session.Session, r session.ExecRequest) session.ExecResult {
	t.Helper()
	if r.Timeout == 0 {
		r.Timeout = lab.Patience
	}
	result, err := s.Exec(t.Context(), r)
	if err != nil {
		lab.Fatal(t, err)
	}
	if result.Lane != session.LaneTerminal {
		t.Errorf("%s: ran in lane %s", r.Command, result.Lane)
	}
	return result
}

// telnetShellSession runs commands in a shell behind telnetd. The caller says whether it is a shell; the result has an
// exit code only if the shell has printed it.
func telnetShellSession(t *testing.T) {
	for _, start := range []func(testing.TB) *lab.TelnetServer{lab.StartInetutils, lab.StartBusybox} {
		server := start(t)
		s := telnetSession(t, server, server.Target())
		// The terminal began with the login's question: which line is a prompt is for the caller to say.
		if err := s.SetExpect(t.Context(), session.Expect{Prompt: regexp.MustCompile(server.Prompt)}); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			command, output string
			code            int
		}{
			{"echo hello", "hello\n", 0},
			{"printf 'a\\nb\\n'; sh -c 'exit 37'", "a\nb\n", 37},
			{"false", "", 1},
			{"echo 'héllo, 日本'", "héllo, 日本\n", 0},
			{"cd /; pwd", "/\n", 0},
		} {
			r := telnetExec(t, s, session.ExecRequest{Command: test.command, Class: session.ClassPosix})
			if got := string(r.Stdout.Bytes()); got != test.output || r.Done != session.DoneMarker || !r.Exit.Known ||
				r.Exit.Code != test.code {
				t.Errorf(
					"%s: %s: put out %q and is %s with %+v (%s); want %q and %d",
					server.Name,
					test.command,
					got,
					r.Done,
					r.Exit,
					r.ExitReason,
					test.output,
					test.code,
				)
			}
		}
		r := telnetExec(
			t,
			s,
			session.ExecRequest{Command: "sleep 1000", Class: session.ClassPosix, Timeout: 300 * time.Millisecond},
		)
		if !r.TimedOut || r.Exit.Known || r.ExitReason != "timeout" {
			t.Errorf("%s: a command that takes too long: %+v", server.Name, r)
		}
		// In turn, because the interrupted command may still be ending.
		r = telnetExec(t, s, session.ExecRequest{Command: "pwd", Class: session.ClassPosix, Queue: true})
		if got := string(r.Stdout.Bytes()); got != "/\n" {
			t.Errorf("%s: the terminal has lost its state: %q", server.Name, got)
		}

		w, err := s.Write(t.Context(), []byte("echo o''ne; sleep 0.2; echo t''wo\r"), session.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c := s.Read(t.Context(), session.ReadRequest{Cursor: w.Cursor, Idle: 3 * time.Second, Timeout: lab.Patience})
		if text := string(c.Data); c.Reason != session.ReasonIdle || !strings.HasSuffix(text, "one\r\ntwo\r\ndemo$ ") {
			t.Errorf("%s: until it is quiet (%s): %q", server.Name, c.Reason, text)
		}
		if c := s.Read(
			t.Context(), session.ReadRequest{Cursor: c.Next, Timeout: 100 * time.Millisecond},
		); c.Reason != session.ReasonTimeout {
			t.Errorf("%s: nothing to read: %s", server.Name, c.Reason)
		}
		lab.WantUnseen(t, s, server.Password)
		if _, err := s.Write(t.Context(), []byte("exit\r"), session.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if end := lab.WantEnd(t, s); end.Err != nil {
			t.Errorf("%s: the end after exit: %+v", server.Name, end)
		}
	}
}

// telnetRouterSession configures a router: ptyctl must recognize its questions and its pager, must end each command at
// the prompt, even if the prompt changes, and must not claim an exit code.
func telnetRouterSession(t *testing.T) {
	server := lab.StartRouter(t)
	target := server.Target()
	target.PTY.Rows = 20
	s := telnetSession(t, server, target)
	run := func(command, output string) {
		t.Helper()
		r := telnetExec(t, s, session.ExecRequest{Command: command})
		if got := string(r.Stdout.Bytes()); !strings.Contains(got, output) || r.Exit.Known ||
			r.ExitReason != "no_status" ||
			r.Done != session.DonePrompt {
			t.Errorf(
				"%s: put out %q and is %s with %+v (%s, waiting for %+v)",
				command,
				got,
				r.Done,
				r.Exit,
				r.ExitReason,
				r.WaitingFor,
			)
		}
	}
	run("show version", "FRRouting")
	r := telnetExec(t, s, session.ExecRequest{Command: "enable"})
	lab.WantWaiting(t, s, r, prompt.Password)
	if r = lab.ReplySecret(t, s, r, server.Enable+"\r"); r.Done != session.DonePrompt {
		t.Errorf("enable: is %s (%s)", r.Done, r.ExitReason)
	}
	run("configure terminal", "")
	run("router bgp 65001", "")
	run(" neighbor 192.0.2.1 remote-as 65002", "")
	run(" neighbor nonsense", "% ")
	run("exit", "")
	r = telnetExec(t, s, session.ExecRequest{Command: "hostname edge"}) // its prompt is not the one that was learned
	if got := string(r.Stdout.Bytes()); r.Exit.Known || r.Done != session.DonePrompt && r.Done != session.DoneIdle {
		t.Errorf("exec of hostname: stdout %q, %s, exit %+v", got, r.Done, r.Exit)
	}
	run("end", "")
	r = telnetExec(t, s, session.ExecRequest{Command: "list"})
	lab.WantWaiting(t, s, r, prompt.Pager)
	r = lab.Reply(t, s, r, " ")
	lab.WantWaiting(t, s, r, prompt.Pager)
	if r = lab.Reply(t, s, r, "q"); r.Done != session.DonePrompt {
		t.Errorf("list, after q: is %s (%s)", r.Done, r.ExitReason)
	}
	run("terminal length 0", "")
	run("show running-config", "hostname edge\n")
	run("write memory", "Configuration saved to")
}

// telnetServerDies ends the server's process under an open session.
func telnetServerDies(t *testing.T) {
	server := lab.StartBusybox(t)
	s := telnetSession(t, server, server.Target())
	server.Process.Stop(t)
	if end := lab.WantEnd(t, s); s.State() != session.Closed && s.State() != session.Failed {
		t.Errorf("the session is %s: %+v", s.State(), end)
	}
	if _, err := s.Write(t.Context(), []byte("x"), session.WriteOptions{}); err == nil {
		t.Error("a write to an ended session succeeds, want an error")
	}
}
