package session_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/session"
	"ptyctl/term"
)

// A broken stream is read until its data is out, then fails with err, or panics with it.
type broken struct {
	io.ReadWriteCloser
	data  string
	err   error
	panic bool
}

func (b *broken) Read(p []byte) (int, error) {
	if b.panic {
		panic(b.err)
	}
	n := copy(p, b.data)
	b.data = b.data[n:]
	return n, b.err
}

// A deaf stream notices nothing of Close, which itself blocks, until it is released.
type deaf struct{ released chan struct{} }

func (d *deaf) Read([]byte) (int, error)    { <-d.released; return 0, io.EOF }
func (d *deaf) Write(p []byte) (int, error) { <-d.released; return len(p), nil }
func (d *deaf) Close() error                { <-d.released; return nil }

func TestSessionEnd(t *testing.T) {
	var faults strings.Builder // without a Logger they go to the default one
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&faults, nil)))
	defer func() {
		slog.SetDefault(before)
		if text := faults.String(); strings.Count(text, "level=") != 1 || !strings.Contains(text, "panic=secret") || !strings.Contains(text, "life_test.go") {
			t.Errorf("the default log has %q, want the panic alone, with its stack", text)
		}
	}()
	for _, c := range []struct {
		name   string
		exit   term.Exit
		lost   error
		stream broken
		state  session.State
		reason string
		kind   term.Kind
	}{
		{"exit status", term.Exit{Known: true, Code: 3}, nil, broken{err: io.EOF}, session.Closed, "the program exited with status 3", ""},
		{"signal", term.Exit{Known: true, Code: 137, Signal: "KILL"}, nil, broken{err: io.EOF}, session.Closed, "the program was ended by signal KILL", ""},
		{"end of file", term.Exit{}, nil, broken{err: io.EOF}, session.Closed, "the far side closed the terminal", ""},
		{"connection lost", term.Exit{}, &term.Error{Kind: term.RemoteClosed, Msg: "no keepalive answer"}, broken{err: io.EOF}, session.Failed, "no keepalive answer", term.RemoteClosed},
		{"input or output error", term.Exit{}, nil, broken{err: errors.New("reset")}, session.Failed, "the terminal's stream broke: reset", term.IOError},
		{"panic", term.Exit{}, nil, broken{err: errors.New("secret"), panic: true}, session.Failed, "a fault in ptyctl ended this session; open a new one, and report the log", term.Internal},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, _ := bufpipe.New(0)
				c.stream.ReadWriteCloser, c.stream.data = near, "last words"
				s := session.New(&shell{Plain: plain{ReadWriteCloser: &c.stream}, Exit: c.exit, Lost: c.lost}, session.Options{})
				<-s.Ended()
				i := s.Info()
				if i.State != c.state || !strings.HasSuffix(i.End.Reason, c.reason) || term.KindOf(i.End.Err) != c.kind ||
					i.End.Exit != c.exit ||
					!i.End.Time.Equal(time.Now()) {
					t.Errorf("%s, %+v", i.State, i.End)
				}
				if strings.Contains(i.End.Reason, "secret") {
					t.Error("the panic's text is shown")
				}
				ch := s.Read(t.Context(), session.ReadRequest{Until: re("x"), Timeout: time.Hour})
				if want := "last words"; !c.stream.panic && string(ch.Data) != want || !ch.EOF || ch.Reason != session.ReasonEOF {
					t.Errorf("read %q, EOF %v, %s", ch.Data, ch.EOF, ch.Reason)
				}
				_, err := answer(s, "x")
				wantKind(t, err, term.AlreadyClosed)
				if !s.Close(t.Context(), session.CloseOptions{}) {
					t.Error("Close does not say that it had ended already")
				}
				if s.Info().End.Reason != i.End.Reason {
					t.Error("Close changed how it ended")
				}
			})
		})
	}
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen diary
		s, far := start(t, 0, session.Options{Observers: []term.Observer{&seen}})
		put(t, far, "bye")
		if _, err := s.Lock(task("t1"), time.Minute); err != nil {
			t.Fatal(err)
		}
		reader := make(chan session.Chunk, 1)
		go func() { reader <- s.Read(t.Context(), session.ReadRequest{Until: re("x"), Timeout: time.Hour}) }()
		synctest.Wait()
		if s.Close(task("t1"), session.CloseOptions{}) {
			t.Error("it had not ended before")
		}
		if c := <-reader; c.Reason != session.ReasonEOF || string(c.Data) != "bye" {
			t.Errorf("the reader got %s, %q", c.Reason, c.Data)
		}
		if i := s.Info(); i.State != session.Closed || i.End.Reason != "closed by task t1" || i.End.Err != nil ||
			i.Lease != nil {
			t.Errorf("info = %+v, want it closed by task t1, without error and unlocked", i)
		}
		if !s.Close(task("t2"), session.CloseOptions{}) || s.Info().End.Reason != "closed by task t1" {
			t.Error("closed twice")
		}
		if e := seen.Of(term.VerbClose); len(e) != 2 || e[0].Actor.Task != "t1" || e[0].Detail != "" ||
			e[1].Actor.Task != "t2" ||
			e[1].Detail != "already closed" {
			t.Errorf("close events %+v", e)
		}
		states := seen.Of(term.VerbState)
		if len(states) != 2 || states[0].State != "open" || states[1].State != "closed" ||
			states[1].Detail != "closed by task t1" {
			t.Errorf("state events %+v", states)
		}
		_, err := s.Lock(task("t1"), time.Minute)
		wantKind(t, err, term.AlreadyClosed)
		if n, _ := far.Read(make([]byte, 1)); n != 0 {
			t.Error("the far side was not closed")
		}
	})
}

