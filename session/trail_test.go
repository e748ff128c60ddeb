package session_test

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/session"
	"ptyctl/term"
)

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
