package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"ptyctl/fsx"
	"ptyctl/internal/leaktest"
	"ptyctl/session"
	"ptyctl/sshx"
	"ptyctl/term"
)

// An Operator is a ptyctl with a home of its own: it knows no host, has no key and no agent until it is given them.
// The options may be changed until it first opens a session.
type Operator struct {
	TB      *testing.T
	Home    string
	Options sshx.Options
	Secrets term.Secrets     // nil: no secrets
	Manager *session.Manager // nil until the first session
}

// Operator makes one that knows the servers.
func (l *Namespace) Operator(t *testing.T, servers ...*Server) *Operator {
	t.Helper()
	o := &Operator{TB: t, Home: t.TempDir()}
	o.Options = sshx.Options{HomeDir: o.Home, KnownHostsPath: filepath.Join(o.Home, "known_hosts"), IdentityAgent: "none"}
	o.Options.ConfigPath = o.Write("config", "")
	o.Write("known_hosts", "")
	for _, s := range servers {
		o.Knows(s.Known())
	}
	return o
}

// OperatorLike makes one with another's home and options, but without its connections.
func (l *Namespace) OperatorLike(t *testing.T, o *Operator) *Operator {
	return &Operator{TB: t, Home: o.Home, Options: o.Options, Secrets: o.Secrets}
}

// Write writes a file in the operator's home and returns its path.
func (o *Operator) Write(name, content string) string {
	o.TB.Helper()
	path := filepath.Join(o.Home, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		o.TB.Fatal(err)
	}
	return path
}

// Knows adds lines to known_hosts.
func (o *Operator) Knows(lines string) {
	o.TB.Helper()
	before, err := os.ReadFile(o.Options.KnownHostsPath)
	if err != nil {
		o.TB.Fatal(err)
	}
	o.Write("known_hosts", string(before)+lines)
}

// Open opens a session. The context ends with the test, or when the lab's patience does.
func (o *Operator) Open(target term.Target) (session.OpenResult, error) {
	o.TB.Helper()
	if o.Manager == nil {
		o.Options.Logger = leaktest.Log(o.TB)
		o.Manager = session.NewManager(
			session.Config{
				Dialers:  map[string]term.Dialer{"ssh": sshx.Dialer(o.Options)},
				FarFiles: farFiles,
				Input:    session.InputOptions{Secrets: o.Secrets},
				Logger:   o.Options.Logger,
			},
		)
		o.TB.Cleanup(func() { o.Manager.Close(context.Background()) })
		leaktest.File(o.TB, o.Options.KnownHostsPath)
	}
	ctx, cancel := context.WithTimeout(o.TB.Context(), Patience)
	defer cancel()
	leaktest.Auth(o.TB, target.Auth.Password.Reveal(), target.Auth.PrivateKeyPEM.Reveal(), target.Auth.Passphrase.Reveal())
	r, err := o.Manager.Open(ctx, session.OpenRequest{Target: target})
	if err != nil {
		leaktest.Output(o.TB, "error", errorText(err))
	} else {
		o.TB.Cleanup(
			func() { leaktest.Output(o.TB, "state", fmt.Sprintf("%+v\n%s", r.Session.Info(), Screenful(r.Session))) },
		)
	}
	return r, err
}

// MustOpen opens a session that asks nothing.
func (o *Operator) MustOpen(target term.Target) *session.Session {
	o.TB.Helper()
	r, err := o.Open(target)
	if err != nil {
		Fatal(o.TB, err)
	}
	if r.State != session.Open && r.State != session.Closed {
		o.TB.Fatalf("the session is %s, with the question %+v; want it to be open", r.State, r.Prompt)
	}
	return r.Session
}

// MustAsk opens a session with a login that asks a question.
func (o *Operator) MustAsk(target term.Target, pattern string) *session.Session {
	o.TB.Helper()
	r, err := o.Open(target)
	if err != nil {
		Fatal(o.TB, err)
	}
	WantQuestion(o.TB, r.Session, pattern)
	return r.Session
}

// Refused opens a session that must fail with kind.
func (o *Operator) Refused(target term.Target, kind term.Kind) *term.Error {
	o.TB.Helper()
	r, err := o.Open(target)
	if err == nil {
		o.TB.Fatalf("the session is %s; want the error %s", r.State, kind)
	}
	return WantError(o.TB, err, kind)
}

