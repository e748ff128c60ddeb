package hosts_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/session/hosts"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/term"
)

// Names share a session if they lead to one place, and no other names do.
func TestPlaces(t *testing.T) {
	unchecked := direct("w6", "web.example")
	unchecked.Hops[0].HostKeyPolicy = "disabled"
	forwarding := direct("w7", "web.example")
	forwarding.ForwardAgent = true
	program, again := direct("w8", "web.example"), direct("w9", "web.example")
	program.ProxyCommand, again.ProxyCommand = true, true
	proxied := direct("w10", "web.example")
	proxied.Proxy = &term.PlannedHop{Host: "proxy", Port: 1080}
	port := direct("w11", "web.example")
	port.Hops[0].Port = 2222
	tests := []struct {
		name, opened, user, used string
		same                     bool
	}{
		{"the same name", "w1", "", "w1", true},
		{"an alias", "w1", "", "w2", true},
		{"the name behind the alias", "w1", "", "web.example", true},
		{"another user", "w1", "bob", "w1", false},
		{"the user of the plan", "w1", "alice", "w2", true},
		{"another port", "w1", "", "w11", false},
		{"behind a bastion", "w1", "", "w3", false},
		{"behind the same bastion", "w3", "", "w4", true},
		{"behind another bastion", "w3", "", "w5", false},
		{"a session that checked no key", "w6", "", "w1", false},
		{"a session that did, where none is checked", "w1", "", "w6", true},
		{"a forwarded agent", "w7", "", "w1", false},
		{"a program of another name", "w8", "", "w9", false},
		{"a program of the same name", "w8", "", "w8", true},
		{"a program in place of TCP", "w1", "", "w8", false},
		{"a proxy of the call's", "w10", "", "w1", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t, session.Config{})
				n.plans = map[string]term.Plan{
					"w1": direct("w1", "web.example"), "w2": direct("w2", "WEB.example"),
					"w3": behind("gate", "w3", "web.example"), "w4": behind("gate", "w4", "web.example"),
					"w5": behind("gate2", "w5", "web.example"), "w6": unchecked, "w7": forwarding,
					"w8": program, "w9": again, "w10": proxied, "w11": port,
				}
				s := n.session(t, t.Context(), tt.opened)
				at, _, err := n.use(t.Context(), tt.used, tt.user)
				if err != nil || (at.Session == s) != tt.same {
					t.Errorf("after an open of %s, Use(%s, %q) took %v, %v; want the same session: %v",
						tt.opened, tt.used, tt.user, at.Session.ID(), err, tt.same)
				}
			})
		})
	}
}

// A command uses the newest session that is its caller's, that no caller types into and that no other task has locked.
func TestSessions(t *testing.T) {
	other := term.WithActor(context.Background(), term.Actor{Transport: "http", Token: "b"})
	tests := []struct {
		name string
		with func(*testing.T, *network, *session.Session)
		same bool
	}{
		{"untouched", func(*testing.T, *network, *session.Session) {}, true},
		{"typed into", func(t *testing.T, _ *network, s *session.Session) { sessiontest.TypeIn(t, s, "x") }, false},
		{"locked by the caller's task", func(t *testing.T, _ *network, s *session.Session) {
			if _, err := s.Lock(sessiontest.Task("t1"), time.Minute); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"locked by another task", func(t *testing.T, _ *network, s *session.Session) {
			if _, err := s.Lock(sessiontest.Task("t2"), time.Minute); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"locked by another task, and expired", func(t *testing.T, _ *network, s *session.Session) {
			if _, err := s.Lock(sessiontest.Task("t2"), time.Second); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
		}, true},
		{"a device", func(t *testing.T, _ *network, s *session.Session) {
			if err := s.SetExpect(t.Context(), session.Expect{Class: session.ClassDevice}); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"closed", func(t *testing.T, _ *network, s *session.Session) {
			s.Close(t.Context(), session.CloseOptions{})
		}, false},
		{"ended by the far side", func(t *testing.T, n *network, _ *session.Session) {
			n.far[0].Close()
			synctest.Wait()
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t, session.Config{})
				ctx := sessiontest.Task("t1")
				n.session(t, other, "web1")
				time.Sleep(time.Second)
				s := n.session(t, sessiontest.Task("t3"), "web1")
				if tt.name == "ended by the far side" {
					n.far[0] = n.far[1]
				}
				tt.with(t, n, s)
				used := n.mustUse(t, ctx, "web1")
				if (used == s) != tt.same {
					t.Errorf("Use took %s, want the open session %s: %v", used.ID(), s.ID(), tt.same)
				}
				if i := used.Info(); i.Auto == tt.same || i.Opener.Transport != "" {
					t.Errorf("the session used: auto %v, opened by %+v; want auto %v, by the caller", i.Auto, i.Opener, !tt.same)
				}
				if again := n.mustUse(t, ctx, "WEB1"); again != used {
					t.Errorf("the next command ran in %s, want %s", again.ID(), used.ID())
				}
			})
		})
	}
}

func TestNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, session.Config{})
		for range 3 {
			time.Sleep(time.Second)
			if s := n.session(t, t.Context(), "web1"); n.mustUse(t, t.Context(), "web1") != s {
				t.Errorf("Use did not take the newest session %s", s.ID())
			}
		}
	})
}

func TestConsoleIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, session.Config{})
		r := sessiontest.Target("web1")
		r.Device = "web1"
		res, err := n.m.Open(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if n.mustUse(t, t.Context(), "web1") == res.Session {
			t.Error("Use took the console, want a session of its own")
		}
	})
}

// A new session has no terminal, and closes when no command ran and no call looked at one for the time that is set.
// Until then it is the one that the next command uses.
func TestAutoCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, session.Config{IdleTimeout: time.Minute})
		release := make(chan struct{})
		n.exec = func(_ context.Context, r term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
			if r.Command == "wait" {
				<-release
			}
			_, err := io.WriteString(stdout, "done\n")
			return term.Exit{Known: true}, err
		}
		s := n.mustUse(t, t.Context(), "web1")
		if !n.dialed[0].CommandsOnly || !s.Info().Auto {
			t.Errorf("dialed %+v, auto %v; want a session for commands alone", n.dialed[0], s.Info().Auto)
		}
		time.Sleep(9 * time.Minute)
		if n.mustUse(t, t.Context(), "web1") != s {
			t.Error("after 9 min the next command has another session")
		}
		time.Sleep(9 * time.Minute)
		// One that runs is use, and so is a look at it.
		r := sessiontest.Run(t, s, session.ExecRequest{Command: "wait", Timeout: time.Hour, Wait: time.Second})
		time.Sleep(25 * time.Minute)
		close(release)
		synctest.Wait()
		time.Sleep(4 * time.Minute) // its output is kept for 5
		if _, err := s.ReadExec(t.Context(), r.ID, "stdout", session.ReadRequest{NoWait: true}); err != nil {
			t.Fatalf("ReadExec after the end: %v", err)
		}
		time.Sleep(9 * time.Minute)
		if st := s.State(); st != session.Open {
			t.Fatalf("9 min after a read of a command the session is %s: %+v", st, s.Info().End)
		}
		time.Sleep(2 * time.Minute)
		if i := s.Info(); i.State != session.Closed || i.End.Code != session.EndIdle {
			t.Fatalf("11 min after the last use the session is %s: %+v; want it closed as idle", i.State, i.End)
		}
		if n.mustUse(t, t.Context(), "web1") == s {
			t.Error("the next command has the session that is closed")
		}
	})
}

// Output that a command has left is readable after the session has closed, as long as that is kept.
func TestOutputOutlivesTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, session.Config{Retention: time.Hour})
		s := n.mustUse(t, t.Context(), "web1")
		r := sessiontest.Run(t, s, session.ExecRequest{Command: "true", MaxOutput: 2})
		time.Sleep(11 * time.Minute)
		c, err := s.ReadExec(t.Context(), r.ID, "stdout", session.ReadRequest{NoWait: true})
		if err != nil || string(c.Data) != "done\n" || s.State() != session.Closed {
			t.Errorf("after its end (%s) a command's output is %q, %v; want done", s.State(), c.Data, err)
		}
	})
}

