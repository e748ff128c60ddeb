package session

import (
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/term"

	"ptyctl/buffer"
	"ptyctl/internal/bufpipe"
)

// A call that looks at an exec's output has all of it, though the exec is forgotten meanwhile; then the memory is given back.
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
		if o := x.stdout.output(1000); string(o.Head) != "its output" || pool.Held() == before {
			t.Errorf("%+v, %d bytes held", o, pool.Held()-before)
		}
		s.execs.letGo(x)
		if pool.Held() != before {
			t.Errorf("%d bytes are still held", pool.Held()-before)
		}
		if _, err := s.execs.find("exec", x.id); err == nil {
			t.Error("it is still found")
		}
		x.release()
		x.cancel(nil)
	})
}

// Commands in the terminal give their memory back, too: those that were refused, and those whose output was fetched.
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
