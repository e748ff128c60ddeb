package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"ptyctl/buffer"
	"ptyctl/internal/bufpipe"
	"ptyctl/internal/leaktest"
	"ptyctl/session/redact"
	"ptyctl/term"
)

// A call that looks at an exec's output has all of it, though the exec is forgotten meanwhile; then the memory is
// given back.
func TestForgottenWhileLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := buffer.NewPool(1 << 20)
		near, _ := bufpipe.New(0)
		s := New(&rigged{ReadWriteCloser: near}, Options{managed: managed{limits: limits{memory: pool}}})
		defer s.Close(t.Context(), CloseOptions{})
		before := pool.Held()
		x, err := s.execs.newRun(ExecRequest{Timeout: time.Minute}, LaneChannel, term.Actor{})
		if err != nil {
			t.Fatal(err)
		}
		x.stdout.Write([]byte("its output"))
		same, err := s.execs.find("exec", x.id) // a second call
		if err != nil || same != x {
			t.Fatal(err)
		}
		s.execs.forget(x.id)
		s.execs.letGo(x)
		if o := x.stdout.Excerpt(1000); string(o.Head) != "its output" || pool.Held() == before {
			t.Errorf("%+v, %d bytes held", o, pool.Held()-before)
		}
		s.execs.letGo(x)
		if pool.Held() != before {
			t.Errorf("%d bytes are still held", pool.Held()-before)
		}
		if _, err := s.execs.find("exec", x.id); err == nil {
			t.Error("it is still found")
		}
		x.deadline.End()
		x.cancel(nil)
	})
}

// Commands in the terminal give their memory back, too, after a refusal or when their output was fetched.
func TestTypedCommandsGiveBackTheirMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := buffer.NewPool(1 << 20)
		near, far := bufpipe.New(0)
		s := New(&rigged{ReadWriteCloser: near}, Options{managed: managed{limits: limits{memory: pool}}})
		defer s.Close(t.Context(), CloseOptions{})
		show := func(text string) {
			if _, err := far.Write([]byte(text)); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		show("Password: ")
		before := pool.Held()
		req := ExecRequest{
			Command: "show clock",
			Lane:    LaneTerminal,
			Class:   ClassDevice,
			Idle:    time.Second,
			Timeout: time.Minute,
		}
		if _, err := s.Exec(t.Context(), req); err == nil {
			t.Fatal("a command was typed into a question")
		}
		if pool.Held() != before {
			t.Errorf("refused: %d bytes are still held", pool.Held()-before)
		}
		show("\r\nsw1# ")
		go func() {
			p := make([]byte, 100)
			for {
				n, err := far.Read(p)
				if err != nil {
					return
				}
				far.Write(append(p[:n:n], "\n12:00\r\nsw1# "...))
			}
		}()
		for range 5 {
			res, err := s.Exec(t.Context(), req)
			if err != nil || !res.Stdout.Complete() || res.ID != "" {
				t.Fatalf("%+v, %v", res, err)
			}
		}
		if pool.Held() != before {
			t.Errorf("fetched: %d bytes are still held", pool.Held()-before)
		}
	})
}

