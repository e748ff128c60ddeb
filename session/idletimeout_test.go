package session_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/session"
	"ptyctl/term"
)

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
