package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
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

// A plain is a terminal in memory without optional interfaces.
type plain struct {
	io.ReadWriteCloser
	resized func(cols, rows int) error
}

func (p *plain) Resize(cols, rows int) error {
	if p.resized == nil {
		return nil
	}
	return p.resized(cols, rows)
}

// A shell is a terminal that also knows how its program ended, runs commands and delivers signals.
type shell struct {
	plain
	exit   term.Exit
	lost   error
	exec   func(ctx context.Context, r term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error)
	signal func(name string) error
}

func (s *shell) Wait() (term.Exit, error) { return s.exit, s.lost }

func (s *shell) Exec(ctx context.Context, r term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error) {
	return s.exec(ctx, r, stdout, stderr)
}

func (s *shell) Signal(_ context.Context, name string) error { return s.signal(name) }

// start makes a session whose far side has room for limit bytes (0: any number), and closes it after the test.
func start(tb testing.TB, limit int, o session.Options) (*session.Session, net.Conn) {
	tb.Helper()
	near, far := bufpipe.New(limit)
	watch(tb, &o)
	s := session.New(&plain{ReadWriteCloser: near}, o)
	tellState(tb, s)
	tb.Cleanup(func() { s.Close(context.Background(), session.CloseOptions{Force: true}) })
	return s, far
}

// put writes to the terminal's far side and waits until the session has it.
func put(tb testing.TB, far io.Writer, text string) {
	tb.Helper()
	if _, err := io.WriteString(far, text); err != nil {
		tb.Fatal(err)
	}
	synctest.Wait()
}

// take reads n bytes that were typed into the terminal.
func take(tb testing.TB, far io.Reader, n int) string {
	tb.Helper()
	p := make([]byte, n)
	if _, err := io.ReadFull(far, p); err != nil {
		tb.Fatal(err)
	}
	return string(p)
}

func task(name string) context.Context {
	return term.WithActor(context.Background(), term.Actor{Task: name})
}

func re(expr string) *regexp.Regexp { return regexp.MustCompile(expr) }

// wantKind fails the test unless err is an *Error of that kind with a message.
func wantKind(tb testing.TB, err error, kind term.Kind) *term.Error {
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

// since returns how long f takes on the bubble's clock.
func since(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}

// A diary keeps all events, with copies of their data.
type diary struct {
	mu     sync.Mutex
	events []term.Event
}

func (d *diary) Observe(e term.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e.Data = slices.Clone(e.Data)
	d.events = append(d.events, e)
}

// of returns the events with that verb.
func (d *diary) of(v term.Verb) []term.Event {
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

// widePipe is a terminal in memory with room for anything, narrowPipe one with room for little.
func widePipe() (near, far net.Conn)   { return bufpipe.New(0) }
func narrowPipe() (near, far net.Conn) { return bufpipe.New(8) }

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// typed is what tests type as a secret or an answer, where nothing of it may be seen again. Tests of what becomes of a
// secret's echo type other words: some of them must be shown.
const typed = "typed-secret-1138"

// watch makes the log of a session's options, its events and its last state outputs, and registers what is typed.
func watch(tb testing.TB, o *session.Options) {
	tb.Helper()
	leaktest.Secret(tb, typed)
	if o.Logger == nil {
		o.Logger = leaktest.Log(tb)
	}
	o.Observers = append(o.Observers, newTeller(tb))
}

// logTo returns a logger whose text goes to w too.
func logTo(tb testing.TB, w io.Writer) *slog.Logger {
	tb.Helper()
	return slog.New(
		slog.NewTextHandler(io.MultiWriter(w, leaktest.Writer(tb, "log")), &slog.HandlerOptions{Level: slog.LevelDebug}),
	)
}

// A teller writes down a thousand events, but no output. Tests that make more of them repeat themselves.
type teller struct {
	w    io.Writer
	told atomic.Int32
}

func newTeller(tb testing.TB) *teller {
	tb.Helper()
	return &teller{w: leaktest.Writer(tb, "events")}
}

func (t *teller) Observe(e term.Event) {
	if e.Verb != term.VerbOutput && t.told.Add(1) <= 1000 {
		e.Data = e.Data[:min(len(e.Data), 64)] // a secret is shorter
		fmt.Fprintf(t.w, "%+v\n", e)
	}
}

// tellState makes the state of a session an output at the end of the test.
func tellState(tb testing.TB, s *session.Session) {
	tb.Helper()
	tb.Cleanup(func() { leaktest.Output(tb, "state", fmt.Sprintf("%+v %+v", s.Info(), s.TxEvents())) })
}