// WantQuestion fails the test unless a question that matches is waiting.
func WantQuestion(t *testing.T, s *session.Session, pattern string) *term.Prompt {
	t.Helper()
	var asked term.Prompt
	q := s.Question()
	if q != nil {
		asked = q.Prompt()
	}
	if q == nil || !regexp.MustCompile(pattern).MatchString(asked.Text) {
		t.Fatalf("%s session with the question %+v; want one that matches %q (%v)", s.State(), asked, pattern,
			s.Info().End.Err)
	}
	return &asked
}

// AnswerLogin answers the login's question and waits for its next step.
func AnswerLogin(t *testing.T, s *session.Session, text string) {
	t.Helper()
	leaktest.Typed(t, text)
	w, err := s.Write(t.Context(), []byte(text+"\r"), session.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !w.Answered {
		t.Fatal("the answer was typed into the terminal, want it sent to the login")
	}
	s.Settle(t.Context(), Patience)
}

// WantOpen fails the test unless the session is open.
func WantOpen(t *testing.T, s *session.Session) {
	t.Helper()
	if s.State() != session.Open {
		t.Fatalf("the session is %s, not open: %v", s.State(), s.Info().End.Err)
	}
}

// TypeUntil types into the terminal and waits until the output after it matches.
func TypeUntil(t *testing.T, s *session.Session, text, until string) string {
	t.Helper()
	w, err := s.Write(t.Context(), []byte(text), session.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ReadUntil(t, s, w.Cursor, until)
}

// ReadUntil reads the terminal from cursor on until the text matches.
func ReadUntil(t *testing.T, s *session.Session, cursor int64, until string) string {
	t.Helper()
	c := s.Read(
		t.Context(),
		session.ReadRequest{Cursor: cursor, Until: regexp.MustCompile(until), Timeout: Patience},
	)
	if c.Reason != session.ReasonMatched {
		t.Fatalf("%q was not seen (%s); the terminal shows %q", until, c.Reason, c.Data)
	}
	return string(c.Data)
}

// ChannelExec runs a command beside the terminal.
func ChannelExec(t *testing.T, s *session.Session, command string) session.ExecResult {
	t.Helper()
	r, err := s.Exec(
		t.Context(),
		session.ExecRequest{Command: command, Lane: session.LaneChannel, Timeout: Patience},
	)
	if err != nil {
		Fatal(t, err)
	}
	return r
}

// WantExec fails the test unless the command prints exactly stdout and exits with code.
func WantExec(t *testing.T, s *session.Session, command, stdout string, code int) {
	t.Helper()
	r := ChannelExec(t, s, command)
	if got := string(r.Stdout.Bytes()); got != stdout || !r.Exit.Known || r.Exit.Code != code {
		t.Errorf(
			"%s: stdout %q, stderr %q, exit %+v (%s); want %q and status %d",
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

// WantEnd waits until the session has ended.
func WantEnd(t *testing.T, s *session.Session) session.End {
	t.Helper()
	select {
	case <-s.Ended():
	case <-time.After(Patience):
		t.Fatalf("the session was still %s after %s", s.State(), Patience)
	}
	return s.Info().End
}

// WantError fails the test unless err is a *term.Error of that kind that says something.
func WantError(t *testing.T, err error, kind term.Kind) *term.Error {
	t.Helper()
	var e *term.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Fatalf("%s: %v; want %s", term.KindOf(err), err, kind)
	}
	if e.Message() == "" {
		t.Errorf("the message of %s lacks advice", kind)
	}
	return e
}

// Fatal ends the test with all that an error says.
func Fatal(t *testing.T, err error) {
	t.Helper()
	t.Fatal(errorText(err))
}

// errorText is all that an error says.
func errorText(err error) string {
	var e *term.Error
	if errors.As(err, &e) && e.Facts != nil {
		return fmt.Sprintf("%s: %v\n%+v", e.Kind, err, e.Facts)
	}
	return err.Error()
}

// farFiles offers the files of far sides, in calls that are larger than any that a tool makes.
func farFiles(ctx context.Context, channel io.ReadWriteCloser) (term.Files, error) {
	files, err := fsx.NewSFTP(ctx, channel, fsx.Limits{Read: 1 << 30, Write: 1 << 30})
	if err != nil {
		return nil, err
	}
	return files, nil
}

// Screenful returns the last screen of the terminal.
func Screenful(s *session.Session) []byte {
	return s.Read(context.Background(), session.ReadRequest{Tail: true, MaxBytes: 1500}).Data
}
