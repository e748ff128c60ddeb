package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/internal/leaktest"
	"ptyctl/session"
	"ptyctl/term"
)

// A Plain is a terminal in memory without optional interfaces.
type Plain struct {
	io.ReadWriteCloser
	Resized func(cols, rows int) error
}

// Resize calls Resized, if set.
func (p *Plain) Resize(cols, rows int) error {
	if p.Resized == nil {
		return nil
	}
	return p.Resized(cols, rows)
}

// A Shell is a terminal that also knows how its program ended, runs commands and delivers signals.
type Shell struct {
	Plain
	Exit     term.Exit
	Lost     error
	OnExec   func(ctx context.Context, r term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error)
	OnSignal func(name string) error
}

// Wait implements term.Waiter.
func (s *Shell) Wait() (term.Exit, error) { return s.Exit, s.Lost }

// Exec implements term.Execer.
func (s *Shell) Exec(ctx context.Context, r term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error) {
	return s.OnExec(ctx, r, stdout, stderr)
}

// Signal implements term.Signaler.
func (s *Shell) Signal(_ context.Context, name string) error { return s.OnSignal(name) }

// Start makes a session with a far side that has room for limit bytes (0: any number), and closes it after the test.
func Start(tb testing.TB, limit int, o session.Options) (*session.Session, net.Conn) {
	tb.Helper()
	near, far := bufpipe.New(limit)
	Watch(tb, &o)
	s := session.New(&Plain{ReadWriteCloser: near}, o)
	TellState(tb, s)
	tb.Cleanup(func() { s.Close(context.Background(), session.CloseOptions{Force: true}) })
	return s, far
}

// An ExecFunc carries out a command beside a terminal in memory.
type ExecFunc = func(ctx context.Context, r term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error)

// StartExec makes a session that runs commands with exec.
func StartExec(tb testing.TB, exec ExecFunc, o session.Options) *session.Session {
	near, _ := bufpipe.New(0)
	Watch(tb, &o)
	s := session.New(&Shell{Plain: Plain{ReadWriteCloser: near}, OnExec: exec}, o)
	TellState(tb, s)
	tb.Cleanup(func() { s.Close(context.Background(), session.CloseOptions{Force: true}) })
	return s
}

// Manage makes a Manager that opens the protocol "test" with dial, and closes it after the test.
func Manage(tb testing.TB, dial term.Dialer, c session.Config) *session.Manager {
	tb.Helper()
	c.Dialers = map[string]term.Dialer{"test": dial}
	leaktest.Secret(tb, Typed)
	if c.Logger == nil {
		c.Logger = leaktest.Log(tb)
	}
	c.Observers = append(c.Observers, NewTeller(tb))
	m := session.NewManager(c)
	tb.Cleanup(func() {
		leaktest.Output(tb, "state", fmt.Sprintf("%+v", m.List()))
		m.Close(context.Background())
	})
	return m
}

// Target is a request to open the protocol "test" to host.
func Target(host string) session.OpenRequest {
	return session.OpenRequest{Target: term.Target{Protocol: "test", Host: host}}
}

// Dialed opens terminals in memory; their far sides are sent to far, if it is not nil.
func Dialed(far chan<- net.Conn) term.Dialer {
	return func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
		near, f := bufpipe.New(0)
		if far != nil {
			far <- f
		}
		return &Plain{ReadWriteCloser: near}, nil
	}
}

// Put writes to the terminal's far side and waits until the session has it.
func Put(tb testing.TB, far io.Writer, text string) {
	tb.Helper()
	if _, err := io.WriteString(far, text); err != nil {
		tb.Fatal(err)
	}
	synctest.Wait()
}

// Take reads n bytes that were typed into the terminal.
func Take(tb testing.TB, far io.Reader, n int) string {
	tb.Helper()
	p := make([]byte, n)
	if _, err := io.ReadFull(far, p); err != nil {
		tb.Fatal(err)
	}
	return string(p)
}

// Task returns a context in which the task of that name calls.
func Task(name string) context.Context {
	return term.WithActor(context.Background(), term.Actor{Task: name})
}

// Re compiles expr and panics if it is wrong.
func Re(expr string) *regexp.Regexp { return regexp.MustCompile(expr) }

// WantKind fails the test unless err is an *Error of that kind with a message.
func WantKind(tb testing.TB, err error, kind term.Kind) *term.Error {
	tb.Helper()
	var e *term.Error
	if !errors.As(err, &e) {
		tb.Fatalf("error %v, want one of kind %s", err, kind)
	}
	if e.Kind != kind || e.Message() == string(kind) {
		tb.Fatalf("error %v of kind %s, want %s with a message", err, e.Kind, kind)
	}
	return e
}

