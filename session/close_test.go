package session_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

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
		if err := s.MayClose(t.Context(), false); err != nil {
			t.Error(err)
		}
		if _, err := s.Lock(task("t1"), time.Minute); err != nil {
			t.Fatal(err)
		}
		wantKind(t, s.MayClose(task("t2"), false), term.Locked)
		wantKind(t, s.MayClose(t.Context(), false), term.Locked)
		if err := s.MayClose(task("t1"), false); err != nil {
			t.Error(err)
		}
		deny = true
		wantKind(t, s.MayClose(task("t1"), false), term.PolicyDenied)
		if e := seen.Of(term.VerbClose); len(e) != 3 || !errors.Is(e[0].Refused, term.Locked) ||
			!errors.Is(e[2].Refused, term.PolicyDenied) {
			t.Errorf("events %+v", e)
		}
		if s.State() != session.Open {
			t.Errorf("asking made it %s", s.State())
		}
		s.Close(task("t2"), session.CloseOptions{})
		if err := s.MayClose(task("t3"), false); err != nil {
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
