package lab

import (
	"strings"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/session"
	"ptyctl/term"
)

// WantWaiting fails the test unless a command waits for an answer of that kind.
func WantWaiting(t *testing.T, s *session.Session, r session.ExecResult, kind string) {
	t.Helper()
	if r.Done != session.DoneRunning || r.WaitingFor == nil || r.WaitingFor.Kind != kind {
		t.Fatalf(
			"it is %s (%+v), waiting for %+v; want it to wait for %s; the terminal shows %q",
			r.Done,
			r.Exit,
			r.WaitingFor,
			kind,
			Screenful(s),
		)
	}
}

// Reply types an answer to a command's question, and waits on.
func Reply(t *testing.T, s *session.Session, r session.ExecResult, text string) session.ExecResult {
	t.Helper()
	return answerWith(t, s, r, text, session.WriteOptions{})
}

// ReplySecret is reply with a secret.
func ReplySecret(t *testing.T, s *session.Session, r session.ExecResult, text string) session.ExecResult {
	t.Helper()
	leaktest.Typed(t, text)
	return answerWith(t, s, r, text, session.WriteOptions{Sensitive: true})
}

func answerWith(
	t *testing.T,
	s *session.Session,
	r session.ExecResult,
	text string,
	o session.WriteOptions,
) session.ExecResult {
	t.Helper()
	w, err := s.Write(t.Context(), []byte(text), o)
	if err != nil {
		t.Fatal(err)
	}
	// Wait for the echo, or for the line end that a program shows instead: until then the terminal still shows the
	// question.
	s.Read(t.Context(), session.ReadRequest{Cursor: w.Cursor, Timeout: Patience})
	r, err = s.ContinueExec(t.Context(), r.ID, session.ContinueRequest{Wait: Patience})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// WantUnseen fails the test if the terminal ever showed the secret.
func WantUnseen(t *testing.T, s *session.Session, secret string) {
	t.Helper()
	if all := s.Read(t.Context(), session.ReadRequest{Tail: true}); strings.Contains(string(all.Data), secret) {
		t.Errorf("the secret is in the output: %q", all.Data)
	}
}

// TerminalExec runs a command in the terminal.
func TerminalExec(t *testing.T, s *session.Session, command string) session.ExecResult {
	t.Helper()
	r, err := s.Exec(t.Context(), session.ExecRequest{Command: command, Lane: session.LaneTerminal, Timeout: Patience})
	if err != nil {
		t.Errorf("%.200q was not run; the terminal shows %q", command, Screenful(s))
		Fatal(t, err)
	}
	return r
}

// WantTerminalExec fails the test unless a command in the terminal prints exactly output and exits with code.
func WantTerminalExec(t *testing.T, s *session.Session, command, output string, code int) {
	t.Helper()
	r := TerminalExec(t, s, command)
	if got := string(r.Stdout.Bytes()); got != output || !r.Exit.Known || r.Exit.Code != code ||
		r.Done != session.DoneMarker {
		t.Errorf("exec of %.200q: stdout %.300q, exit %+v (%s, %s), waiting for %+v; want %.300q and code %d; the terminal shows %q",
			command, got, r.Exit, r.ExitReason, r.Done, r.WaitingFor, output, code, Screenful(s))
	}
}

// WantTerminalRefusal fails the test unless the command is refused with that kind of error before a byte is typed.
func WantTerminalRefusal(t *testing.T, s *session.Session, r session.ExecRequest, kind term.Kind) *term.Error {
	t.Helper()
	r.Lane = session.LaneTerminal
	before := s.Info()
	res, err := s.Exec(t.Context(), r)
	if err == nil {
		t.Fatalf(
			"%.200q was run: %s, %q; want %s; the terminal shows %q",
			r.Command,
			res.Done,
			res.Stdout.Bytes(),
			kind,
			Screenful(s),
		)
	}
	e := WantError(t, err, kind)
	// BytesOut alone may grow: the session answers the terminal queries of a program that starts.
	if after := s.Info(); !after.LastOut.Equal(before.LastOut) {
		t.Errorf("%.200q: refused, and some of %d bytes were typed all the same", r.Command, after.BytesOut-before.BytesOut)
	}
	return e
}
