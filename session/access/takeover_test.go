package access_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/session"
	"ptyctl/term"
)

func TestTakeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen diary
		s, _ := start(t, 0, session.Options{AllowTakeOver: true, Observers: []term.Observer{&seen}})
		first, err := s.Lock(task("t1"), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Write(task("t1"), []byte("before"), session.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		l, previous, err := s.TakeOver(task("t2"), time.Minute)
		if err != nil || l.Holder.String() != "t2" || l.Epoch <= first.Epoch || previous != first {
			t.Fatalf("%+v, %+v, %v", l, previous, err)
		}
		if _, err := s.Write(task("t2"), []byte("12 bytes are"), session.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		told := func(err error, kind term.Kind) {
			t.Helper()
			e := wantKind(t, err, kind)
			if d := term.FactOf[term.TakenOver](e); d.By != "t2" || d.Typed != 12 ||
				(term.FactOf[term.LockConflict](e).Holder == "t2") != (kind == term.Locked) {
				t.Errorf("facts %+v", e.Facts)
			}
			if !strings.Contains(e.Msg, "task t2 took the lock over") || !strings.Contains(e.Msg, "12 bytes") {
				t.Errorf("message %q", e.Msg)
			}
		}
		told(second(s.Write(task("t1"), []byte("x"), session.WriteOptions{})), term.Locked)
		told(s.Resize(task("t1"), 80, 24), term.Locked)
		told(second(s.Lock(task("t1"), time.Minute)), term.Locked)
		told(s.Unlock(task("t1")), term.Locked)
		if e := wantKind(t, second(s.Write(task("t3"), []byte("x"), session.WriteOptions{})),
			term.Locked); term.FactOf[term.TakenOver](e).By != "" ||
			!strings.Contains(e.Message(), "Session.TakeOver") {
			t.Errorf("a task that lost nothing: %+v", e)
		}

		// It learns that also when the lock is free again, and until it has the lock again.
		if err := s.Unlock(task("t2")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			told(second(s.Write(task("t1"), []byte("x"), session.WriteOptions{})), term.LockRequired)
		}
		if _, err := s.Write(task("t3"), nil, session.WriteOptions{}); err != nil {
			t.Error("a task that lost nothing:", err)
		}
		if _, err := s.Lock(task("t1"), time.Minute); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Write(task("t1"), []byte("x"), session.WriteOptions{}); err != nil {
			t.Error(err)
		}
		if n := s.Info().BytesOut; n != 6+12+1 {
			t.Errorf("%d bytes went out", n)
		}

		// From oneself it is a new grant and no loss.
		again, _, err := s.TakeOver(task("t1"), time.Minute)
		if err != nil || again.Epoch <= l.Epoch {
			t.Errorf("%+v, %v", again, err)
		}
		if _, err := s.Write(task("t1"), []byte("x"), session.WriteOptions{}); err != nil {
			t.Error(err)
		}
		wantKind(t, third(s.TakeOver(t.Context(), time.Minute)), term.InvalidArgument) // without a task
		wantKind(t, third(s.TakeOver(task("t2"), 0)), term.InvalidArgument)
		if l, ok := s.Lease(); !ok || l != again {
			t.Errorf("refused calls changed the lease to %+v", l)
		}
		s.Close(t.Context(), session.CloseOptions{})
		wantKind(t, third(s.TakeOver(task("t2"), time.Minute)), term.AlreadyClosed)
	})
}

func TestTakeOverNotAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen diary
		s, _ := start(t, 0, session.Options{Observers: []term.Observer{&seen}})
		l, err := s.Lock(task("t1"), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		e := wantKind(t, third(s.TakeOver(task("t2"), time.Hour)), term.PolicyDenied)
		if !strings.Contains(e.Message(), "ask the operator") || term.FactOf[term.Denial](e).Setting != term.SettingTakeOver {
			t.Errorf("refusal = %+v, want advice to ask the operator and the setting take_over", e)
		}
		if now, _ := s.Lease(); now != l {
			t.Errorf("the lease is now %+v", now)
		}
		if events := seen.Of(term.VerbTakeOver); len(events) != 1 || events[0].Refused == nil ||
			events[0].Actor.Task != "t2" {
			t.Errorf("events %+v", events)
		}
		if e := wantKind(t, second(s.Write(task("t2"), nil, session.WriteOptions{})), term.Locked); strings.Contains(
			e.Msg,
			"take_over",
		) {
			t.Errorf("the message offers what is not allowed: %s", e.Msg)
		}
	})
}

// The previous holder's write ends with the bytes sent so far, TakeOver returns after that, and no byte of the write
// comes later.
func TestTakeOverStopsTheWriteUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 4096, session.Options{AllowTakeOver: true, WriteTimeout: time.Hour})
		if _, err := s.Lock(task("t1"), time.Hour); err != nil {
			t.Fatal(err)
		}
		lost := make(chan error, 1)
		go func() {
			lost <- second(s.Write(task("t1"), []byte(strings.Repeat("a", 100_000)), session.WriteOptions{}))
		}()
		synctest.Wait() // the first piece is out, the second in hand
		taken := make(chan time.Duration, 1)
		go func() { taken <- since(func() { s.TakeOver(task("t2"), time.Hour) }) }()
		synctest.Wait()
		typed := make(chan string, 1)
		go func() {
			all, err := io.ReadAll(far)
			if err != nil {
				t.Error(err)
			}
			typed <- string(all)
		}()
		if took := <-taken; took != 0 {
			t.Errorf("TakeOver took %v though the far side reads", took)
		}
		if _, err := s.Write(task("t2"), []byte("mine"), session.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		e := wantKind(t, <-lost, term.Locked)
		if term.FactOf[term.PartialWrite](e).Written != 2*4096 || term.FactOf[term.TakenOver](e).By != "t2" {
			t.Errorf("facts %+v", e.Facts)
		}
		s.Close(t.Context(), session.CloseOptions{})
		if got, want := <-typed, strings.Repeat("a", 2*4096)+"mine"; got != want {
			t.Errorf("%d bytes went out, want %d", len(got), len(want))
		}
	})
}

func TestTakeOverFromAStuckWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, 8, session.Options{AllowTakeOver: true, WriteTimeout: time.Hour})
		if _, err := s.Lock(task("t1"), time.Hour); err != nil {
			t.Fatal(err)
		}
		lost := make(chan error, 1)
		go func() { lost <- second(s.Write(task("t1"), make([]byte, 100), session.WriteOptions{})) }()
		synctest.Wait()
		if took := since(func() { s.TakeOver(task("t2"), time.Hour) }); took == 0 || took > time.Second {
			t.Errorf("TakeOver took %v", took)
		}
		s.Close(t.Context(), session.CloseOptions{Force: true})
		if e := wantKind(t, <-lost, term.AlreadyClosed); !slices.ContainsFunc(e.Facts,
			func(f term.Fact) bool { _, ok := f.(term.PartialWrite); return ok }) {
			t.Errorf("details %+v", e.Facts)
		}
	})
}

