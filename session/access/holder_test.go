package access_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/session"
	"ptyctl/term"
)

// as returns the context of a caller's calls.
func as(a term.Actor) context.Context { return term.WithActor(context.Background(), a) }

// acts is everything that a lock keeps others from.
var acts = map[string]func(context.Context, *session.Session) error{
	"write": func(ctx context.Context, s *session.Session) error {
		return second(s.Write(ctx, []byte("x"), session.WriteOptions{}))
	},
	"key": func(ctx context.Context, s *session.Session) error {
		return second(s.Write(ctx, nil, session.WriteOptions{Key: "ctrl_c"}))
	},
	"exec": func(ctx context.Context, s *session.Session) error {
		return second(s.Exec(ctx, session.ExecRequest{Command: "id", Lane: session.LaneTerminal}))
	},
	"resize":    func(ctx context.Context, s *session.Session) error { return s.Resize(ctx, 80, 24) },
	"expect":    func(ctx context.Context, s *session.Session) error { return s.SetExpect(ctx, session.Expect{}) },
	"close":     func(ctx context.Context, s *session.Session) error { return s.ServerView().MayClose(ctx, false) },
	"lock":      func(ctx context.Context, s *session.Session) error { return second(s.Lock(ctx, time.Hour)) },
	"heartbeat": func(ctx context.Context, s *session.Session) error { return second(s.Heartbeat(ctx, time.Hour)) },
	"unlock":    func(ctx context.Context, s *session.Session) error { return s.Unlock(ctx) },
}

// A task of another principal is another holder, whatever it is called. Tasks of one principal are kept apart by name.
func TestHolderIsPrincipalAndTask(t *testing.T) {
	principals := map[string]term.Actor{
		"stdio":          {Transport: "stdio"},
		"a token":        {Transport: "http", Token: "ops"},
		"another token":  {Transport: "http", Token: "ci"},
		"HTTP, no token": {Transport: "http"},
		"control socket": {Transport: "socket", Operator: true},
		"library":        {},
		"like stdio":     {Transport: "http", Token: "stdio"},
	}
	for mine, holder := range principals {
		t.Run(mine, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := start(t, 0, session.Options{})
				holder.Task = "t1"
				held, err := s.Lock(as(holder), time.Hour)
				if err != nil {
					t.Fatal(err)
				}
				for theirs, other := range principals {
					for _, name := range []string{"t1", "t2"} {
						if other.Task = name; theirs == mine && name == "t1" {
							continue
						}
						for act, do := range acts {
							e := wantKind(t, do(as(other), s), term.Locked)
							want, shown := "another client holds", "another client"
							if theirs == mine {
								want, shown = "task t1 holds", "t1"
							}
							if term.FactOf[term.LockConflict](e).Holder != shown ||
								!term.FactOf[term.LockConflict](e).Expires.Equal(held.Expires) {
								t.Errorf("%s by %s as %s: details %+v, want the holder %s and its expiry", act, theirs, name, e.Facts, shown)
							}
							if !strings.HasPrefix(e.Msg, want) || strings.Contains(e.Msg, "task_id") {
								t.Errorf("%s by %s as %s is told %q, want %q and nothing of task_id", act, theirs, name, e.Msg, want)
							}
						}
					}
				}
				if now, _ := s.Lease(); now != held {
					t.Errorf("the lease is %+v, want %+v", now, held)
				}
				if err := acts["write"](as(holder), s); err != nil {
					t.Errorf("the holder's write: %v", err)
				}
			})
		})
	}
}

// A caller that forgets the task it has locked the session for gets a hint; other principals get none.
func TestOmittedTaskIsAReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, 0, session.Options{AllowTakeOver: true})
		if _, err := s.Lock(as(term.Actor{Transport: "stdio", Task: "t1"}), time.Hour); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			by   term.Actor
			want term.Reason
		}{
			{term.Actor{Transport: "stdio"}, term.ReasonTaskOmitted},
			{term.Actor{Transport: "stdio", Task: "t2"}, term.ReasonHeldTakable},
			{term.Actor{Transport: "http"}, term.ReasonHeldTakable},
		} {
			e := wantKind(t, acts["write"](as(tt.by), s), term.Locked)
			if e.Reason != tt.want || strings.Contains(e.Message(), "t1") != (tt.by.Transport == "stdio") {
				t.Errorf("write by %+v: reason %q, %q; want the reason %q", tt.by, e.Reason, e.Message(), tt.want)
			}
		}
	})
}

