package access_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/session"
	"ptyctl/term"
)

func TestRefusal(t *testing.T) {
	forbidden := &term.Error{Kind: term.PolicyDenied, Msg: "rule 7 forbids it"}
	for name, c := range map[string]struct {
		gate    term.Gate
		journal term.Journal
		locked  bool
		kind    term.Kind
	}{
		"gate":    {gate: func(context.Context, term.Action) (term.Ruling, error) { return term.Ruling{}, forbidden }, kind: term.PolicyDenied},
		"journal": {journal: func(term.Event) error { return errors.New("disk full") }, kind: term.IOError},
		"lock":    {locked: true, kind: term.Locked},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen diary
				var locks session.LockTable
				near, far := bufpipe.New(0)
				sh := &shell{Plain: plain{ReadWriteCloser: near}} // without exec and signal, which would panic
				sh.Resized = func(int, int) error { panic("resized") }
				s := session.New(
					sh,
					session.Options{Locks: &locks, Gate: c.gate, Journal: c.journal, Observers: []term.Observer{&seen}},
				)
				defer s.Close(t.Context(), session.CloseOptions{})
				if c.locked {
					locks.TakeOver(s.ID(), session.Holder{Task: "other"}, time.Hour)
				}
				for _, call := range calls {
					wantKind(t, call.Do(task("t1"), s), c.kind)
					e := seen.Of(call.Verb)
					if len(e) != 1 || !errors.Is(e[0].Refused, c.kind) || e[0].Actor.Task != "t1" || e[0].Session != s.ID() ||
						e[0].Time.IsZero() {
						t.Errorf("%s: events %+v", call.Verb, e)
					}
				}
				if i := s.Info(); i.Typed || i.BytesOut != 0 || i.Execs != 0 || s.Expect().Prompt != nil {
					t.Errorf("info after refusals = %+v, want nothing typed or executed", i)
				}
				s.Close(t.Context(), session.CloseOptions{})
				if n, _ := far.Read(make([]byte, 10)); n != 0 {
					t.Errorf("%d bytes went out", n)
				}
			})
		})
	}
}

func TestGateSeesTheAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []term.Action
		var journal []term.Event
		m := manage(t, dialed(nil), session.Config{
			Gate: func(_ context.Context, a term.Action) (term.Ruling, error) {
				got = append(got, a)
				return term.Ruling{}, nil
			},
			Journal: func(e term.Event) error { journal = append(journal, e); return nil },
		})
		r, err := m.Open(task("t1"), target("web1"))
		if err != nil {
			t.Fatal(err)
		}
		s := r.Session
		s.Write(task("t1"), []byte("ls\r"), session.WriteOptions{})
		s.Write(task("t1"), []byte(typed+"\r"), session.WriteOptions{Sensitive: true})
		if len(got) != 3 || len(journal) != 3 {
			t.Fatalf("%d actions, %d entries", len(got), len(journal))
		}
		if a := got[0]; a.Verb != term.VerbOpen || a.Target == nil || a.Target.Host != "web1" || a.Session != s.ID() ||
			a.Actor.Task != "t1" {
			t.Errorf("open: %+v", a)
		}
		if a := got[1]; a.Verb != term.VerbWrite || string(a.Data) != "ls\r" || a.Session != s.ID() {
			t.Errorf("write: %+v", a)
		}
		if a := got[2]; a.Data != nil {
			t.Errorf("sensitive write: %+v", a)
		}
		if e := journal[1]; string(e.Data) != "ls\r" || e.Size != 3 || e.Session != s.ID() || e.Time.IsZero() {
			t.Errorf("write: %+v", e)
		}
		if e := journal[2]; e.Data != nil || e.Size != len(typed+"\r") || !e.Sensitive {
			t.Errorf("sensitive write: %+v", e)
		}
	})
}

// TestReportedIsDone: an action that a Gate only reports is done, and the event says why it would have been refused.
func TestReportedIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen diary
		var journal []term.Event
		forbidden := &term.Error{Kind: term.PolicyDenied, Msg: "rule 7 forbids it"}
		s, far := start(t, 0, session.Options{
			Observers: []term.Observer{&seen}, Journal: func(e term.Event) error { journal = append(journal, e); return nil },
			Gate: func(context.Context, term.Action) (term.Ruling, error) { return term.Ruling{Reported: forbidden}, nil },
		})
		if _, err := s.Write(task("t1"), []byte("ls\r"), session.WriteOptions{}); err != nil {
			t.Fatalf("Write = %v, want it done", err)
		}
		got := make([]byte, 10)
		if n, _ := far.Read(got); string(got[:n]) != "ls\r" {
			t.Errorf("%q went out, want what was written", got[:n])
		}
		for place, events := range map[string][]term.Event{"journal": journal, "observer": seen.Of(term.VerbWrite)} {
			if len(events) != 1 || !errors.Is(events[0].Reported, forbidden) || events[0].Refused != nil ||
				events[0].Err != nil {
				t.Errorf("the %s has %+v, want one event that was reported and done", place, events)
			}
		}
	})
}

func TestOpenRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen diary
		m := manage(t, func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			panic("dialed")
		}, session.Config{
			Gate: func(context.Context, term.Action) (term.Ruling, error) {
				return term.Ruling{}, &term.Error{Kind: term.PolicyDenied, Msg: "no"}
			},
			Observers: []term.Observer{&seen},
		})
		_, err := m.Open(t.Context(), target("web1"))
		wantKind(t, err, term.PolicyDenied)
		if e := seen.Of(term.VerbOpen); len(e) != 1 || e[0].Refused == nil || e[0].Detail != "web1" {
			t.Errorf("open events = %+v, want one refusal that names web1", e)
		}
		if l := m.List(); len(l) != 0 {
			t.Errorf("sessions after a refused opening = %+v, want none", l)
		}
	})
}

func TestSensitiveWriteShowsNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen diary
		var log bytes.Buffer
		s, far := start(t, 0, session.Options{Observers: []term.Observer{&seen}, Logger: logTo(t, &log)})
		if _, err := s.Write(t.Context(), []byte(typed+"\r"), session.WriteOptions{Sensitive: true}); err != nil ||
			take(t, far, len(typed+"\r")) != typed+"\r" {
			t.Fatal(err)
		}
		s.Write(t.Context(), nil, session.WriteOptions{Key: "ctrl_c"})
		s.Close(t.Context(), session.CloseOptions{})
		e := seen.Of(term.VerbWrite)
		if len(e) != 2 || e[0].Data != nil || e[0].Size != len(typed+"\r") || !e[0].Sensitive || e[1].Detail != "ctrl_c" ||
			string(e[1].Data) != "\x03" {
			t.Errorf("write events = %+v, want the password's size without its text, then ctrl_c", e)
		}
		if all := fmt.Sprintf("%+v %s", seen.All(), &log); strings.Contains(all, typed) {
			t.Errorf("it shows in %s", all)
		}
	})
}

func TestObserversSeeOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen diary
		s, far := start(t, 0, session.Options{Observers: []term.Observer{faulty{}, &seen}})
		put(t, far, "one")
		put(t, far, "two")
		e := seen.Of(term.VerbOutput)
		if len(e) != 2 || string(e[0].Data) != "one" || string(e[1].Data) != "two" || e[1].Size != 3 ||
			e[0].Session != s.ID() {
			t.Errorf("write events = %+v, want \"one\", then \"two\", of this session", e)
		}
		if seen.All()[0].State != "open" {
			t.Errorf("output before the session was open: %+v", seen.All())
		}
		if s.State() != session.Open {
			t.Errorf("an observer's panic ended the session: %+v", s.Info().End)
		}
	})
}

type faulty struct{}

func (faulty) Observe(term.Event) { panic("observer") }

func TestLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen diary
		s, _ := start(t, 0, session.Options{Observers: []term.Observer{&seen}})
		_, err := s.Lock(t.Context(), time.Minute)
		wantKind(t, err, term.InvalidArgument)
		_, err = s.Lock(task("t1"), 0)
		wantKind(t, err, term.InvalidArgument)
		if l, err := s.Lock(task("t1"), time.Minute); err != nil || l.Holder.String() != "t1" ||
			!l.Expires.Equal(time.Now().Add(time.Minute)) {
			t.Errorf("%+v, %v", l, err)
		}
		_, err = s.Lock(task("t2"), time.Minute)
		wantKind(t, err, term.Locked)
		_, err = s.Heartbeat(task("t2"), time.Minute)
		wantKind(t, err, term.Locked)
		wantKind(t, s.Unlock(task("t2")), term.Locked)
		time.Sleep(30 * time.Second)
		if l, err := s.Heartbeat(task("t1"), time.Minute); err != nil || !l.Expires.Equal(time.Now().Add(time.Minute)) {
			t.Errorf("%+v, %v", l, err)
		}
		if l, ok := s.Lease(); !ok || l.Holder.String() != "t1" {
			t.Errorf("lease = %+v, want one held by t1", l)
		}
		time.Sleep(time.Minute)
		_, err = s.Heartbeat(task("t1"), time.Minute)
		wantKind(t, err, term.LockRequired)
		wantKind(t, s.Unlock(task("t1")), term.LockRequired)
		if _, err := s.Lock(task("t2"), time.Minute); err != nil {
			t.Error(err)
		}
		if err := s.Unlock(task("t2")); err != nil {
			t.Error(err)
		}
		if _, ok := s.Lease(); ok {
			t.Error("still held")
		}
		refused := 0
		for _, e := range slices.Concat(seen.Of(term.VerbLock), seen.Of(term.VerbHeartbeat), seen.Of(term.VerbUnlock)) {
			if e.Refused != nil {
				refused++
			}
		}
		if refused != 7 {
			t.Errorf("%d refusals observed", refused)
		}
	})
}