// Many tasks take the lock from each other, or get it as it expires, while each types the number of its grant. The
// numbers never go down: input typed under a grant does not come after input of a later grant.
func TestNoLateByte(t *testing.T) {
	for round := range 20 {
		synctest.Test(t, func(t *testing.T) {
			s, far := start(t, 4096, session.Options{AllowTakeOver: true})
			read := make(chan []byte, 1)
			go func() {
				all, _ := io.ReadAll(far) // slower than they type: pieces wait for each other
				read <- all
			}()
			var wg sync.WaitGroup
			var mu sync.Mutex
			out := make(map[byte]int)
			for i := range 8 {
				ctx := task(fmt.Sprint("t", i))
				wg.Go(func() {
					for n := range 20 {
						time.Sleep(time.Duration((i*7+n*3+round)%5) * time.Millisecond)
						var l session.Lease
						var err error
						if (i+n+round)%3 == 0 {
							l, _, err = s.TakeOver(ctx, 3*time.Millisecond)
						} else {
							l, err = s.Lock(ctx, 2*time.Millisecond)
						}
						if err != nil {
							wantKind(t, err, term.Locked)
							continue
						}
						number := byte(l.Epoch) // no more than 160 grants are made
						w, err := s.Write(ctx, bytes.Repeat([]byte{number}, 10_000), session.WriteOptions{})
						if err == nil && w.Written != 10_000 {
							t.Errorf("%+v without an error", w)
						}
						if err != nil {
							e := wantOneOf(t, err, term.Locked, term.LockRequired)
							if w.Written > 0 && term.FactOf[term.PartialWrite](e).Written != w.Written {
								t.Errorf("%d bytes went out, the error says %+v", w.Written, e.Facts)
							}
						}
						mu.Lock()
						out[number] += w.Written
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			s.Close(t.Context(), session.CloseOptions{})
			got := <-read
			if !slices.IsSorted(got) {
				t.Error("what was typed under an earlier grant came later")
			}
			for number, n := range out {
				if c := bytes.Count(got, []byte{number}); c != n {
					t.Errorf("grant %d: %d bytes went out, the results say %d", number, c, n)
				}
			}
		})
	}
}

func wantOneOf(tb testing.TB, err error, kinds ...term.Kind) *term.Error {
	tb.Helper()
	for _, k := range kinds {
		if term.KindOf(err) == k {
			return wantKind(tb, err, k)
		}
	}
	tb.Errorf("error %v, want one of %v", err, kinds)
	return new(term.Error)
}

// At the instant of expiry the holder and another ask at the same time: exactly one may type.
func TestExpiryRace(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			s, _ := start(t, 0, session.Options{})
			if _, err := s.Lock(task("t1"), time.Minute); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute - 1)
			var wg sync.WaitGroup
			results := make([]error, 8)
			leases := make([]session.Lease, 8)
			for i := range results {
				wg.Go(func() {
					time.Sleep(time.Nanosecond)
					leases[i], results[i] = s.Lock(task(fmt.Sprint("t", i+1)), time.Minute)
				})
			}
			wg.Wait()
			winners := 0
			for i, err := range results {
				if err == nil {
					winners++
					if leases[i].Epoch < 2 {
						t.Errorf("%+v is the dead lease", leases[i])
					}
					continue
				}
				wantKind(t, err, term.Locked)
			}
			if winners != 1 {
				t.Errorf("%d winners", winners)
			}
		})
	}
}

func TestGateTooSlowForTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(
			t,
			0,
			session.Options{AllowTakeOver: true, Gate: func(context.Context, term.Action) (term.Ruling, error) {
				time.Sleep(time.Second)
				return term.Ruling{}, nil
			}},
		)
		if _, err := s.Lock(task("t1"), time.Hour); err != nil {
			t.Fatal(err)
		}
		for _, call := range calls {
			late := make(chan error, 1)
			go func() { late <- call.Do(task("t1"), s) }()
			time.Sleep(time.Millisecond)
			if call.Verb == term.VerbExec || call.Verb == term.VerbSignal {
				<-late // not by this transport
				continue
			}
			s.TakeOver(task("t2"), time.Hour)
			wantKind(t, <-late, term.Locked)
			s.TakeOver(task("t1"), time.Hour)
		}
	})
}

