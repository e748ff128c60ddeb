package session_test

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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

// Other spellings of one place, and opens at the same time, are counted together: the place is what the plan says. A
// login that has begun to ask goes on asking, and the same address behind another host is another place.
func TestUnansweredLoginsByPlan(t *testing.T) {
	direct := func(host, addr string) term.Plan {
		return term.Plan{Hops: []term.PlannedHop{{
			Alias: host, Host: host, Port: 22, User: "alice", Addresses: []netip.Addr{netip.MustParseAddr(addr)},
		}}}
	}
	behind := func(bastion string) term.Plan {
		p := direct(bastion, bastion)
		p.Hops = append(p.Hops, term.PlannedHop{Alias: "db", Host: "10.9.9.9", Port: 22, User: "alice"})
		return p
	}
	plans := map[string]term.Plan{
		"web1": direct("web1.example", "192.0.2.1"), "192.0.2.1": direct("192.0.2.1", "192.0.2.1"),
		"WEB1": direct("WEB1.example", "192.0.2.1"), "web2": direct("web2", "192.0.2.2"),
		"db-a": behind("192.0.2.10"), "db-b": behind("192.0.2.11"),
	}
	synctest.Test(t, func(t *testing.T) {
		m := session.NewManager(session.Config{Dialers: map[string]term.Dialer{"ssh": func(
			ctx context.Context, target term.Target, p term.Prompter, approve term.Approve,
		) (term.Transport, error) {
			plan := plans[target.Host]
			if _, err := approve(ctx, plan); err != nil {
				return nil, err
			}
			time.Sleep(time.Second) // all connect before the first one asks
			for _, text := range []string{"Password: ", "Code: "} {
				q := term.Prompt{Kind: term.PromptChallenge, Text: text, Hop: len(plan.Hops) - 1}
				if _, err := p.Prompt(ctx, q); err != nil {
					return nil, err
				}
				time.Sleep(3 * time.Second)
			}
			return nil, term.Errorf(term.AuthFailed, "wrong")
		}}})
		defer m.Close(t.Context())
		open := func(host string) (session.OpenResult, error) {
			return m.Open(t.Context(), session.OpenRequest{Target: term.Target{Protocol: "ssh", Host: host}})
		}
		var mu sync.Mutex
		var asking []*session.Session
		refused := 0
		var opens sync.WaitGroup
		for _, host := range []string{"web1", "192.0.2.1", "WEB1", "web1", "192.0.2.1", "WEB1", "web1", "web1"} {
			opens.Go(func() {
				r, err := open(host)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && r.Prompt != nil:
					asking = append(asking, r.Session)
				case term.KindOf(err) == term.Busy && len(term.FactOf[term.Unanswered](err).Sessions) == 2:
					refused++
				default:
					t.Errorf("open %s = %+v, %v; want a question or BUSY with two sessions", host, r, err)
				}
			})
		}
		opens.Wait()
		if len(asking) != 2 || refused != 6 {
			t.Fatalf("%d asked and %d were refused; want 2 and 6", len(asking), refused)
		}
		for _, host := range []string{"web2", "db-a", "db-a", "db-b"} {
			if r, err := open(host); err != nil || r.Prompt == nil {
				t.Errorf("open %s = %+v, %v; want a question", host, r, err)
			}
		}
		_, err := open("db-a")
		sessiontest.WantKind(t, err, term.Busy)

		first := asking[0]
		if _, err := first.Write(t.Context(), []byte("x\r"), session.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if r, err := open("web1"); err != nil || r.Prompt == nil {
			t.Fatalf("open after an answer = %+v, %v; want a question", r, err)
		}
		time.Sleep(5 * time.Second) // first asks again, as the third that waits
		if q := first.Question(); q == nil || q.Prompt().Text != "Code: " {
			t.Errorf("the login that was answered asks %+v, want Code", q)
		}
	})
}