// Close keeps its time though nothing of the transport ever returns.
func TestCloseOfDeafTransport(t *testing.T) {
	for _, c := range []struct {
		force bool
		limit time.Duration
	}{{true, time.Second}, {false, 5 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			d := &deaf{make(chan struct{})}
			s := session.New(
				&plain{ReadWriteCloser: d, Resized: func(int, int) error { panic("resized") }},
				session.Options{WriteTimeout: time.Hour},
			)
			wrote := make(chan time.Duration, 1)
			go func() {
				wrote <- since(func() {
					_, err := answer(s, "x")
					wantKind(t, err, term.AlreadyClosed)
				})
			}()
			synctest.Wait()
			closed := make(chan time.Duration, 1)
			go func() { closed <- since(func() { s.Close(t.Context(), session.CloseOptions{Force: c.force}) }) }()
			synctest.Wait()
			wantKind(t, s.Resize(t.Context(), 80, 24), term.AlreadyClosed) // from the start of Close on
			if took := <-closed; took > c.limit {
				t.Errorf("force %v took %v", c.force, took)
			}
			if took := <-wrote; took > time.Second {
				t.Errorf("force %v: the write took %v", c.force, took)
			}
			if s.State() != session.Closed {
				t.Errorf("state %s", s.State())
			}
			close(d.released) // the bubble proves that nothing is left
		})
	}
}

func TestCloseIsForEveryone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { s.Close(t.Context(), session.CloseOptions{}) })
			wg.Go(func() { s.Write(t.Context(), []byte("x"), session.WriteOptions{}) })
			wg.Go(func() { far.Write([]byte("x")) })
			wg.Go(func() { s.Read(t.Context(), session.ReadRequest{Until: re("y"), Timeout: time.Hour}) })
		}
		if took := since(wg.Wait); took != 0 {
			t.Errorf("took %v", took)
		}
	})
}

func TestTransportPanicsWhileClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session.New(&plain{ReadWriteCloser: &panicky{stop: make(chan struct{})}}, session.Options{})
		s.Close(t.Context(), session.CloseOptions{})
		if s.State() != session.Closed {
			t.Errorf("state %s", s.State())
		}
	})
}

type panicky struct {
	deaf
	stop chan struct{}
}

func (p *panicky) Read([]byte) (int, error) { <-p.stop; return 0, io.EOF }
func (p *panicky) Close() error             { close(p.stop); panic("closing") }

func TestResizeAndSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen diary
		near, far := bufpipe.New(0)
		sh := &shell{Plain: plain{ReadWriteCloser: near}}
		s := session.New(sh, session.Options{Observers: []term.Observer{&seen}})
		defer s.Close(t.Context(), session.CloseOptions{})
		if _, err := far.Write([]byte("five\n")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if p := s.Info().PTY; p.Cols != term.DefaultCols || p.Rows != term.DefaultRows || p.Term != term.DefaultTerm {
			t.Errorf("PTY = %+v, want the defaults", p)
		}
		var cols, rows int
		sh.Resized = func(c, r int) error { cols, rows = c, r; return nil }
		if err := s.Resize(t.Context(), 100, 30); err != nil || cols != 100 || rows != 30 || s.Info().PTY.Cols != 100 ||
			s.Info().Resized != 5 {
			t.Errorf("%d x %d, %v, %+v", cols, rows, err, s.Info())
		}
		for _, size := range [][2]int{{0, 1}, {1, 0}, {-1, 5}, {10001, 1}, {1, 10001}} {
			wantKind(t, s.Resize(t.Context(), size[0], size[1]), term.InvalidArgument)
		}
		sh.Resized = func(int, int) error { return &term.Error{Kind: term.Unsupported, Msg: "no window"} }
		if e := wantKind(t, s.Resize(t.Context(), 1, 1), term.Unsupported); e.Session != s.ID() || e.Op != "resize" {
			t.Errorf("refused resize = %+v, want the session's id and the operation", e)
		}
		if i := s.Info(); i.PTY.Cols != 100 || cols != 100 {
			t.Errorf("PTY after a refused resize = %+v, want the old width, 100", i.PTY)
		}

		var got string
		sh.OnSignal = func(name string) error { got = name; return nil }
		if err := s.Signal(t.Context(), "INT"); err != nil || got != "INT" {
			t.Errorf("%q, %v", got, err)
		}
		sh.OnSignal = func(string) error { return errors.New("reset") }
		wantKind(t, s.Signal(t.Context(), "INT"), term.IOError)
		none, _ := start(t, 0, session.Options{})
		wantKind(t, none.Signal(t.Context(), "INT"), term.Unsupported)

		if e := seen.Of(term.VerbResize); len(e) != 7 || e[0].Detail != "100x30" || e[0].Outcome() != nil ||
			!errors.Is(e[1].Refused, term.InvalidArgument) ||
			!errors.Is(e[6].Err, term.Unsupported) {
			t.Errorf("resize events = %+v, want invalid sizes refused and the last one Unsupported", e)
		}
		if e := seen.Of(term.VerbSignal); len(e) != 2 || e[0].Detail != "INT" || e[0].Outcome() != nil ||
			!errors.Is(e[1].Err, term.IOError) {
			t.Errorf("signal events = %+v, want INT without error, then an IOError", e)
		}
	})
}

func TestMayClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen diary
		deny := false
		s, _ := start(
			t,
			0,
			session.Options{
				Observers: []term.Observer{&seen},
				Gate: func(_ context.Context, a term.Action) (term.Ruling, error) {
					if deny {
						return term.Ruling{}, &term.Error{Kind: term.PolicyDenied, Msg: "no " + string(a.Verb)}
					}
					return term.Ruling{}, nil
				},
			},
		)
		if err := s.ServerView().MayClose(t.Context(), false); err != nil {
			t.Error(err)
		}
		if _, err := s.Lock(task("t1"), time.Minute); err != nil {
			t.Fatal(err)
		}
		wantKind(t, s.ServerView().MayClose(task("t2"), false), term.Locked)
		wantKind(t, s.ServerView().MayClose(t.Context(), false), term.Locked)
		if err := s.ServerView().MayClose(task("t1"), false); err != nil {
			t.Error(err)
		}
		deny = true
		wantKind(t, s.ServerView().MayClose(task("t1"), false), term.PolicyDenied)
		if e := seen.Of(term.VerbClose); len(e) != 3 || !errors.Is(e[0].Refused, term.Locked) ||
			!errors.Is(e[2].Refused, term.PolicyDenied) {
			t.Errorf("events %+v", e)
		}
		if s.State() != session.Open {
			t.Errorf("asking made it %s", s.State())
		}
		s.Close(task("t2"), session.CloseOptions{})
		if err := s.ServerView().MayClose(task("t3"), false); err != nil {
			t.Errorf("ended: %v", err)
		}
	})
}

func TestSettle(t *testing.T) {
	for _, c := range []struct {
		name  string
		typed string
		takes time.Duration // of the far side's next step
		took  time.Duration
		state session.State
	}{
		{"opens", "a", 2 * time.Second, 2 * time.Second, session.Open},
		{"fails", "\x03", 0, 0, session.Failed},
		{"is too slow", "a", time.Hour, time.Minute, session.Authenticating},
		{"is not answered", "", 0, 0, session.Authenticating},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := login{questions: []string{"Password: "}}
				m := manage(t, func(ctx context.Context, tg term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
					tr, err := l.dial(ctx, tg, p, nil)
					if err == nil {
						select {
						case <-time.After(c.takes):
						case <-ctx.Done():
						}
					}
					return tr, err
				}, session.Config{PromptTimeout: 2 * time.Hour})
				r, err := m.Open(t.Context(), target("web1"))
				if err != nil {
					t.Fatal(err)
				}
				if c.typed != "" {
					if _, err := answer(r.Session, c.typed); err != nil {
						t.Fatal(err)
					}
				}
				if took := since(func() { r.Session.Settle(t.Context(), time.Minute) }); took != c.took ||
					r.Session.State() != c.state {
					t.Errorf("%s after %v", r.Session.State(), took)
				}
			})
		})
	}
}

