package session_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"ptyctl/session"
	"ptyctl/term"
)

func TestPaste(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		paste := func(data, want string, warnings int) {
			t.Helper()
			r, err := s.Write(t.Context(), []byte(data), session.WriteOptions{Paste: true})
			if err != nil || r.Written != len(want) || len(r.Warnings) != warnings {
				t.Fatalf("%+v, %v", r, err)
			}
			if got := take(t, far, len(want)); got != want {
				t.Errorf("sent %q, want %q", got, want)
			}
		}
		paste("one", "one", 0)
		paste("one\n", "one\r", 0)
		paste("one\ntwo\r\nthree\r", "one\rtwo\rthree\r", 1)
		put(t, far, "\x1b[?2004h$ ")
		paste("one\n\ttwo\r\n", "\x1b[200~one\r\ttwo\r\x1b[201~", 0)
		if _, err := s.Write(t.Context(), []byte("x\x1b[201~rm -rf /\r"), session.WriteOptions{Paste: true}); err == nil {
			t.Fatal("the paste was ended from within")
		} else if e := wantKind(t, err, term.InvalidArgument); e.Details.Part != term.FieldData {
			t.Errorf("%+v", e)
		}
		put(t, far, "\x1b[?2004l\r")
		paste("one", "one", 0)
	})
}

// The Gate sees a paste as it goes out, and a question of the login gets the plain answer.
func TestPasteIsJudgedAsItGoesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var judged []string
		s, far := start(t, 0, session.Options{Gate: func(_ context.Context, a term.Action) (term.Ruling, error) {
			judged = append(judged, string(a.Data))
			return term.Ruling{}, nil
		}})
		put(t, far, "\x1b[?2004h")
		if _, err := s.Write(t.Context(), []byte("a\n"), session.WriteOptions{Paste: true}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(judged, "|"); got != "\x1b[200~a\r\x1b[201~" {
			t.Errorf("judged %q", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan string, 1)
		near, _ := widePipe()
		m := manage(t, func(ctx context.Context, _ term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
			a, err := p.Prompt(ctx, term.Prompt{Text: "Password: "})
			answer <- a
			return &plain{ReadWriteCloser: near}, err
		}, session.Config{})
		opened, err := m.Open(t.Context(), target("web1"))
		if err != nil {
			t.Fatal(err)
		}
		if r, err := opened.Session.Write(t.Context(), []byte(typed+"\n"), session.WriteOptions{Paste: true}); err != nil ||
			!r.Answered {
			t.Fatalf("%+v, %v", r, err)
		}
		if got := <-answer; got != typed {
			t.Errorf("answered %q", got)
		}
	})
}
