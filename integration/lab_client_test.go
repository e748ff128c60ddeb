package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/session"
	"ptyctl/sshx"
	"ptyctl/term"
)

// A labOperator is a ptyctl with a home of its own: it knows no host, has no key and no agent until it is given them.
// The options may be changed until it first opens a session.
type labOperator struct {
	t       *testing.T
	home    string
	options sshx.Options
	m       *session.Manager // nil until the first session
}

// operator makes one that knows the servers.
func (l *lab) operator(t *testing.T, servers ...*labServer) *labOperator {
	t.Helper()
	o := &labOperator{t: t, home: t.TempDir()}
	o.options = sshx.Options{HomeDir: o.home, KnownHostsPath: filepath.Join(o.home, "known_hosts"), IdentityAgent: "none"}
	o.options.ConfigPath = o.write("config", "")
	o.write("known_hosts", "")
	for _, s := range servers {
		o.knows(s.known())
	}
	return o
}

// operatorLike makes one with another's home and options, but without its connections.
func (l *lab) operatorLike(t *testing.T, o *labOperator) *labOperator {
	return &labOperator{t: t, home: o.home, options: o.options}
}

// write writes a file in the operator's home and returns its path.
func (o *labOperator) write(name, content string) string {
	o.t.Helper()
	path := filepath.Join(o.home, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		o.t.Fatal(err)
	}
	return path
}

// knows adds lines to known_hosts.
func (o *labOperator) knows(lines string) {
	o.t.Helper()
	before, err := os.ReadFile(o.options.KnownHostsPath)
	if err != nil {
		o.t.Fatal(err)
	}
	o.write("known_hosts", string(before)+lines)
}

// open opens a session. The context ends with the test, or after half a minute.
func (o *labOperator) open(target term.Target) (session.OpenResult, error) {
	o.t.Helper()
	if o.m == nil {
		o.options.Logger = leaktest.Log(o.t)
		o.m = session.NewManager(
			session.Config{
				Dialers:  map[string]term.Dialer{"ssh": sshx.Dialer(o.options)},
				FarFiles: labFarFiles,
				Logger:   o.options.Logger,
			},
		)
		o.t.Cleanup(func() { o.m.Close(context.Background()) })
		leaktest.File(o.t, o.options.KnownHostsPath)
	}
	ctx, cancel := context.WithTimeout(o.t.Context(), 30*time.Second)
	defer cancel()
	leaktest.Auth(o.t, target.Auth.Password.Reveal(), target.Auth.PrivateKeyPEM.Reveal(), target.Auth.Passphrase.Reveal())
	r, err := o.m.Open(ctx, session.OpenRequest{Target: target})
	if err != nil {
		leaktest.Output(o.t, "error", labWords(err))
	} else {
		o.t.Cleanup(func() { leaktest.Output(o.t, "state", fmt.Sprintf("%+v\n%s", r.Session.Info(), screenful(r.Session))) })
	}
	return r, err
}

// mustOpen opens a session that asks nothing.
func (o *labOperator) mustOpen(target term.Target) *session.Session {
	o.t.Helper()
	r, err := o.open(target)
	if err != nil {
		labFatal(o.t, err)
	}
	if r.State != session.Open && r.State != session.Closed {
		o.t.Fatalf("the session is %s, with the question %+v; want it to be open", r.State, r.Prompt)
	}
	return r.Session
}

// mustAsk opens a session whose login asks a question.
func (o *labOperator) mustAsk(target term.Target, pattern string) *session.Session {
	o.t.Helper()
	r, err := o.open(target)
	if err != nil {
		labFatal(o.t, err)
	}
	labWantPrompt(o.t, r.Session, pattern)
	return r.Session
}

// refused opens a session that must fail with kind.
func (o *labOperator) refused(target term.Target, kind term.Kind) *term.Error {
	o.t.Helper()
	r, err := o.open(target)
	if err == nil {
		o.t.Fatalf("the session is %s; want the error %s", r.State, kind)
	}
	return labWantError(o.t, err, kind)
}

