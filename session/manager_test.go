package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/session"
	"ptyctl/term"
)

func opened(tb testing.TB, m *session.Manager, host string) *session.Session {
	tb.Helper()
	r, err := m.Open(tb.Context(), target(host))
	if err != nil || r.State != session.Open {
		tb.Fatalf("%+v, %v", r, err)
	}
	return r.Session
}

func TestOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got term.Target
		var seen diary
		far := make(chan net.Conn, 1)
		m := manage(t, func(ctx context.Context, tg term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
			got = tg
			return dialed(far)(ctx, tg, p, nil)
		}, session.Config{Observers: []term.Observer{&seen}})
		req := target("web1")
		req.LockTTL = time.Minute
		r, err := m.Open(task("t1"), req)
		if err != nil || r.State != session.Open || r.Prompt != nil || r.Lease == nil || r.Lease.Holder.String() != "t1" {
			t.Fatalf("%+v, %v", r, err)
		}
		if got.ConnectTimeout != 15*time.Second {
			t.Errorf("target %+v", got)
		}
		own := manage(t, func(_ context.Context, tg term.Target, _ term.Prompter, _ term.Approve) (term.Transport, error) {
			got = tg
			return nil, errors.New("refused")
		}, session.Config{ConnectTimeout: -1})
		if _, err := own.Open(task("t1"), target("web1")); err == nil || got.ConnectTimeout != 0 {
			t.Errorf("%v; with the limit of the Dialer: target %+v", err, got)
		}
		put(t, <-far, "hello")
		if c := r.Session.Read(t.Context(), session.ReadRequest{NoWait: true}); string(c.Data) != "hello" {
			t.Errorf("read %q", c.Data)
		}
		if s, err := m.Get(r.Session.ID()); err != nil || s != r.Session {
			t.Errorf("Get: %v, %v", s, err)
		}
		if l := m.List(); len(l) != 1 || l[0].Host != "web1" || l[0].Protocol != "test" || l[0].Lease == nil {
			t.Errorf("sessions = %+v, want web1, locked, over protocol test", l)
		}
		if e := seen.Of(term.VerbOpen); len(e) != 1 || e[0].Actor.Task != "t1" || e[0].Session != r.Session.ID() {
			t.Errorf("events %+v", e)
		}
		if !slices.Equal(m.Protocols(), []string{"test"}) {
			t.Errorf("protocols %q", m.Protocols())
		}
	})
}

func TestOpenFails(t *testing.T) {
	refused := &term.Error{Op: "dial", Kind: term.ConnectFailed, Msg: "refused"}
	for _, c := range []struct {
		name string
		dial term.Dialer
		req  session.OpenRequest
		kind term.Kind
	}{
		{"protocol", dialed(nil), session.OpenRequest{Target: term.Target{Protocol: "gopher"}}, term.Unsupported},
		{"lock without a task", dialed(nil), session.OpenRequest{Target: term.Target{Protocol: "test"}, LockTTL: time.Minute}, term.InvalidArgument},
		{"dial", func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			return nil, refused
		}, target("web1"), term.ConnectFailed},
		{"foreign error", func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			return nil, io.EOF
		}, target("web1"), term.ConnectFailed},
		{"panic", func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) { panic("dial") }, target("web1"), term.Internal},
		{"panic in Describe", func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			return undescribed{}, nil
		}, target("web1"), term.Internal},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := manage(t, c.dial, session.Config{MaxSessions: 1})
				r, err := m.Open(t.Context(), c.req)
				var e *term.Error
				if !errors.As(err, &e) || e.Kind != c.kind || e.Op != "open" || r.Session != nil {
					t.Fatalf("%+v, %v", r, err)
				}
				for _, i := range m.List() { // listed with its end, but not counted
					if i.State != session.Failed || i.End.Err == nil {
						t.Errorf("session = %+v, want it failed, with its error", i)
					}
				}
			})
		})
	}
}

type undescribed struct{ term.Transport }

func (undescribed) Describe() term.Description { panic("describe") }
func (undescribed) Close() error               { return nil }

func TestOpenCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manage(t, func(ctx context.Context, _ term.Target, _ term.Prompter, _ term.Approve) (term.Transport, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, session.Config{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var err error
		if took := since(func() { _, err = m.Open(ctx, target("web1")) }); took != time.Second {
			t.Errorf("took %v", took)
		}
		wantKind(t, err, term.Canceled)
		if l := m.List(); len(l) != 1 || l[0].State != session.Closed {
			t.Errorf("sessions after a canceled opening = %+v, want one, closed", l)
		}
	})
}

// A dialer that comes too late has its terminal closed.
func TestCloseWhileDialing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := bufpipe.New(0)
		m := manage(t, func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			time.Sleep(time.Minute)
			return &plain{ReadWriteCloser: near}, nil
		}, session.Config{})
		req := target("web1")
		req.Wait = time.Second
		r, err := m.Open(t.Context(), req)
		if err != nil || r.State != session.Connecting {
			t.Fatalf("%+v, %v", r, err)
		}
		if took := since(func() { r.Session.Close(t.Context(), session.CloseOptions{Force: true}) }); took > time.Second {
			t.Errorf("took %v", took)
		}
		if _, err := far.Read(make([]byte, 1)); err != io.EOF || r.Session.State() != session.Closed {
			t.Errorf("%v, %s", err, r.Session.State())
		}
	})
}

func TestMaxSessionsAndRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen diary
		m := manage(t, dialed(nil), session.Config{MaxSessions: 2, Retention: time.Minute, Observers: []term.Observer{&seen}})
		first := opened(t, m, "a")
		time.Sleep(time.Second)
		opened(t, m, "b")
		_, err := m.Open(t.Context(), target("c"))
		if e := wantKind(t, err, term.LimitExceeded); term.FactOf[term.LimitReached](e).Limit != term.LimitSessions ||
			term.FactOf[term.LimitReached](e).Value != 2 {
			t.Errorf("details = %+v, want a limit of 2 sessions", e.Facts)
		}
		if e := seen.Of(term.VerbOpen); len(e) != 3 || !errors.Is(e[2].Refused, term.LimitExceeded) {
			t.Errorf("open events = %+v, want the third refused with LimitExceeded", e)
		}
		first.Close(t.Context(), session.CloseOptions{})
		opened(t, m, "c")
		if l := m.List(); len(l) != 3 || l[0].ID != first.ID() || l[0].State != session.Closed || l[1].Host != "b" {
			t.Errorf("sessions = %+v, want three: the first closed, b the second", l)
		}
		time.Sleep(59 * time.Second)
		if _, err := m.Get(first.ID()); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Second)
		_, err = m.Get(first.ID())
		wantKind(t, err, term.NotFound)
		if l := m.List(); len(l) != 2 {
			t.Errorf("sessions = %+v, want two", l)
		}
	})
}

// Events in one session do not affect the others.
func TestSessionsAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := make(chan net.Conn, 1)
		m := manage(t, func(ctx context.Context, tg term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
			if tg.Host == "bad" {
				return &plain{ReadWriteCloser: &broken{panic: true}}, nil
			}
			return dialed(far)(ctx, tg, p, nil)
		}, session.Config{})
		good := opened(t, m, "good")
		m.Open(t.Context(), target("bad"))
		synctest.Wait()
		put(t, <-far, "alive")
		if c := good.Read(t.Context(), session.ReadRequest{NoWait: true}); string(c.Data) != "alive" ||
			good.State() != session.Open {
			t.Errorf("%q, %s", c.Data, good.State())
		}
	})
}

func TestManagerClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manage(t, func(ctx context.Context, tg term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
			switch tg.Host {
			case "slow":
				<-ctx.Done()
				return nil, ctx.Err()
			case "asks":
				_, err := p.Prompt(ctx, term.Prompt{Text: "Password: "})
				return nil, err
			}
			return dialed(nil)(ctx, tg, p, nil)
		}, session.Config{MaxSessions: 200})
		for i := range 100 {
			opened(t, m, fmt.Sprint("host", i))
		}
		if _, err := m.Open(t.Context(), target("asks")); err != nil {
			t.Fatal(err)
		}
		opening := make(chan error, 1)
		go func() { _, err := m.Open(t.Context(), target("slow")); opening <- err }()
		synctest.Wait()
		if took := since(func() { m.Close(t.Context()) }); took != 0 {
			t.Errorf("took %v", took)
		}
		wantKind(t, <-opening, term.Canceled)
		l := m.List()
		for _, i := range l {
			if i.State != session.Closed || i.End.Reason != "closed by ptyctl, which is shutting down" {
				t.Fatalf("session = %+v, want it closed by the shutdown", i)
			}
		}
		if len(l) != 102 {
			t.Errorf("%d sessions", len(l))
		}
		_, err := m.Open(t.Context(), target("late"))
		wantKind(t, err, term.Canceled)
		m.Close(t.Context()) // twice
	})
}

func TestManagerCloseOfDeafTransports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deaf{make(chan struct{})}
		m := manage(t, func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			return &plain{ReadWriteCloser: d}, nil
		}, session.Config{})
		for range 10 {
			opened(t, m, "deaf")
		}
		if took := since(func() { m.Close(t.Context()) }); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
		close(d.released)
	})
}

// Opening and shutting down at the same time leaves no session, in either order.
func TestOpenWhileClosing(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			m := manage(t, dialed(nil), session.Config{})
			done := make(chan struct{})
			for i := range 10 {
				go func() { m.Open(t.Context(), target(fmt.Sprint(i))); done <- struct{}{} }()
			}
			go func() { m.Close(t.Context()); done <- struct{}{} }()
			for range 11 {
				<-done
			}
			for _, i := range m.List() {
				if !i.State.Ended() {
					t.Fatalf("%s is %s", i.ID, i.State)
				}
			}
		})
	}
}

func TestNewID(t *testing.T) {
	shape := regexp.MustCompile(`^([a-z0-9](?:[a-z0-9.-]{0,22}[a-z0-9])?)-[a-z2-7]{8}$`)
	for host, want := range map[string]string{
		"web1":                           "web1",
		"WEB1.Example.com":               "web1.example.com",
		"a.very.long.host.name.example":  "a.very.long.host.name.ex",
		"twenty-three-characters.e.com":  "twenty-three-characters",
		"2001:db8::1":                    "2001-db8--1",
		"fe80::1%eth0":                   "fe80--1-eth0",
		"::1":                            "1",
		"::":                             "session",
		"":                               "session",
		"日本":                             "session",
		strings.Repeat("日", 30):          "session",
		"münchen":                        "m-nchen",
		"../../etc/passwd":               "etc-passwd",
		"a\x00b\nc":                      "a-b-c",
		"\xff\xfe":                       "session",
		"-rf":                            "rf",
		strings.Repeat(".", 40):          "session",
		strings.Repeat("-", 23) + "abcd": "a",
	} {
		id := session.NewID(host)
		if m := shape.FindStringSubmatch(id); m == nil || m[1] != want {
			t.Errorf("NewID(%q) = %q, want %s-xxxxxxxx", host, id, want)
		}
	}
	seen := make(map[string]bool)
	for range 10_000 {
		id := session.NewID("web1")
		if seen[id] {
			t.Fatalf("%s twice", id)
		}
		seen[id] = true
	}
}
