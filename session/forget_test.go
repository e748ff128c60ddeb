package session

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/buffer"
	"ptyctl/internal/bufpipe"
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
		x.deadline.end()
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
