package daemon

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
)

// pipes is a listener in memory.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// greeted connects and says hello.
func (p *pipes) greeted(t *testing.T, h Hello) (net.Conn, Welcome, error) {
	t.Helper()
	near, far := bufpipe.New(1 << 16)
	select {
	case p.conns <- far:
	case <-p.done:
		t.Fatal("the server has ended, want it to accept")
	}
	w, _, err := greet(near, h)
	return near, w, err
}

// The server ends once it has had neither a client nor a session for its time, and not before.
func TestServerIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sessions atomic.Int64
		changed := make(chan struct{}, 1)
		l := newPipes()
		s := NewServer(Options{
			Serve: func(_ context.Context, v Visit) error {
				_, err := bufio.NewReader(v.Conn).ReadByte()
				return err
			},
			Sessions: func() int { return int(sessions.Load()) }, Changed: changed, Idle: time.Minute,
		})
		ended := make(chan error, 1)
		go func() { ended <- s.Run(t.Context(), l) }()
		alive := func(after time.Duration, want bool, when string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			select {
			case err := <-ended:
				if want || err != nil {
					t.Fatalf("%s: Run = %v, want it alive %t", when, err, want)
				}
			default:
				if !want {
					t.Fatalf("%s: Run goes on, want it ended", when)
				}
			}
		}
		alive(59*time.Second, true, "before its time")
		c, w, err := l.greeted(t, Hello{Ask: AskServe, Engine: Engine(nil).Name()})
		if err != nil || !strings.HasPrefix(w.Client, "shim-") {
			t.Fatalf("greet = %+v, %v, want a client's name", w, err)
		}
		alive(time.Hour, true, "with a client")
		sessions.Store(1)
		changed <- struct{}{}
		_ = c.Close()
		alive(time.Hour, true, "with a session")
		sessions.Store(0)
		changed <- struct{}{}
		alive(59*time.Second, true, "a moment after the session")
		alive(2*time.Second, false, "without both")
	})
}

// A request that the server does not serve is refused with a reason.
func TestServerRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		s := NewServer(Options{
			Serve: func(context.Context, Visit) error { return nil }, Engine: Engine{{"a", "1"}},
			Presents: func(p Presents) error {
				if p.Results != "" {
					return errors.New("no such results")
				}
				return nil
			},
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx, l) }()
		for _, test := range []struct {
			h    Hello
			says string
		}{
			{Hello{Ask: "dance\x1b"}, `"dance "`},
			{Hello{Ask: AskServe, Engine: "another"}, "its configuration is another"},
			{Hello{Ask: AskServe, Engine: Engine{{"a", "1"}}.Name(), Presents: Presents{Results: "new"}}, "no such results"},
			{Hello{Ask: AskStop}, "cannot be managed"},
			{Hello{Ask: AskReload}, "cannot be managed"},
		} {
			c, w, err := l.greeted(t, test.h)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("greet(%+v) = %+v, %v, want a refusal that says %q", test.h, w, err, test.says)
			}
			_ = c.Close()
		}
		// Another protocol; greet always says its own.
		near, far := bufpipe.New(1 << 16)
		l.conns <- far
		if err := writeLine(near, Hello{Protocol: 99, Ask: AskStatus}); err != nil {
			t.Fatal(err)
		}
		var w Welcome
		if err := readLine(bufio.NewReader(near), &w); err != nil || !strings.Contains(w.Refused, "protocol 1, and this program 99") {
			t.Errorf("a hello of protocol 99: %+v, %v, want a refusal that names both", w, err)
		}
		_ = near.Close()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v after the end of its context, want nil", err)
		}
	})
}