// A holder alone learns of its loss, not another principal's task of the same name.
func TestHolderLearnsOfALostLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, 0, session.Options{AllowTakeOver: true})
		ops, ci := term.Actor{
			Transport: "http",
			Token:     "ops",
			Task:      "t",
		}, term.Actor{
			Transport: "http",
			Token:     "ci",
			Task:      "t",
		}
		if _, err := s.Lock(as(ops), time.Hour); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.TakeOver(as(ci), time.Hour); err != nil {
			t.Fatal(err)
		}
		if err := acts["write"](as(ci), s); err != nil {
			t.Fatalf("the new holder's write: %v", err)
		}
		e := wantKind(t, acts["write"](as(ops), s), term.Locked)
		if term.FactOf[term.TakenOver](e).By != "another client" || term.FactOf[term.TakenOver](e).Typed != 1 ||
			!strings.Contains(e.Msg, "another client took the lock over") {
			t.Errorf("the loser is told %q, %+v", e.Msg, e.Facts)
		}
		if err := s.Unlock(as(ci)); err != nil {
			t.Fatal(err)
		}
		if err := acts["write"](as(ci), s); err != nil {
			t.Errorf("the write of who has lost nothing: %v", err)
		}
		wantKind(t, acts["write"](as(ops), s), term.LockRequired)
		if _, err := s.Lock(as(ci), time.Hour); err != nil {
			t.Fatal(err)
		}
		if err := s.Unlock(as(ci)); err != nil {
			t.Fatal(err)
		}
		wantKind(t, acts["write"](as(ops), s), term.LockRequired) // the other's lock is not its own
	})
}

// An attached person's place is theirs: no name is it, and only another person who is attached takes it.
func TestAttachedPersonKeepsTheLock(t *testing.T) {
	const name, id = "person root (attach, process 7)", "attachment-1138-of-root"
	leaktest.Secret(t, id)
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, 0, session.Options{AllowTakeOver: true, RecordTxEvents: true})
		attached := func(id string) context.Context {
			return as(term.Actor{Transport: "socket", Task: name, Operator: true, Attachment: term.NewAttachment(id, name)})
		}
		person := attached(id)
		agent := term.Actor{Transport: "stdio", Task: "t1"}
		if _, err := s.Lock(as(agent), time.Hour); err != nil {
			t.Fatal(err)
		}
		held, previous, err := s.TakeOver(person, time.Hour)
		if err != nil || previous.Holder.String() != "t1" || held.Holder.String() != name {
			t.Fatalf("TakeOver = %+v, %+v, %v, want the lease of %q after that of t1", held, previous, err, name)
		}
		others := []term.Actor{agent, {Transport: "stdio"}, {Transport: "http"}, {Transport: "socket", Operator: true}, {}}
		for _, other := range others {
			for _, task := range []string{
				"t1", name, "person", held.Holder.String(), fmt.Sprint(held),
				fmt.Sprintf("%+v %#v", held, held),
			} {
				other.Task = task
				for act, do := range acts {
					e := wantKind(t, do(as(other), s), term.Locked)
					if !strings.Contains(e.Msg, name+" holds this session's lock until ") ||
						strings.Contains(e.Msg, "take the lock over") ||
						term.FactOf[term.LockConflict](e).Holder != name {
						t.Errorf("%s by %+v is told %q, %+v", act, other, e.Msg, e.Facts)
					}
				}
				wantKind(t, third(s.TakeOver(as(other), time.Hour)), term.Locked)
			}
		}
		wantKind(t, acts["write"](attached("attachment-1138-of-another"), s), term.Locked)
		if now, _ := s.Lease(); now != held {
			t.Errorf("the lease is %+v, want %+v", now, held)
		}
		for _, act := range []string{"write", "resize", "heartbeat", "lock"} {
			if err := acts[act](person, s); err != nil {
				t.Errorf("%s of the person: %v", act, err)
			}
		}
		for _, shown := range []any{held, s.Info(), *s.Info().Lease, s.TxEvents(), term.ActorFrom(person)} {
			if text := fmt.Sprintf("%v %+v %#v", shown, shown, shown); strings.Contains(text, id) {
				t.Errorf("the person's id is shown: %s", text)
			}
		}

		second := attached("attachment-1138-of-another")
		if _, previous, err := s.TakeOver(second, time.Hour); err != nil || previous.Holder != held.Holder {
			t.Fatalf("TakeOver of another person = %+v, %v", previous, err)
		}
		wantKind(t, acts["write"](person, s), term.Locked)
		if err := s.Unlock(second); err != nil {
			t.Fatal(err)
		}
		wantKind(t, acts["write"](person, s), term.LockRequired)
	})
}

// A caller without a task holds no lock.
func TestLockOfNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, 0, session.Options{AllowTakeOver: true})
		for _, a := range []term.Actor{{}, {Transport: "http", Token: "ops"}} {
			for _, act := range []string{"lock", "heartbeat", "unlock"} {
				wantKind(t, acts[act](as(a), s), term.InvalidArgument)
			}
			wantKind(t, third(s.TakeOver(as(a), time.Hour)), term.InvalidArgument)
		}
		if l, ok := s.Lease(); ok {
			t.Errorf("nobody holds %+v", l)
		}
	})
}
