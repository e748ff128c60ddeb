package sizing_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/session"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/term"
)

// attachedAs returns a context in which a person calls who is attached under that name.
func attachedAs(name string) context.Context {
	return term.WithActor(context.Background(),
		term.Actor{Transport: "socket", Operator: true, Attachment: term.NewAttachment("id of "+name, "person "+name)})
}

// A sized is a terminal that notes the sizes that it gets.
type sized struct {
	sessiontest.Plain
	mu    sync.Mutex
	sizes []string
	fails error
}

func (w *sized) Resize(cols, rows int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails == nil {
		w.sizes = append(w.sizes, fmt.Sprintf("%dx%d", cols, rows))
	}
	return w.fails
}

// The terminal has the size of a person for as long as people have it, and then its own again.
func TestSizeIsGivenBack(t *testing.T) {
	const ttl = 30 * time.Second
	alice, bob, agent := attachedAs("alice"), attachedAs("bob"), sessiontest.Task("t1")
	type visit struct {
		t *testing.T
		s *session.Session
		w *sized
	}
	must := func(v visit, err error) {
		v.t.Helper()
		if err != nil {
			v.t.Fatal(err)
		}
	}
	takes := func(v visit, by context.Context, cols, rows int) {
		v.t.Helper()
		_, _, err := v.s.TakeOver(by, ttl)
		must(v, err)
		if cols > 0 {
			must(v, v.s.Resize(by, cols, rows))
		}
	}
	for _, tt := range []struct {
		name  string
		do    func(v visit)
		sizes []string // that the far side got, in order
	}{
		{"one person", func(v visit) {
			takes(v, alice, 80, 24)
			must(v, v.s.Resize(alice, 81, 25))
			must(v, v.s.Unlock(alice))
		}, []string{"80x24", "81x25", "120x40"}},
		{"one after the other", func(v visit) {
			takes(v, alice, 80, 24)
			takes(v, bob, 70, 20)
			sessiontest.WantKind(v.t, v.s.Unlock(alice), term.Locked)
			must(v, v.s.Unlock(bob))
		}, []string{"80x24", "70x20", "120x40"}},
		{"the second has no size", func(v visit) { // as in a tmux window
			takes(v, alice, 80, 24)
			takes(v, bob, 0, 0)
			time.Sleep(2 * ttl / 3)
			must(v, v.s.Unlock(bob))
		}, []string{"80x24", "120x40"}},
		{"killed", func(v visit) {
			takes(v, alice, 80, 24)
			time.Sleep(ttl - 1)
			if p := v.s.Info().PTY; p.Cols != 80 {
				v.t.Errorf("%d columns before the lock has ended", p.Cols)
			}
			time.Sleep(2 * time.Nanosecond)
		}, []string{"80x24", "120x40"}},
		{"killed after a while", func(v visit) {
			takes(v, alice, 80, 24)
			for range 20 {
				time.Sleep(ttl / 3)
				_, err := v.s.Heartbeat(alice, ttl)
				must(v, err)
			}
			if p := v.s.Info().PTY; p.Cols != 80 {
				v.t.Errorf("%d columns while the person is there", p.Cols)
			}
			time.Sleep(ttl)
		}, []string{"80x24", "120x40"}},
		{"killed, and then a second", func(v visit) {
			takes(v, alice, 80, 24)
			time.Sleep(ttl / 2)
			takes(v, bob, 70, 20)
			time.Sleep(ttl)
		}, []string{"80x24", "70x20", "120x40"}},
		{"twice", func(v visit) {
			takes(v, alice, 80, 24)
			must(v, v.s.Unlock(alice))
			takes(v, bob, 70, 20)
			time.Sleep(ttl)
		}, []string{"80x24", "120x40", "70x20", "120x40"}},
		{"an agent takes the lock when it has expired", func(v visit) {
			takes(v, alice, 80, 24)
			time.Sleep(ttl)
			_, err := v.s.Lock(agent, time.Hour)
			must(v, err)
		}, []string{"80x24", "120x40"}},
		{"another sets it when the lock has expired", func(v visit) {
			takes(v, alice, 80, 24)
			time.Sleep(ttl + 1)
			must(v, v.s.Resize(agent, 100, 30))
			takes(v, bob, 0, 0)
			must(v, v.s.Unlock(bob))
		}, []string{"80x24", "120x40", "100x30"}},
		{"without the lock", func(v visit) { // a program that was stopped for longer than its lock lasts
			must(v, v.s.Resize(alice, 80, 24))
		}, []string{"80x24", "120x40"}},
		{"the same size", func(v visit) {
			takes(v, alice, 120, 40)
			must(v, v.s.Unlock(alice))
		}, []string{"120x40"}},
		{"no window", func(v visit) {
			v.w.fails = errors.New("no window")
			takes(v, alice, 0, 0)
			sessiontest.WantKind(v.t, v.s.Resize(alice, 80, 24), term.IOError)
			must(v, v.s.Unlock(alice))
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen sessiontest.Diary
				near, far := bufpipe.New(0)
				defer far.Close()
				w := &sized{Plain: sessiontest.Plain{ReadWriteCloser: near}}
				s := session.New(w, session.Options{PTY: term.PTY{Cols: 120, Rows: 40}, Observers: []term.Observer{&seen}})
				defer s.Close(t.Context(), session.CloseOptions{})
				tt.do(visit{t, s, w})
				synctest.Wait()
				want := "120x40"
				if n := len(tt.sizes); n > 0 {
					want = tt.sizes[n-1]
				}
				if p := s.Info().PTY; !slices.Equal(w.sizes, tt.sizes) || fmt.Sprintf("%dx%d", p.Cols, p.Rows) != want {
					t.Errorf("the far side got %q, and the window is %dx%d; want %q", w.sizes, p.Cols, p.Rows, tt.sizes)
				}
				var recorded []string
				for _, e := range seen.Of(term.VerbResize) {
					if e.Outcome() == nil {
						recorded = append(recorded, e.Detail)
					}
				}
				if !slices.Equal(recorded, tt.sizes) {
					t.Errorf("the observers have %q, want %q", recorded, tt.sizes)
				}
			})
		})
	}
}

// A far side that does not take the size keeps no person from giving the lock back.
func TestSizeNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := bufpipe.New(0)
		defer far.Close()
		stuck := make(chan struct{})
		blocks := false
		w := &sessiontest.Plain{ReadWriteCloser: near, Resized: func(int, int) error {
			if blocks {
				<-stuck
			}
			return nil
		}}
		s := session.New(w, session.Options{PTY: term.PTY{Cols: 120, Rows: 40}})
		defer s.Close(t.Context(), session.CloseOptions{})
		defer close(stuck)
		alice := attachedAs("alice")
		if _, _, err := s.TakeOver(alice, time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := s.Resize(alice, 80, 24); err != nil {
			t.Fatal(err)
		}
		blocks = true
		began := time.Now()
		if err := s.Unlock(alice); err != nil || time.Since(began) > time.Second {
			t.Errorf("unlock after %v: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		sessiontest.WantKind(t, s.Resize(ctx, 100, 30), term.Canceled)
	})
}