// A forgotten session is gone at once with its memory, and its end is reported once. A live one stays, and so does
// another that has got its name.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := new(collector)
		m := NewManager(
			Config{
				MaxSessions: 2,
				Retention:   time.Minute,
				Observers:   []term.Observer{told},
				Dialers: map[string]term.Dialer{
					"local": func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
						return newFakeProgram("", 0), nil
					},
				},
			},
		)
		open := func() *Session {
			t.Helper()
			r, err := m.Open(
				t.Context(),
				OpenRequest{
					ID:     "pty_a1b2c3d4",
					Target: term.Target{Protocol: "local", Local: term.LocalOptions{Argv: []string{"sh"}}},
				},
			)
			if err != nil {
				t.Fatal(err)
			}
			return r.Session
		}
		there := func() bool {
			s, err := m.Get("pty_a1b2c3d4")
			return err == nil && s != nil
		}
		s := open()
		if m.Forget(s); !there() {
			t.Error("a session that lives was forgotten")
		}
		s.Close(t.Context(), CloseOptions{})
		if m.Forget(s); there() || m.Buffered() != 0 {
			t.Errorf("closed and forgotten: there %t, %d bytes are held", there(), m.Buffered())
		}
		m.Forget(s)

		ended := open()
		_ = ended.link.Load().Close() // the program ends by itself
		<-ended.Ended()
		if !there() {
			t.Error("it is not kept")
		}
		if m.Forget(ended); there() || m.Buffered() != 0 || len(m.exited) != 0 {
			t.Errorf("ended and forgotten: there %t, %d bytes are held, %d kept", there(), m.Buffered(), len(m.exited))
		}

		same := open()
		time.Sleep(time.Hour)
		if m.Forget(s); !there() {
			t.Error("another session of the same name was forgotten")
		}
		same.Close(t.Context(), CloseOptions{})
		time.Sleep(2 * time.Minute)
		if there() {
			t.Error("it is kept longer than it is to be")
		}
		gone := 0
		for _, e := range told.all() {
			if e.Verb == term.VerbGone {
				gone++
			}
		}
		if gone != 3 {
			t.Errorf("%d sessions are told of as gone, want 3", gone)
		}
	})
}

// A slowObserver takes its time with the end of a session.
type slowObserver struct{}

func (slowObserver) Observe(e term.Event) {
	if e.Verb == term.VerbState && State(e.State).Ended() {
		time.Sleep(time.Second)
	}
}

// The observers know of a session's end before they hear that it is gone.
func TestGoneComesAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := new(collector)
		near, far := bufpipe.New(0)
		defer far.Close()
		m := NewManager(Config{
			Observers: []term.Observer{slowObserver{}, told},
			Dialers: map[string]term.Dialer{
				"telnet": func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
					return &rigged{ReadWriteCloser: near}, nil
				},
			},
		})
		r, err := m.Open(t.Context(), OpenRequest{Target: term.Target{Protocol: "telnet", Host: "h"}})
		if err != nil {
			t.Fatal(err)
		}
		go r.Session.Close(t.Context(), CloseOptions{})
		for !r.Session.State().Ended() {
			time.Sleep(time.Millisecond)
		}
		m.Forget(r.Session)
		time.Sleep(time.Minute)
		var order []string
		for _, e := range told.all() {
			if e.Verb == term.VerbGone || e.Verb == term.VerbState && State(e.State).Ended() {
				order = append(order, string(e.Verb))
			}
		}
		if want := []string{string(term.VerbState), string(term.VerbGone)}; !slices.Equal(order, want) {
			t.Errorf("the events of the end = %q, want %q", order, want)
		}
	})
}

// A session that has ended is kept, and its transport is not: an SSH connection with its buffers is much larger than
// the session.
func TestTransportIsLetGo(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, m *Manager, s *Session, far func() error){
		"closed": func(t *testing.T, _ *Manager, s *Session, _ func() error) {
			s.Close(t.Context(), CloseOptions{})
		},
		"forced": func(t *testing.T, _ *Manager, s *Session, _ func() error) {
			s.Close(t.Context(), CloseOptions{Force: true})
		},
		"by the far side": func(t *testing.T, _ *Manager, s *Session, far func() error) {
			if err := far(); err != nil {
				t.Error(err)
			}
			<-s.Ended()
			s.Close(t.Context(), CloseOptions{}) // waits for the goroutines
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := NewManager(Config{})
			near, far := bufpipe.New(0)
			s := newSession(Options{ID: "s", managed: managed{limits: m.limits}}, owner{}, nil)
			held := func() weak.Pointer[rigged] {
				transport := &rigged{ReadWriteCloser: near}
				s.attach(bannered{transport})
				return weak.Make(transport)
			}()
			end(t, m, s, far.Close)
			for range 3 { // of a goroutine that has just ended the stack may still be looked at
				runtime.GC()
			}
			if held.Value() != nil {
				t.Error("the transport is still in memory")
			}
			if got, want := s.Info().About.ServerBanner, (bannered{}).Describe().ServerBanner; got != want {
				t.Errorf("the banner of an ended session = %q, want %q", got, want)
			}
			for op, err := range map[string]error{
				"resize": s.Resize(t.Context(), 80, 24), "signal": s.Signal(t.Context(), "INT"),
			} {
				e, ok := err.(*term.Error) // and not wrapped in another
				if !ok || e.Kind != term.AlreadyClosed && e.Kind != term.RemoteClosed {
					t.Errorf("%s of an ended session = %v", op, err)
				}
			}
		})
	}
}

