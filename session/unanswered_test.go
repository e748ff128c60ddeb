package session_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"ptyctl/session"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/term"
)

// From a caller's third unanswered login to one host and user on, an open says which sessions wait. Another host, user
// or caller is let in, and so is this one when a question is answered.
func TestUnansweredLogins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := session.NewManager(session.Config{Dialers: map[string]term.Dialer{
			"ssh": func(ctx context.Context, _ term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
				_, err := p.Prompt(ctx, term.Prompt{Kind: term.PromptPassword, Text: "Password: "})
				if err == nil {
					err = term.Errorf(term.AuthFailed, "wrong")
				}
				return nil, err
			},
		}})
		defer m.Close(t.Context())
		open := func(host, user, token string) (session.OpenResult, error) {
			ctx := term.WithActor(t.Context(), term.Actor{Transport: "http", Token: token})
			return m.Open(ctx, session.OpenRequest{Target: term.Target{Protocol: "ssh", Host: host, User: user}})
		}
		var first []string
		for range 2 {
			r, err := open("web1", "alice", "a")
			if err != nil || r.Prompt == nil {
				t.Fatalf("open = %+v, %v; want a question", r, err)
			}
			first = append(first, r.Session.ID())
		}
		_, err := open("web1", "alice", "a")
		e := sessiontest.WantKind(t, err, term.Busy)
		slices.Sort(first)
		if got := term.FactOf[term.Unanswered](e).Sessions; !slices.Equal(got, first) ||
			!strings.Contains(e.Message(), strings.Join(first, ", ")) {
			t.Errorf("the third open names %v: %s; want %v", got, e.Message(), first)
		}
		if n := m.Live(); n != 2 {
			t.Errorf("%d sessions live, want 2", n)
		}
		for _, other := range [][3]string{{"web2", "alice", "a"}, {"web1", "bob", "a"}, {"web1", "alice", "b"}} {
			if _, err := open(other[0], other[1], other[2]); err != nil {
				t.Errorf("open of %v: %v", other, err)
			}
		}
		s, _ := m.Get(first[0])
		if _, err := s.Write(t.Context(), []byte("x\r"), session.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if r, err := open("web1", "alice", "a"); err != nil || r.Prompt == nil {
			t.Errorf("open after an answer = %+v, %v; want a question", r, err)
		}
	})
}
