package lane_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

func queued(command string) session.ExecRequest {
	r := posix(command)
	r.Queue = true
	return r
}

// Queued commands run one at a time, in the order in which they came, each with its whole time.
func TestQueue(t *testing.T) {
	inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		var wg sync.WaitGroup
		want := make([]string, 0, 6)
		for i := range 6 {
			command := fmt.Sprintf("work %d", 10+i)
			want = append(want, command)
			wg.Go(func() {
				r := queued(command)
				r.Timeout, r.Wait = 70*time.Second, 5*time.Minute // the last one waits for 60 s and runs for 15
				got, err := s.Exec(t.Context(), r)
				if err != nil {
					t.Error(err)
					return
				}
				wantMarker(t, got, "begun\ndone\n", 3)
			})
			synctest.Wait()
		}
		_, err := s.Exec(t.Context(), posix("say no"))
		if e := wantKind(t, err, term.Busy); !strings.Contains(e.Msg, "queue") {
			t.Errorf("refusal = %q, want it to name the queue", e.Msg)
		}
		wg.Wait()
		if !slices.Equal(sh.ran, want) {
			t.Errorf("ran %q, want %q", sh.ran, want)
		}
		wantMarker(t, run(t, s, queued("say done")), "done\n", 0) // nothing to wait for
	})
}

// A command that did not get its turn was not typed, and those behind it move up.
func TestQueueTurnDoesNotCome(t *testing.T) {
	inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		var wg sync.WaitGroup
		wg.Go(func() { run(t, s, posix("work 30")) })
		synctest.Wait()
		wg.Go(func() {
			r := queued("say late")
			r.Timeout = 5 * time.Second
			var err error
			if d := since(func() { _, err = s.Exec(t.Context(), r) }); d != 5*time.Second {
				t.Errorf("it waited %v", d)
			}
			if e := wantKind(t, err, term.ExecTimeout); !strings.Contains(e.Msg, "nothing was typed") ||
				!strings.Contains(e.Msg, "exec-") {
				t.Errorf("timeout in the queue = %q, want \"nothing was typed\" and the id of the exec before", e.Msg)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
			defer cancel()
			_, err := s.Exec(ctx, queued("say canceled"))
			wantKind(t, err, term.Canceled)
		})
		synctest.Wait()
		wg.Go(func() { wantMarker(t, run(t, s, queued("say third")), "third\n", 0) })
		wg.Wait()
		if want := []string{"work 30", "say third"}; !slices.Equal(sh.ran, want) {
			t.Errorf("ran %q, want %q", sh.ran, want)
		}
	})
}

// A command that has lost its marker gives way to one that is queued, as it does to one that is not.
func TestQueueBehindLostMarker(t *testing.T) {
	inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		if got := run(t, s, posix("nest")); got.WaitingFor == nil || got.WaitingFor.Kind != prompt.Command {
			t.Fatalf("nest = %+v, want it waiting at a shell's prompt", got)
		}
		wantMarker(t, run(t, s, queued("say next")), "next\n", 0)
	})
}

// A question keeps the terminal: the queue waits for its answer.
func TestQueueBehindQuestion(t *testing.T) {
	inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		if got := run(t, s, posix("sudo")); got.WaitingFor == nil || got.WaitingFor.Kind != prompt.Password {
			t.Fatalf("sudo = %+v, want it waiting for a password", got)
		}
		var wg sync.WaitGroup
		wg.Go(func() { wantMarker(t, run(t, s, queued("say next")), "next\n", 0) })
		time.Sleep(5 * time.Second)
		typeIn(t, s, "secret\r")
		wg.Wait()
		if want := []string{"sudo", "say next"}; !slices.Equal(sh.ran, want) {
			t.Errorf("ran %q, want %q", sh.ran, want)
		}
	})
}

// The session's end is the end of the queue, and a lock that changed hands meanwhile refuses the late command.
func TestQueueEnds(t *testing.T) {
	inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		var wg sync.WaitGroup
		wg.Go(func() { run(t, s, posix("work 10")) })
		synctest.Wait()
		wg.Go(func() {
			_, err := s.Exec(t.Context(), queued("say locked out"))
			wantKind(t, err, term.Locked)
		})
		synctest.Wait()
		if _, err := s.Lock(task("other"), time.Minute); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if err := s.Unlock(task("other")); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { s.Exec(t.Context(), posix("work 10")) })
		synctest.Wait()
		wg.Go(func() {
			_, err := s.Exec(t.Context(), queued("say closed"))
			wantKind(t, err, term.AlreadyClosed)
		})
		synctest.Wait()
		s.Close(t.Context(), session.CloseOptions{Force: true})
		wg.Wait()
		if want := []string{"work 10", "work 10"}; !slices.Equal(sh.ran, want) {
			t.Errorf("ran %q, want %q", sh.ran, want)
		}
	})
}