type bannered struct{ *rigged }

func (bannered) Describe() term.Description { return term.Description{ServerBanner: "welcome"} }

// However many sessions end within the time of retention, only so many of them are kept.
func TestEndedSessionsAreBounded(t *testing.T) {
	m := NewManager(Config{Retention: time.Hour})
	defer m.Close(t.Context())
	var ids []string
	for range maxExpiring + 10 {
		near, _ := bufpipe.New(0)
		s := newSession(Options{ID: NewID("h"), managed: managed{limits: m.limits}}, owner{ended: m.ended}, nil)
		if err := m.add(s); err != nil {
			t.Fatal(err)
		}
		s.attach(&rigged{ReadWriteCloser: near})
		s.Close(t.Context(), CloseOptions{Force: true})
		ids = append(ids, s.ID())
	}
	for limit := time.Now().Add(time.Minute); m.Ended() > maxExpiring; {
		if time.Now().After(limit) {
			t.Fatalf("%d ended sessions are kept, want %d", m.Ended(), maxExpiring)
		}
		runtime.Gosched()
	}
	if _, err := m.Get(ids[0]); err == nil {
		t.Error("the first is still kept")
	}
	if _, err := m.Get(ids[len(ids)-1]); err != nil {
		t.Errorf("the last is not kept: %v", err)
	}
}

// A rigged terminal panics in the method that a test chooses.
type rigged struct {
	io.ReadWriteCloser
	far             io.Writer // the terminal's other end, for the test to write
	write, describe bool
	closed          atomic.Bool
}

func (*rigged) Resize(int, int) error { return nil }

func (r *rigged) Close() error {
	r.closed.Store(true)
	return r.ReadWriteCloser.Close()
}

func (r *rigged) Write(p []byte) (int, error) {
	if r.write {
		panic("secret")
	}
	return r.ReadWriteCloser.Write(p)
}

func (r *rigged) Describe() term.Description {
	if r.describe {
		panic("secret")
	}
	return term.Description{}
}

// A fault in any goroutine of a session ends the session as Failed, without the panic's text in its error. Its
// transport is closed, its neighbour lives on, and the log has the text.
func TestFaultsEndTheSessionAlone(t *testing.T) {
	faults := map[string]func(s *Session, r *rigged){
		"writer": func(s *Session, r *rigged) {
			r.write = true
			begin := time.Now()
			_, err := s.Write(context.Background(), []byte("x"), WriteOptions{})
			if !errors.Is(err, term.Internal) || time.Since(begin) != 0 {
				t.Errorf("the write: %v after %v", err, time.Since(begin))
			}
		},
		"writer of a secret": func(s *Session, r *rigged) {
			r.write = true
			if _, err := s.Write(context.Background(), []byte("hunter22-1138\r"), WriteOptions{Sensitive: true}); !errors.Is(
				err,
				term.Internal,
			) {
				t.Errorf("the write: %v", err)
			}
		},
		"key pressed for a command": func(s *Session, r *rigged) {
			r.write = true
			done := make(chan struct{})
			s.writer.press(Holder{}, "\x03", func() { close(done) })
			<-done
		},
		"redaction": func(s *Session, r *rigged) {
			s.redact = redact.New(
				func([]byte, []redact.Echo) { panic("secret") },
				func(keep func()) bool { return s.group.spawn("redact", keep) },
			)
			e, err := s.redact.Expect([]byte("hunter22-1138"))
			if err != nil {
				t.Fatal(err)
			}
			e.Sending()
			if _, err := io.WriteString(r.far, "hunter22"); err != nil { // waits for the rest, which does not come
				t.Fatal(err)
			}
		},
		"anything else": func(s *Session, _ *rigged) { s.group.spawn("other", func() { panic("secret") }) },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				leaktest.Secret(t, "hunter22-1138")
				near, far := bufpipe.New(0)
				r := &rigged{ReadWriteCloser: near, far: far}
				s := New(r, Options{Logger: slog.New(slog.NewTextHandler(io.MultiWriter(&log, leaktest.Writer(t, "log")), nil))})
				other, _ := bufpipe.New(0)
				neighbour := New(&rigged{ReadWriteCloser: other}, Options{})
				defer neighbour.Close(t.Context(), CloseOptions{})
				fault(s, r)
				<-s.Ended()
				synctest.Wait()
				i := s.Info()
				if i.State != Failed || !errors.Is(i.End.Err, term.Internal) ||
					!strings.Contains(i.End.Reason, "a fault in ptyctl") ||
					strings.Contains(i.End.Reason, "secret") {
					t.Errorf("%s, %+v", i.State, i.End)
				}
				if !r.closed.Load() {
					t.Error("the transport was not closed")
				}
				if began := time.Now(); !s.Close(t.Context(), CloseOptions{}) || time.Since(began) != 0 {
					t.Errorf("Close took %v", time.Since(began))
				}
				if !strings.Contains(log.String(), "panic") {
					t.Errorf("the log: %s", &log)
				}
				if neighbour.State() != Open {
					t.Error("the neighbour has ended")
				}
			})
		})
	}
}

