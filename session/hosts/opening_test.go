package hosts_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/session/hosts"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/term"
)

// Twelve commands at once on a new host, by three names, open one session.
func TestTwelveAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, session.Config{MaxSessions: 1})
		n.plans["db"], n.plans["db1"] = direct("db", "web1"), direct("db1", "web1")
		n.dial = func(context.Context, term.Target, term.Prompter) error { time.Sleep(time.Second); return nil }
		var calls sync.WaitGroup
		var mu sync.Mutex
		used := map[*session.Session]int{}
		for i := range 12 {
			calls.Go(func() {
				s := n.mustUse(t, t.Context(), []string{"web1", "db", "db1"}[i%3])
				mu.Lock()
				defer mu.Unlock()
				used[s]++
			})
		}
		calls.Wait()
		if n.dials() != 1 || len(used) != 1 {
			t.Errorf("%d sessions were dialed, and %d used; want one", n.dials(), len(used))
		}
		// Another caller's command has a session of its own, for which there is no room.
		_, _, err := n.use(term.WithActor(t.Context(), term.Actor{Transport: "http", Token: "b"}), "web1", "")
		sessiontest.WantKind(t, err, term.LimitExceeded)
	})
}

// Commands at once on one host share no session if one would check no key, or take another way there.
func TestWaysAtOnce(t *testing.T) {
	tests := []struct {
		name   string
		change func(*term.Plan)
	}{
		{"no key is checked", func(p *term.Plan) { p.Hops[0].HostKeyPolicy = "disabled" }},
		{"the agent is forwarded", func(p *term.Plan) { p.ForwardAgent = true }},
		{"a proxy leads there", func(p *term.Plan) { p.Proxy = &term.PlannedHop{Host: "proxy", Port: 1080} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t, session.Config{})
				other := direct("other", "web1")
				tt.change(&other)
				n.plans["other"] = other
				n.dial = func(context.Context, term.Target, term.Prompter) error { time.Sleep(time.Second); return nil }
				var calls sync.WaitGroup
				var used [2]*session.Session
				for i, name := range []string{"other", "web1"} {
					calls.Go(func() { used[i] = n.mustUse(t, t.Context(), name) })
					synctest.Wait()
				}
				calls.Wait()
				if used[0] == used[1] || n.dials() != 2 {
					t.Errorf("both commands ran in %s and %s, and %d were dialed; want two sessions",
						used[0].ID(), used[1].ID(), n.dials())
				}
			})
		})
	}
}

// A session that cannot be opened fails for all that wait, and the next call tries again.
func TestFailureGoesToAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, session.Config{})
		down := errors.New("down")
		n.dial = func(context.Context, term.Target, term.Prompter) error {
			time.Sleep(time.Second)
			return &term.Error{Kind: term.ConnectFailed, Msg: "no route", Err: down}
		}
		var calls sync.WaitGroup
		for range 5 {
			calls.Go(func() {
				_, _, err := n.use(t.Context(), "web1", "")
				if term.KindOf(err) != term.ConnectFailed || !errors.Is(err, down) {
					t.Errorf("Use = %v, want that there is no route", err)
				}
			})
		}
		calls.Wait()
		if n.dials() != 1 {
			t.Errorf("%d sessions were dialed, want 1", n.dials())
		}
		n.dial = nil
		n.mustUse(t, t.Context(), "web1")
	})
}

// The call that came first gives up, and the others get their session. If all give up, it is closed.
func TestGivingUp(t *testing.T) {
	for _, all := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			n := newNetwork(t, session.Config{})
			n.dial = func(ctx context.Context, _ term.Target, _ term.Prompter) error {
				select {
				case <-time.After(5 * time.Second):
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			first, giveUp := context.WithCancel(t.Context())
			second := t.Context()
			if all {
				second = first
			}
			var calls sync.WaitGroup
			calls.Go(func() {
				_, _, err := n.use(first, "web1", "")
				sessiontest.WantKind(t, err, term.Canceled)
			})
			synctest.Wait()
			calls.Go(func() {
				at, _, err := n.use(second, "web1", "")
				switch {
				case all:
					sessiontest.WantKind(t, err, term.Canceled)
				case err != nil || at.State != session.Open || !at.Joined:
					t.Errorf("the call that stays: %+v, %v; want the session that the other one has begun", at, err)
				}
			})
			synctest.Wait()
			giveUp()
			calls.Wait()
			live := 1
			if all {
				live = 0
			}
			if n.dials() != 1 || n.m.Live() != live {
				t.Errorf("all give up: %v; %d dialed and %d live, want 1 and %d", all, n.dials(), n.m.Live(), live)
			}
			n.mustUse(t, t.Context(), "web1")
		})
	}
}

// A login that asks is the result, for each call until it is answered; then its session takes the commands.
func TestLoginAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, session.Config{})
		n.dial = func(ctx context.Context, _ term.Target, p term.Prompter) error {
			_, err := p.Prompt(ctx, term.Prompt{Kind: term.PromptPassword, Text: "Password: "})
			return err
		}
		asking := func() hosts.Result {
			t.Helper()
			at, _, err := n.use(t.Context(), "web1", "")
			if err != nil || at.State != session.Authenticating || at.Prompt == nil || at.Prompt.Text != "Password: " {
				t.Fatalf("Use = %+v, %v; want the question", at, err)
			}
			return at
		}
		first := asking()
		if second := asking(); first.Joined || !second.Joined || second.Session != first.Session {
			t.Errorf("two calls: %+v and %+v; want one login, which the second has joined", first, second)
		}
		if _, err := first.Session.Write(t.Context(), []byte(sessiontest.Typed), session.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := n.mustUse(t, t.Context(), "web1"); s != first.Session || n.dials() != 1 {
			t.Errorf("after the answer the command ran in %s, and %d were dialed; want %s alone",
				s.ID(), n.dials(), first.Session.ID())
		}
	})
}

// A call waits for the connection no longer than it may. The next one waits for the same.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, session.Config{})
		n.dial = func(context.Context, term.Target, term.Prompter) error { time.Sleep(5 * time.Second); return nil }
		r := hosts.Request{Target: sessiontest.Target("web1").Target, Wait: 2 * time.Second}
		var at hosts.Result
		var err error
		took := sessiontest.Since(func() {
			at, err = n.h.Use(t.Context(), r, func(*session.Session) error { return errors.New("called") })
		})
		if err != nil || at.State != session.Connecting || took != r.Wait {
			t.Fatalf("Use = %+v, %v after %v; want it connecting after 2 s", at, err, took)
		}
		if s := n.mustUse(t, t.Context(), "web1"); s != at.Session || n.dials() != 1 {
			t.Errorf("the next call has %s, and %d were dialed; want %s alone", s.ID(), n.dials(), at.Session.ID())
		}
	})
}