// After a change of the configuration only clients that have it are served, at its socket. The one before is closed, or
// left to the service manager.
func TestServerChange(t *testing.T) {
	for _, activated := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a, b := Engine{{"policy.deny", "a"}}, Engine{{"policy.deny", "b"}}
			s := NewServer(Options{Serve: func(context.Context, Visit) error { return nil }, Engine: a})
			first, second, third := newPipes(), newPipes(), newPipes()
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				if activated {
					ended <- s.Run(ctx, inherited{first})
				} else {
					ended <- s.Run(ctx, first)
				}
			}()
			synctest.Wait()
			change := func(to Engine, l *pipes) {
				t.Helper()
				if err := s.Change(to, func() (net.Listener, error) { return l, nil }); err != nil {
					t.Fatalf("Change(%v) = %v", to, err)
				}
				synctest.Wait()
			}
			greet := func(l *pipes, e Engine, served bool) {
				t.Helper()
				c, w, err := l.greeted(t, Hello{Ask: AskServe, Engine: e.Name()})
				if (err == nil) != served || !served && !strings.Contains(err.Error(), "its configuration is another") {
					t.Errorf("a client with %v: %+v, %v, want it served %t", e, w, err, served)
				}
				_ = c.Close()
			}
			closed := func(l *pipes) bool {
				select {
				case <-l.done:
					return true
				default:
					return false
				}
			}
			greet(first, a, true)
			change(a, nil) // no change
			greet(first, a, true)
			change(b, second)
			if closed(first) == activated {
				t.Errorf("the first socket is closed %t, activated %t", closed(first), activated)
			}
			greet(second, b, true)
			greet(second, a, false)
			if activated {
				greet(first, a, false)
			}
			change(a, third) // back, where there is no socket any more
			if !closed(second) {
				t.Error("the second socket is open, want it closed")
			}
			back := third
			if activated {
				back = first
			}
			greet(back, a, true)
			c, w, err := back.greeted(t, Hello{Ask: AskStatus})
			if err != nil || w.Engine.Name() != a.Name() {
				t.Errorf("status = %+v, %v, want the present configuration %v", w, err, a)
			}
			_ = c.Close()
			stop()
			if err := <-ended; err != nil {
				t.Errorf("Run = %v after the end of its context, want nil", err)
			}
		})
	}
}

// Where the new configuration gets no socket, people still find the daemon, and no client of the old one is served.
func TestServerChangeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		s := NewServer(Options{Serve: func(context.Context, Visit) error { return nil }})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx, l) }()
		synctest.Wait()
		taken := func() (net.Listener, error) { return nil, ErrRuns }
		if err := s.Change(Engine{{"a", "1"}}, taken); !errors.Is(err, ErrRuns) {
			t.Errorf("Change = %v, want ErrRuns", err)
		}
		for ask, served := range map[Ask]bool{AskStatus: true, AskServe: false} {
			c, w, err := l.greeted(t, Hello{Ask: ask, Engine: Engine(nil).Name()})
			if (err == nil) != served {
				t.Errorf("%s = %+v, %v, want it answered %t", ask, w, err, served)
			}
			_ = c.Close()
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v after the end of its context, want nil", err)
		}
	})
}

// However many connections a program makes, the server reads few at a time, and serves a bounded number of clients; a
// client above the bound gets an error that says so.
func TestServerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		s := NewServer(Options{Serve: func(ctx context.Context, v Visit) error {
			_, err := v.Conn.Read(make([]byte, 1))
			return err
		}})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx, l) }()
		var silent []net.Conn
		for range maxGreetings {
			near, far := bufpipe.New(1 << 16)
			l.conns <- far
			silent = append(silent, near)
		}
		near, far := bufpipe.New(1 << 16)
		l.conns <- far // accepted, and not read before one of the others has said hello or has had its time
		if err := writeLine(near, Hello{Protocol: Protocol, Ask: AskStatus}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		begin := time.Now()
		var w Welcome
		if err := readLine(bufio.NewReader(near), &w); err != nil || time.Since(begin) != greetWait {
			t.Errorf("a hello behind %d silent connections: %v after %v, want an answer after %v", maxGreetings, err,
				time.Since(begin), greetWait)
		}
		for _, c := range append(silent, near) {
			_ = c.Close()
		}
		var clients []net.Conn
		for n := range maxClients + 1 {
			c, _, err := l.greeted(t, Hello{Ask: AskServe, Engine: Engine(nil).Name()})
			clients = append(clients, c)
			if n < maxClients && err != nil || n == maxClients && (err == nil || !strings.Contains(err.Error(), "256 clients")) {
				t.Fatalf("client %d: %v, want %d served, and then a refusal", n, err, maxClients)
			}
		}
		for _, c := range clients {
			_ = c.Close()
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v after the end of its context, want nil", err)
		}
	})
}

// A program that asks and does not read the answer keeps it for a while only.
func TestServerUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		s := NewServer(Options{Shims: func() []Shim {
			all := make([]Shim, 200)
			for i := range all {
				all[i].Folder = strings.Repeat("f", 1000)
			}
			return all
		}})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx, l) }()
		near, far := bufpipe.New(1 << 16)
		l.conns <- far
		if err := writeLine(near, Hello{Protocol: Protocol, Ask: AskStatus}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(greetWait + time.Second)
		if n := len(s.greetings); n != 0 {
			t.Errorf("%d connections are being answered, want none after %v", n, greetWait)
		}
		if text, err := io.ReadAll(near); err != nil || len(text) > 1<<16 {
			t.Errorf("the answer has %d bytes, %v, want it cut off", len(text), err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v after the end of its context, want nil", err)
		}
	})
}
