package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/internal/leaktest"
	"ptyctl/session"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/term"
)

// A login dials by asking questions.
type login struct {
	questions []string
	answers   []string
	err       error // of the last question
}

func (l *login) dial(ctx context.Context, _ term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
	for i, q := range l.questions {
		a, err := p.Prompt(ctx, term.Prompt{Kind: term.PromptChallenge, Text: q, Index: i + 1, Of: len(l.questions)})
		if err != nil {
			l.err = err
			return nil, err
		}
		l.answers = append(l.answers, a)
	}
	near, _ := bufpipe.New(0)
	return &plain{ReadWriteCloser: near}, nil
}

func answer(s *session.Session, text string) (session.WriteResult, error) {
	return s.Write(context.Background(), []byte(text), session.WriteOptions{})
}

func TestPromptsAreAnsweredByWrite(t *testing.T) {
	for _, c := range []struct{ typed, want string }{
		{typed + "\r", typed},
		{typed + "\n", typed},
		{typed + "\r\n", typed},
		{typed, typed},
		{typed + "\n\n", typed + "\n"},
		{typed + "\r\r", typed + "\r"},
		{"\r", ""},
		{"", ""},
		{" a b \r", " a b "},
		{"\x03x", "\x03x"},
	} {
		t.Run(strings.ReplaceAll(fmt.Sprintf("%q", c.typed), typed, "secret"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen diary
				var journal []term.Event
				var log bytes.Buffer
				const code = "code-1138"
				leaktest.Secret(t, code)
				l := login{questions: []string{"Password: ", "Code: "}}
				m := manage(t, l.dial, session.Config{
					Observers: []term.Observer{&seen}, Logger: logTo(t, &log),
					Journal: func(e term.Event) error { journal = append(journal, e); return nil },
				})
				r, err := m.Open(t.Context(), target("web1"))
				if err != nil || r.State != session.Authenticating || r.Prompt == nil || r.Prompt.Text != "Password: " {
					t.Fatalf("%+v, %v", r, err)
				}
				s := r.Session
				if w, err := answer(s, c.typed); err != nil || !w.Answered || w.Written != len(c.typed) {
					t.Fatalf("%+v, %v", w, err)
				}
				synctest.Wait()
				if q := s.Question(); q == nil || q.Prompt().Text != "Code: " || s.State() != session.Authenticating {
					t.Fatalf("second question %+v in state %s", q, s.State())
				}
				if _, err := answer(s, code+"\r"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if i := s.Info(); i.State != session.Open || i.Prompt != nil || i.Typed {
					t.Fatalf("info after the answer = %+v, want it open, without question and nothing typed", i)
				}
				if len(l.answers) != 2 || l.answers[0] != c.want || l.answers[1] != code {
					t.Errorf("answers %q", l.answers)
				}
				shown := s.Read(t.Context(), session.ReadRequest{NoWait: true}).Data
				if string(shown) != "Password: \r\nCode: \r\n" {
					t.Errorf("output %q", shown)
				}
				if e := seen.Of(term.VerbAnswer); len(e) != 2 || e[0].Size != len(c.typed) || !e[0].Sensitive || e[0].Data != nil {
					t.Errorf("events %+v", e)
				}
				m.Close(t.Context())
				everything := fmt.Sprintf("%+v %+v %s", seen.All(), journal, &log)
				if strings.Contains(everything, typed) || strings.Contains(everything, code) {
					t.Errorf("an answer shows in %s", everything)
				}
			})
		})
	}
}

func TestPromptEnds(t *testing.T) {
	for _, c := range []struct {
		name  string
		do    func(s *session.Session)
		kind  term.Kind // of the dialer's error
		state session.State
		took  time.Duration
	}{
		{"declined", func(s *session.Session) { answer(s, "\x03") }, term.Canceled, session.Failed, 0},
		{"not answered", func(s *session.Session) { <-s.Ended() }, term.AuthFailed, session.Failed, 7 * time.Second},
		{"closed", func(s *session.Session) { s.Close(task("t1"), session.CloseOptions{}) }, "", session.Closed, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := login{questions: []string{"Password: "}}
				// The idle timeout is for open sessions.
				m := manage(t, l.dial, session.Config{PromptTimeout: 7 * time.Second, IdleTimeout: time.Second})
				r, err := m.Open(t.Context(), target("web1"))
				if err != nil {
					t.Fatal(err)
				}
				took := since(func() { c.do(r.Session); <-r.Session.Ended() })
				if took != c.took {
					t.Errorf("took %v", took)
				}
				if l.err == nil || c.kind != "" && !errors.Is(l.err, c.kind) {
					t.Errorf("the dialer got %v", l.err)
				}
				if i := r.Session.Info(); i.State != c.state || i.Prompt != nil {
					t.Errorf("state %s, prompt %v", i.State, i.Prompt)
				}
				_, err = answer(r.Session, "late")
				wantKind(t, err, term.AlreadyClosed)
			})
		})
	}
}

