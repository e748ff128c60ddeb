package session_test

import (
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/internal/leaktest"
	"ptyctl/session"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/term"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

const typed = sessiontest.Typed

// What all tests of sessions share.
type (
	plain = sessiontest.Plain
	shell = sessiontest.Shell
	diary = sessiontest.Diary

	execFunc = sessiontest.ExecFunc
)

var (
	watch     = sessiontest.Watch
	logTo     = sessiontest.LogTo
	tellState = sessiontest.TellState
	newTeller = sessiontest.NewTeller
	start     = sessiontest.Start
	startExec = sessiontest.StartExec
	manage    = sessiontest.Manage
	target    = sessiontest.Target
	dialed    = sessiontest.Dialed
	put       = sessiontest.Put
	take      = sessiontest.Take
	task      = sessiontest.Task
	re        = sessiontest.Re
	wantKind  = sessiontest.WantKind
	since     = sessiontest.Since
	widePipe  = sessiontest.WidePipe
	run       = sessiontest.Run
	calls     = sessiontest.Calls
)

func TestSetExpect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(
			t,
			0,
			session.Options{
				Expect: session.Expect{Prompt: re("a"), Pagers: []*regexp.Regexp{re("b")}, Errors: []*regexp.Regexp{re("c")}},
			},
		)
		if err := s.SetExpect(t.Context(), session.Expect{Prompt: re("d"), Pagers: []*regexp.Regexp{}}); err != nil {
			t.Fatal(err)
		}
		if e := s.Expect(); e.Prompt.String() != "d" || len(e.Pagers) != 0 || len(e.Errors) != 1 {
			t.Errorf("expectations = %+v, want prompt \"d\", no pagers and one error pattern", e)
		}
		s.Close(t.Context(), session.CloseOptions{})
		wantKind(t, s.SetExpect(t.Context(), session.Expect{}), term.AlreadyClosed)
	})
}

// TestEndCode: each way in which a session ends has a code, in its Info and in the errors of later calls.
func TestEndCode(t *testing.T) {
	ended := func(exit term.Exit, lost, err error) term.Dialer {
		return func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			near, _ := bufpipe.New(0)
			return &shell{Plain: plain{ReadWriteCloser: &broken{ReadWriteCloser: near, err: err}}, Exit: exit, Lost: lost}, nil
		}
	}
	refused := func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
		return nil, &term.Error{Kind: term.AuthFailed, Msg: "wrong key"}
	}
	stays := sessiontest.Dialed(nil)
	for _, tc := range []struct {
		want  session.EndCode
		dial  term.Dialer
		c     session.Config
		r     session.OpenRequest
		after func(m *session.Manager, s *session.Session)
	}{
		{want: session.EndExited, dial: ended(term.Exit{Known: true, Code: 3}, nil, io.EOF)},
		{want: session.EndKilled, dial: ended(term.Exit{Known: true, Code: 137, Signal: "KILL"}, nil, io.EOF)},
		{want: session.EndRemoteClosed, dial: ended(term.Exit{}, nil, io.EOF)},
		{want: session.EndLost, dial: ended(term.Exit{}, &term.Error{Kind: term.RemoteClosed, Msg: "no answer"}, io.EOF)},
		{want: session.EndLost, dial: ended(term.Exit{}, nil, errors.New("reset"))},
		{want: session.EndNotOpened, dial: refused},
		{want: session.EndFault, dial: func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			panic("in a dialer")
		}},
		{want: session.EndClosed, dial: stays, after: func(_ *session.Manager, s *session.Session) {
			s.Close(context.Background(), session.CloseOptions{})
		}},
		{want: session.EndIdle, dial: stays, r: session.OpenRequest{IdleTimeout: time.Minute}},
		{want: session.EndMaxAge, dial: stays, c: session.Config{MaxAge: time.Hour}},
		{want: session.EndMaxAge, dial: stays, r: session.OpenRequest{Life: time.Minute}},
		{want: session.EndShutdown, dial: stays, after: func(m *session.Manager, _ *session.Session) { m.Close(context.Background()) }},
	} {
		t.Run(string(tc.want), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen diary
				tc.c.Observers = append(tc.c.Observers, &seen)
				tc.c.Retention = 24 * time.Hour
				m := sessiontest.Manage(t, tc.dial, tc.c)
				tc.r.Target.Protocol = "test"
				o, _ := m.Open(t.Context(), tc.r)
				s := o.Session
				if s == nil { // it never opened, and the list has it
					i := m.List()[0]
					s, _ = m.Get(i.ID)
				}
				if code := s.Info().End.Code; !s.State().Ended() && code != "" {
					t.Errorf("the code of a session that lives = %q, want none", code)
				}
				if tc.after != nil {
					tc.after(m, s)
				}
				<-s.Ended()
				if i := s.Info(); i.End.Code != tc.want || i.End.Reason == "" {
					t.Errorf("End = %+v, want code %q", i.End, tc.want)
				}
				_, err := answer(s, "x")
				if got := term.FactOf[term.Ended](err).Code; got != string(tc.want) {
					t.Errorf("Write after the end = %v with code %q, want %q", err, got, tc.want)
				}
			})
		})
	}
}