// The operator needs no permission to take over, and their input is in no record. The next caller who types learns of
// it, once, with or without a lock.
func TestOperatorTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen diary
		var journal []term.Event
		s, _ := start(
			t,
			0,
			session.Options{Observers: []term.Observer{&seen}, RecordTxEvents: true, Journal: func(e term.Event) error {
				journal = append(journal, e)
				return nil
			}},
		)
		person := term.WithActor(t.Context(), term.Actor{Task: "root@desk", Operator: true})
		visit := func(text string) {
			t.Helper()
			if _, _, err := s.TakeOver(person, time.Minute); err != nil {
				t.Fatal(err)
			}
			if text != "" {
				if _, err := s.Write(person, []byte(text), session.WriteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			wantKind(t, second(s.Write(t.Context(), []byte("x"), session.WriteOptions{})), term.Locked)
			if err := s.Unlock(person); err != nil {
				t.Fatal(err)
			}
		}
		told := func(err error) {
			t.Helper()
			e := wantKind(t, err, term.Locked)
			if d := term.FactOf[term.TakenOver](e); d.By != "root@desk" || d.Typed != 7 ||
				term.FactOf[term.LockConflict](e).Holder != "" {
				t.Errorf("facts %+v", e.Facts)
			}
			if !strings.Contains(e.Msg, "root@desk") || !strings.Contains(e.Msg, "7 bytes") || !e.Kind.Retryable() {
				t.Errorf("message %q", e.Msg)
			}
		}
		visit("hunter2")
		told(second(s.Write(t.Context(), []byte("agent"), session.WriteOptions{})))
		if _, err := s.Write(t.Context(), []byte("agent"), session.WriteOptions{}); err != nil {
			t.Error("told twice:", err)
		}
		visit("") // nothing has changed, and no caller gets an error
		if _, err := s.Write(t.Context(), []byte("agent"), session.WriteOptions{}); err != nil {
			t.Error(err)
		}

		// The task that had the lock learns of it as of any takeover, and no second time.
		if _, err := s.Lock(task("t1"), time.Hour); err != nil {
			t.Fatal(err)
		}
		visit("hunter2")
		wantKind(t, second(s.Write(task("t1"), []byte("x"), session.WriteOptions{})), term.LockRequired)
		if _, err := s.Lock(task("t1"), time.Hour); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Write(task("t1"), []byte("x"), session.WriteOptions{}); err != nil {
			t.Error("told twice:", err)
		}

		for _, e := range append(seen.Of(term.VerbWrite), journal...) {
			if e.Actor.Operator && (e.Verb == term.VerbWrite) != e.Sensitive || bytes.Contains(e.Data, []byte("hunter2")) {
				t.Errorf("on record: %+v", e)
			}
		}
		for _, e := range s.TxEvents() {
			if e.Task == "root@desk" && (e.Bytes > 0 || !e.Sensitive) {
				t.Errorf("on record: %+v", e)
			}
		}
	})
}

// The operator answers a login's question also where an agent has the lock and waits.
func TestOperatorAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := session.NewManager(
			session.Config{
				Dialers: map[string]term.Dialer{
					"test": func(ctx context.Context, _ term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
						if a, err := p.Prompt(ctx, term.Prompt{Kind: "password", Text: "Password: "}); err != nil || a != "secret" {
							return nil, fmt.Errorf("answer %q, %v", a, err)
						}
						near, _ := bufpipe.New(0)
						return &plain{ReadWriteCloser: near}, nil
					},
				},
			},
		)
		defer m.Close(t.Context())
		r, err := m.Open(
			task("t1"),
			session.OpenRequest{Target: term.Target{Protocol: "test", Host: "h"}, LockTTL: time.Hour},
		)
		if err != nil || r.Prompt == nil {
			t.Fatal(r, err)
		}
		wantKind(t, second(r.Session.Write(t.Context(), []byte("guess"), session.WriteOptions{})), term.Locked)
		person := term.WithActor(t.Context(), term.Actor{Operator: true})
		if w, err := r.Session.Write(person, []byte("secret\r"), session.WriteOptions{}); err != nil || !w.Answered {
			t.Fatal(w, err)
		}
		r.Session.Settle(t.Context(), time.Minute)
		if st := r.Session.State(); st != session.Open {
			t.Errorf("the session is %s", st)
		}
	})
}
