package session_test

import (
	"os"
	"regexp"
	"testing"
	"testing/synctest"

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
