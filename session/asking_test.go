package session_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// closed reports whether nothing more comes of a channel.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestAskingIsOneQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen diary
		l := login{questions: []string{"Name: ", "Password: "}}
		m := manage(t, l.dial, session.Config{Observers: []term.Observer{&seen}, Retention: time.Minute})
		r, err := m.Open(t.Context(), target("web1"))
		if err != nil {
			t.Fatal(err)
		}
		name := r.Session.Asking()
		if name == nil || name.Prompt().Text != "Name: " || name.Session() != r.Session || closed(name.Over()) {
			t.Fatalf("the question is %+v", name)
		}
		// Another caller answers it by a write. An answer given to it afterwards is lost.
		if _, err := answer(r.Session, "alice\r"); err != nil {
			t.Fatal(err)
		}
		if !closed(name.Over()) {
			t.Error("the question still waits")
		}
		synctest.Wait()
		password := r.Session.Asking()
		for what, err := range map[string]error{
			"answered": name.Answer(t.Context(), []byte("bob")), "declined": name.Decline(t.Context()),
		} {
			if !errors.Is(err, term.Busy) || !strings.Contains(err.Error(), "first") {
				t.Errorf("%s too late: %v", what, err)
			}
		}
		if closed(password.Over()) || r.Session.Pending().Text != "Password: " {
			t.Errorf("the second question had the first one's answer")
		}
		// Text typed as an answer declines nothing, and a line end is not part of it.
		if err := password.Answer(t.Context(), []byte("hunter2\n")); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if got := strings.Join(l.answers, ","); got != "alice,hunter2" {
			t.Errorf("the answers were %s", got)
		}
		if r.Session.Asking() != nil || r.Session.State() != session.Open {
			t.Errorf("it is %s", r.Session.State())
		}
		if r, err = r.Again(t.Context(), time.Minute); err != nil || r.State != session.Open || r.Prompt != nil {
			t.Errorf("again: %+v, %v", r, err)
		}
		asked := seen.Of(term.VerbQuestion)
		if len(asked) != 2 || asked[0].Detail != "challenge" || asked[0].Session != r.Session.ID() ||
			len(asked[0].Data) != 0 {
			t.Errorf("told of the questions: %+v", asked)
		}
		// Its end is reported, too.
		r.Session.Close(t.Context(), session.CloseOptions{Force: true})
		synctest.Wait()
		if n := len(seen.Of(term.VerbGone)); n != 0 {
			t.Errorf("gone %d times before its time", n)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(seen.Of(term.VerbGone)); n != 1 || len(m.List()) != 0 {
			t.Errorf("gone %d times, %d listed", n, len(m.List()))
		}
	})
}

func TestAskingEndsWithItsTime(t *testing.T) {
	for name, end := range map[string]func(s *session.Session){
		"nobody answers": func(*session.Session) { time.Sleep(2 * time.Minute) },
		"declined": func(s *session.Session) {
			if err := s.Asking().Decline(t.Context()); err != nil {
				t.Error(err)
			}
		},
		"closed": func(s *session.Session) { s.Close(t.Context(), session.CloseOptions{Force: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := login{questions: []string{"Name: "}}
				m := manage(t, l.dial, session.Config{})
				r, err := m.Open(t.Context(), target("web1"))
				if err != nil {
					t.Fatal(err)
				}
				a := r.Session.Asking()
				end(r.Session)
				synctest.Wait()
				if !closed(a.Over()) || r.Session.Asking() != nil || l.err == nil {
					t.Errorf("it still waits: %v", l.err)
				}
				if err := a.Answer(t.Context(), []byte("x")); err == nil {
					t.Error("it takes an answer")
				}
				if _, err := r.Again(t.Context(), time.Minute); err == nil {
					t.Error("the open did not fail")
				}
			})
		})
	}
}

// An answer that is ctrl_c's byte is text like any other: only who declines declines.
func TestAnswerThatLooksLikeDeclining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := login{questions: []string{"Name: "}}
		m := manage(t, l.dial, session.Config{})
		r, err := m.Open(t.Context(), target("web1"))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Session.Asking().Answer(t.Context(), []byte("\x03")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if r.Session.State() != session.Open {
			t.Errorf("it is %s", r.Session.State())
		}
	})
}