// A polite close lets commands beside the terminal be stopped before the connection goes; a forced one does not
// wait for them.
func TestCloseStopsCommands(t *testing.T) {
	for _, force := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var stopped atomic.Bool
			s := startExec(t, func(ctx context.Context, _ term.ExecRequest, _, _ io.Writer) (term.Exit, error) {
				<-ctx.Done()
				time.Sleep(2 * time.Second) // TERM, and a while
				stopped.Store(true)
				return term.Exit{Known: true, Code: 143, Signal: "TERM", Killed: "yes"}, nil
			}, session.Options{})
			go func() { _, _ = s.Exec(t.Context(), session.ExecRequest{Command: "sleep 1h"}) }()
			synctest.Wait()
			start := time.Now()
			s.Close(t.Context(), session.CloseOptions{Force: force})
			if took := time.Since(start); stopped.Load() == force || force && took > time.Second ||
				!force && took != 2*time.Second {
				t.Errorf("force %t: stopped %t after %v", force, stopped.Load(), took)
			}
			time.Sleep(5 * time.Second)
		})
	}
}

func TestIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := bufpipe.New(0)
		s := session.New(
			&shell{
				Plain: plain{ReadWriteCloser: near},
				OnExec: func(context.Context, term.ExecRequest, io.Writer, io.Writer) (term.Exit, error) {
					time.Sleep(7 * time.Second)
					return term.Exit{Known: true}, nil
				},
			},
			session.Options{IdleTimeout: 3 * time.Second},
		)
		const wait = 2 * time.Second
		took := since(func() {
			time.Sleep(wait)
			put(t, far, "output")
			time.Sleep(wait)
			if _, err := answer(s, "input"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(wait)
			run(t, s, session.ExecRequest{Command: "id", Lane: session.LaneChannel})
			s.Read(t.Context(), session.ReadRequest{Cursor: session.Latest, Timeout: time.Hour}) // is no activity
		})
		if want := 3*wait + 7*time.Second + 3*time.Second; took != want {
			t.Errorf("ended after %v, want %v", took, want)
		}
		if i := s.Info(); i.State != session.Closed || !strings.Contains(i.End.Reason, "idle timeout") {
			t.Errorf("%s, %+v", i.State, i.End)
		}
	})
}

func TestMaxAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := make(chan net.Conn, 1)
		m := manage(t, dialed(far), session.Config{MaxAge: 10 * time.Second, IdleTimeout: 6 * time.Second})
		s := opened(t, m, "web1")
		f := <-far
		took := since(func() {
			for range 3 {
				time.Sleep(3 * time.Second)
				put(t, f, "still at work")
			}
			<-s.Ended()
		})
		if took != 10*time.Second {
			t.Errorf("ended after %v", took)
		}
		if i := s.Info(); i.State != session.Closed || !strings.Contains(i.End.Reason, "10s, the longest age") {
			t.Errorf("%s, %+v", i.State, i.End)
		}
		quiet := opened(t, m, "web2")
		if took := since(func() { <-quiet.Ended() }); took != 6*time.Second {
			t.Errorf("the idle one ended after %v", took)
		}
	})
}

// A session can have less time than the others, and no more.
func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manage(t, dialed(make(chan net.Conn, 2)), session.Config{MaxAge: 10 * time.Second})
		for life, says := range map[time.Duration]string{
			4 * time.Second: "4s, its timeout",
			time.Minute:     "10s, the longest age",
		} {
			r, err := m.Open(t.Context(), session.OpenRequest{Target: target("web1").Target, Life: life})
			if err != nil {
				t.Fatal(err)
			}
			took := since(func() { <-r.Session.Ended() })
			if i := r.Session.Info(); took != min(life, 10*time.Second) || !strings.Contains(i.End.Reason, says) {
				t.Errorf("after %s: %+v", took, i.End)
			}
		}
	})
}

// Age counts from the start, and also while a login waits for an answer.
func TestMaxAgeOfALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manage(t, func(ctx context.Context, _ term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
			_, err := p.Prompt(ctx, term.Prompt{Text: "Password: "})
			return nil, err
		}, session.Config{MaxAge: 10 * time.Second, PromptTimeout: time.Hour})
		r, err := m.Open(t.Context(), target("web1"))
		if err != nil {
			t.Fatal(err)
		}
		if took := since(func() { <-r.Session.Ended() }); took != 10*time.Second {
			t.Errorf("ended after %v", took)
		}
	})
}