// A transport that the session cannot own is closed, too.
func TestFaultBeforeTheSessionOwnsTheTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, _ := bufpipe.New(0)
		r := &rigged{ReadWriteCloser: near, describe: true}
		m := NewManager(
			Config{
				Dialers: map[string]term.Dialer{
					"ssh": func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) { return r, nil },
				},
			},
		)
		defer m.Close(t.Context())
		if _, err := m.Open(t.Context(), OpenRequest{Target: term.Target{Protocol: "ssh", Host: "x"}}); !errors.Is(
			err,
			term.Internal,
		) {
			t.Errorf("error of the opening = %v, want Internal", err)
		}
		synctest.Wait()
		if !r.closed.Load() {
			t.Error("the transport was not closed")
		}
	})
}

// A command that obeys is stopped by its server before the connection goes, also when ptyctl shuts down; one that does
// not cannot hold it up beyond five seconds.
func TestShutdownIsPolite(t *testing.T) {
	for _, obeys := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			near, _ := bufpipe.New(0)
			told := false
			release := make(chan struct{})
			tr := &commanded{rigged: rigged{ReadWriteCloser: near}}
			tr.exec = func(ctx context.Context) {
				<-ctx.Done()
				if !obeys {
					<-release
				}
				time.Sleep(time.Second) // as far as the signal and back
				told = !tr.closed.Load()
			}
			m := NewManager(
				Config{
					Dialers: map[string]term.Dialer{
						"ssh": func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
							return tr, nil
						},
					},
				},
			)
			r, err := m.Open(t.Context(), OpenRequest{Target: term.Target{Protocol: "ssh", Host: "x"}})
			if err != nil {
				t.Fatal(err)
			}
			go r.Session.Exec(t.Context(), ExecRequest{Command: "x", Lane: LaneChannel, Timeout: time.Hour})
			synctest.Wait()
			begin := time.Now()
			m.Close(t.Context())
			took := time.Since(begin)
			if obeys && (took != time.Second || !told) || took > 5*time.Second {
				t.Errorf("obeys %v: took %v, told %v", obeys, took, told)
			}
			if r.Session.State() != Closed {
				t.Errorf("state %s", r.Session.State())
			}
			close(release)
			time.Sleep(2 * time.Second) // abandoned commands end
		})
	}
}

type commanded struct {
	rigged
	exec func(ctx context.Context)
}

func (c *commanded) Exec(ctx context.Context, _ term.ExecRequest, _, _ io.Writer) (term.Exit, error) {
	c.exec(ctx)
	return term.Exit{}, ctx.Err()
}