// Since returns how long f takes on the bubble's clock.
func Since(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}

// A Diary keeps all events, with copies of their data.
type Diary struct {
	mu     sync.Mutex
	events []term.Event
}

// Observe keeps e.
func (d *Diary) Observe(e term.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e.Data = slices.Clone(e.Data)
	d.events = append(d.events, e)
}

// All returns the events.
func (d *Diary) All() []term.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.events)
}

// Of returns the events with that verb.
func (d *Diary) Of(v term.Verb) []term.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []term.Event
	for _, e := range d.events {
		if e.Verb == v {
			found = append(found, e)
		}
	}
	return found
}

// WidePipe is a terminal in memory with room for anything, NarrowPipe one with room for little.
func WidePipe() (near, far net.Conn) { return bufpipe.New(0) }

// NarrowPipe returns a pipe with room for 8 bytes, so that a write must wait for the reader.
func NarrowPipe() (near, far net.Conn) { return bufpipe.New(8) }

// Typed is the secret or answer that tests type if no part of it may be seen again. Tests of a secret's echo type
// other words: some of them must be shown.
const Typed = "typed-secret-1138"

// Watch makes the log of a session's options, its events and its last state outputs to search, and registers the typed
// input.
func Watch(tb testing.TB, o *session.Options) {
	tb.Helper()
	leaktest.Secret(tb, Typed)
	if o.Logger == nil {
		o.Logger = leaktest.Log(tb)
	}
	o.Observers = append(o.Observers, NewTeller(tb))
}

// LogTo returns a logger that writes to w too.
func LogTo(tb testing.TB, w io.Writer) *slog.Logger {
	tb.Helper()
	return slog.New(
		slog.NewTextHandler(
			io.MultiWriter(w, leaktest.Writer(tb, "log")),
			&slog.HandlerOptions{Level: slog.LevelDebug},
		),
	)
}

// A Teller writes down a thousand events, but no output. Tests that make more of them repeat themselves.
type Teller struct {
	w    io.Writer
	told atomic.Int32
}

// NewTeller returns a Teller. Its record is searched for secrets at the end of the test.
func NewTeller(tb testing.TB) *Teller {
	tb.Helper()
	return &Teller{w: leaktest.Writer(tb, "events")}
}

// Observe implements term.Observer.
func (t *Teller) Observe(e term.Event) {
	if e.Verb != term.VerbOutput && t.told.Add(1) <= 1000 {
		e.Data = e.Data[:min(len(e.Data), 64)] // a secret is shorter
		fmt.Fprintf(t.w, "%+v\n", e)
	}
}

// TellState makes the state of a session an output at the end of the test.
func TellState(tb testing.TB, s *session.Session) {
	tb.Helper()
	tb.Cleanup(func() { leaktest.Output(tb, "state", fmt.Sprintf("%+v %+v", s.Info(), s.TxEvents())) })
}

// TypeIn types text and fails the test if the session refuses it.
func TypeIn(tb testing.TB, s *session.Session, text string) {
	tb.Helper()
	if _, err := s.Write(tb.Context(), []byte(text), session.WriteOptions{}); err != nil {
		tb.Fatal(err)
	}
}

// Run runs a command and fails the test if there is an error.
func Run(tb testing.TB, s *session.Session, r session.ExecRequest) session.ExecResult {
	tb.Helper()
	res, err := s.Exec(tb.Context(), r)
	if err != nil {
		tb.Fatal(err)
	}
	return res
}

// Calls are all the calls that a Gate, a Journal and a lock check.
var Calls = []struct {
	Verb term.Verb
	Do   func(ctx context.Context, s *session.Session) error
}{
	{term.VerbWrite, func(ctx context.Context, s *session.Session) error {
		return second(s.Write(ctx, []byte("rm"), session.WriteOptions{}))
	}},
	{term.VerbExec, func(ctx context.Context, s *session.Session) error {
		return second(s.Exec(ctx, session.ExecRequest{Command: "rm"}))
	}},
	{term.VerbResize, func(ctx context.Context, s *session.Session) error { return s.Resize(ctx, 80, 24) }},
	{term.VerbSignal, func(ctx context.Context, s *session.Session) error { return s.Signal(ctx, "INT") }},
	{term.VerbExpect, func(ctx context.Context, s *session.Session) error {
		return s.SetExpect(ctx, session.Expect{Prompt: Re(`\$`)})
	}},
}

func second[T any](_ T, err error) error { return err }