// The Gate judges the open of a new session and then the command; where a session is used, only the command.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		refuse := term.Verb("")
		n := newNetwork(t, session.Config{Gate: func(_ context.Context, a term.Action) (term.Ruling, error) {
			if a.Plan == nil {
				asked = append(asked, string(a.Verb))
			}
			if a.Verb == refuse {
				return term.Ruling{}, &term.Error{Kind: term.PolicyDenied, Msg: "no"}
			}
			return term.Ruling{}, nil
		}})
		want := func(what, verbs string) {
			t.Helper()
			if got := strings.Join(asked, " "); got != verbs {
				t.Errorf("%s: the Gate was asked about %q, want %q", what, got, verbs)
			}
			asked = nil
		}
		refuse = term.VerbOpen
		_, _, err := n.use(t.Context(), "web1", "")
		sessiontest.WantKind(t, err, term.PolicyDenied)
		want("a refused open", "open")
		refuse = ""
		n.mustUse(t, t.Context(), "web1")
		want("a new session", "open exec")
		n.mustUse(t, t.Context(), "web1")
		want("an open session", "exec")
		refuse = term.VerbExec
		_, _, err = n.use(t.Context(), "web1", "")
		sessiontest.WantKind(t, err, term.PolicyDenied)
		want("a refused command", "exec")
		if n.dials() != 1 {
			t.Errorf("%d sessions were dialed, want 1", n.dials())
		}
	})
}

// Another session takes a command that was certainly not started; any other error is the result.
func TestNotStarted(t *testing.T) {
	before := &term.Error{Kind: term.AlreadyClosed, Msg: "over", Facts: term.Facts{term.Ended{Before: true}}}
	full := &term.Error{Kind: term.LimitExceeded, Msg: "no channel"}
	memory := &term.Error{
		Kind: term.LimitExceeded, Msg: "no memory", Facts: term.Facts{term.LimitReached{Limit: term.LimitOutput, Value: 1}},
	}
	for name, tt := range map[string]struct {
		err   error
		again bool
	}{
		"locked meanwhile":            {term.Errorf(term.Locked, "locked"), true},
		"ended before":                {before, true},
		"closed while it ran":         {term.Errorf(term.AlreadyClosed, "closed"), false},
		"ended while it ran":          {term.Errorf(term.RemoteClosed, "lost"), false},
		"no channel":                  {full, true},
		"no memory":                   {memory, false},
		"an error of another library": {errors.New("broken"), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t, session.Config{})
				old := n.session(t, t.Context(), "web1")
				calls := 0
				at, err := n.h.Use(t.Context(), hosts.Request{Target: sessiontest.Target("web1").Target},
					func(*session.Session) error {
						if calls++; calls == 1 {
							return tt.err
						}
						return nil
					})
				if again := calls > 1; again != tt.again || (err == nil) != tt.again || (at.Session != old) != tt.again {
					t.Errorf("%d calls, error %v; want another call: %v", calls, err, tt.again)
				}
			})
		})
	}
}

// The error of a session that ended before a command starts differs from that of an end while the command ran.
func TestEndedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, session.Config{})
		s := n.session(t, t.Context(), "web1")
		started := make(chan struct{})
		n.exec = func(ctx context.Context, _ term.ExecRequest, _, _ io.Writer) (term.Exit, error) {
			close(started)
			<-ctx.Done()
			return term.Exit{}, ctx.Err()
		}
		running := make(chan error)
		go func() {
			_, err := s.Exec(t.Context(), session.ExecRequest{Command: "sleep", Lane: session.LaneChannel})
			running <- err
		}()
		<-started
		go s.Close(t.Context(), session.CloseOptions{})
		if e := sessiontest.WantKind(t, <-running, term.AlreadyClosed); term.FactOf[term.Ended](e).Before {
			t.Errorf("a command whose session was closed while it ran: %+v, want no end before it began", e.Facts)
		}
		_, err := s.Exec(t.Context(), session.ExecRequest{Command: "true"})
		if e := sessiontest.WantKind(t, err, term.AlreadyClosed); !term.FactOf[term.Ended](e).Before {
			t.Errorf("a command on a closed session: %+v, want an end before it began", e.Facts)
		}
	})
}

func TestWithoutAPlanner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, session.Config{})
		n.h = hosts.New(hosts.Options{Manager: n.m})
		_, _, err := n.use(t.Context(), "web1", "")
		sessiontest.WantKind(t, err, term.Unsupported)
	})
}