// labWantPrompt fails the test unless a question that matches is waiting.
func labWantPrompt(t *testing.T, s *session.Session, pattern string) *term.Prompt {
	t.Helper()
	q := s.Pending()
	if q == nil || !regexp.MustCompile(pattern).MatchString(q.Text) {
		t.Fatalf("%s session with the question %+v; want one that matches %q (%v)", s.State(), q, pattern, s.Info().End.Err)
	}
	return q
}

// labAnswer answers the login's question and waits for its next step.
func labAnswer(t *testing.T, s *session.Session, text string) {
	t.Helper()
	leaktest.Typed(t, text)
	w, err := s.Write(t.Context(), []byte(text+"\r"), session.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !w.Answered {
		t.Fatal("what was meant as an answer was typed into the terminal")
	}
	s.Settle(t.Context(), 20*time.Second)
}

// labWantOpen fails the test unless the session is open.
func labWantOpen(t *testing.T, s *session.Session) {
	t.Helper()
	if s.State() != session.Open {
		t.Fatalf("the session is %s, not open: %v", s.State(), s.Info().End.Err)
	}
}

// labType types into the terminal and waits until what follows matches.
func labType(t *testing.T, s *session.Session, text, until string) string {
	t.Helper()
	w, err := s.Write(t.Context(), []byte(text), session.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return labRead(t, s, w.Cursor, until)
}

// labRead waits until what the terminal shows from cursor on matches.
func labRead(t *testing.T, s *session.Session, cursor int64, until string) string {
	t.Helper()
	c := s.Read(
		t.Context(),
		session.ReadRequest{Cursor: cursor, Until: regexp.MustCompile(until), Timeout: 10 * time.Second},
	)
	if c.Reason != session.ReasonMatched {
		t.Fatalf("%q was not seen (%s); the terminal shows %q", until, c.Reason, c.Data)
	}
	return string(c.Data)
}

// labExec runs a command beside the terminal.
func labExec(t *testing.T, s *session.Session, command string) session.ExecResult {
	t.Helper()
	r, err := s.Exec(
		t.Context(),
		session.ExecRequest{Command: command, Lane: session.LaneChannel, Timeout: 20 * time.Second},
	)
	if err != nil {
		labFatal(t, err)
	}
	return r
}

// labWantExec fails the test unless the command puts out exactly stdout and ends with code.
func labWantExec(t *testing.T, s *session.Session, command, stdout string, code int) {
	t.Helper()
	r := labExec(t, s, command)
	if got := string(r.Stdout.Bytes()); got != stdout || !r.Exit.Known || r.Exit.Code != code {
		t.Errorf(
			"%s: put out %q and %q, and ended with %+v (%s); want %q and status %d",
			command,
			got,
			r.Stderr.Bytes(),
			r.Exit,
			r.Done,
			stdout,
			code,
		)
	}
}

// labWantEnd waits until the session has ended.
func labWantEnd(t *testing.T, s *session.Session, within time.Duration) session.End {
	t.Helper()
	select {
	case <-s.Ended():
	case <-time.After(within):
		t.Fatalf("the session was still %s after %s", s.State(), within)
	}
	return s.Info().End
}

// labWantError fails the test unless err is a *term.Error of that kind that says something.
func labWantError(t *testing.T, err error, kind term.Kind) *term.Error {
	t.Helper()
	var e *term.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Fatalf("%s: %v; want %s", term.KindOf(err), err, kind)
	}
	if e.Message() == "" {
		t.Errorf("%s without a word of what to do", kind)
	}
	return e
}

// labFatal ends the test with all that an error says.
func labFatal(t *testing.T, err error) {
	t.Helper()
	t.Fatal(labWords(err))
}

// labWords is all that an error says.
func labWords(err error) string {
	var e *term.Error
	if errors.As(err, &e) && e.Details != nil {
		return fmt.Sprintf("%s: %v\n%+v", e.Kind, err, *e.Details)
	}
	return err.Error()
}