func TestPromptAnswersRace(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			l := login{questions: []string{"Password: "}}
			hold := make(chan struct{}) // both have seen the question before either answers
			m := manage(t, l.dial, session.Config{Gate: func(_ context.Context, a term.Action) (term.Ruling, error) {
				if a.Verb == term.VerbAnswer {
					<-hold
				}
				return term.Ruling{}, nil
			}})
			r, err := m.Open(t.Context(), target("web1"))
			if err != nil {
				t.Fatal(err)
			}
			results := make(chan error, 2)
			for _, text := range []string{"one", "two"} {
				go func() { _, err := answer(r.Session, text); results <- err }()
			}
			synctest.Wait()
			close(hold)
			first, second := <-results, <-results
			if first == nil {
				first, second = second, first
			}
			wantKind(t, first, term.Busy)
			synctest.Wait()
			if second != nil || len(l.answers) > 1 {
				t.Errorf("the other: %v; answers %q", second, l.answers)
			}
		})
	}
}

// A caller that does not hold the lock cannot answer either.
func TestPromptIsLocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := login{questions: []string{"Password: "}}
		m := manage(t, l.dial, session.Config{})
		req := target("web1")
		req.LockTTL = time.Minute
		r, err := m.Open(task("t1"), req)
		if err != nil || r.Lease == nil {
			t.Fatalf("%+v, %v", r, err)
		}
		_, err = r.Session.Write(task("t2"), []byte(typed+"\r"), session.WriteOptions{})
		if e := wantKind(t, err, term.Locked); strings.Contains(e.Error(), typed) || r.Session.Question() == nil {
			t.Errorf("%v, question %v", e, r.Session.Question())
		}
		if w, err := r.Session.Write(task("t1"), []byte("x\r"), session.WriteOptions{}); err != nil || !w.Answered {
			t.Errorf("the holder: %+v, %v", w, err)
		}
	})
}

// An answer that was accepted counts, though the time for it runs out at the same moment.
func TestPromptAnsweredAtTheDeadline(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			l := login{questions: []string{"Password: "}}
			m := manage(t, l.dial, session.Config{PromptTimeout: time.Second})
			r, err := m.Open(t.Context(), target("web1"))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			_, err = answer(r.Session, "x")
			synctest.Wait()
			if open := r.Session.State() == session.Open; open != (err == nil) {
				t.Fatalf("answer: %v, state %s", err, r.Session.State())
			}
		})
	}
}

func TestOpeningSessionIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := login{questions: []string{"Password: "}}
		var m *session.Manager
		wait := make(chan struct{})
		m = manage(t, func(ctx context.Context, tg term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
			<-wait
			return l.dial(ctx, tg, p, nil)
		}, session.Config{})
		req := target("web1")
		req.Wait = time.Second
		var r session.OpenResult
		var err error
		if took := since(func() { r, err = m.Open(t.Context(), req) }); err != nil || r.State != session.Connecting ||
			took != time.Second {
			t.Fatalf("%+v, %v after %v", r, err, took)
		}
		_, err = answer(r.Session, "x")
		wantKind(t, err, term.Busy)
		close(wait)
		synctest.Wait()
		err = r.Session.Resize(t.Context(), 80, 24)
		if e := wantKind(t, err, term.Busy); term.FactOf[term.Prompt](e).Text != "Password: " {
			t.Errorf("details %+v", e.Facts)
		}
		_, err = r.Session.Exec(t.Context(), session.ExecRequest{Command: "id"})
		wantKind(t, err, term.Busy)
	})
}

// Input of an open terminal is never taken for an answer.
func TestPromptAfterOpenIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, 0, session.Options{})
		_, err := s.Prompt(t.Context(), term.Prompt{Text: "Password: "})
		wantKind(t, err, term.Unsupported)
		if i := s.Info(); i.State != session.Open || i.Prompt != nil || i.Buffer.End != 0 {
			t.Errorf("info = %+v, want it open, without question or output", i)
		}
	})
}

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
		name := r.Session.Question()
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
		password := r.Session.Question()
		for what, err := range map[string]error{
			"answered": name.Answer(t.Context(), []byte("bob")), "declined": name.Decline(t.Context()),
		} {
			if !errors.Is(err, term.Busy) || !strings.Contains(err.Error(), "first") {
				t.Errorf("%s too late: %v", what, err)
			}
		}
		if closed(password.Over()) || r.Session.Question().Prompt().Text != "Password: " {
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
		if r.Session.Question() != nil || r.Session.State() != session.Open {
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
			if err := s.Question().Decline(t.Context()); err != nil {
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
				a := r.Session.Question()
				end(r.Session)
				synctest.Wait()
				if !closed(a.Over()) || r.Session.Question() != nil || l.err == nil {
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
		if err := r.Session.Question().Answer(t.Context(), []byte("\x03")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if r.Session.State() != session.Open {
			t.Errorf("it is %s", r.Session.State())
		}
	})
}

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

// Other spellings of one place, and opens at the same time, are counted together: the plan names the place. A
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
