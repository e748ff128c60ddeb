package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// TestExecWhoseCallIsCanceled: the wait ends at once. The command goes on to its deadline, or, if that was asked, is
// stopped; either way its id is known and its output is there.
func TestExecWhoseCallIsCanceled(t *testing.T) {
	for name, stop := range map[string]bool{"goes on": false, "is stopped": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startExec(t, obedient("some output"), session.Options{})
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				began := time.Now()
				_, err := s.Exec(ctx, session.ExecRequest{Command: "x", Timeout: 30 * time.Second, StopOnCancel: stop})
				if !errors.Is(err, term.Canceled) || !strings.Contains(err.Error(), "exec-") || time.Since(began) != time.Second {
					t.Fatalf("%v after %v", err, time.Since(began))
				}
				synctest.Wait()
				i := s.Info()
				if running := !stop; (len(i.Running) == 1) != running || (len(i.Unfetched) == 1) == running ||
					s.Received() != int64(len("some output")) {
					t.Fatalf("running %q, fetched by nobody %q, %d bytes", i.Running, i.Unfetched, s.Received())
				}
				id := append(i.Running, i.Unfetched...)[0]
				res, err := s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: time.Hour})
				if err != nil || string(res.Stdout.Bytes()) != "some output" || res.Canceled != stop || res.TimedOut == stop {
					t.Errorf("%+v, %v", res, err)
				}
				if i = s.Info(); len(i.Running)+len(i.Unfetched) != 0 {
					t.Errorf("afterwards running %q, fetched by nobody %q", i.Running, i.Unfetched)
				}
			})
		})
	}
}

// TestContinueThatIsCanceled: who waits for a command that is to be stopped with its call is such a call as well.
func TestContinueThatIsCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, obedient(""), session.Options{})
		res, err := s.Exec(
			t.Context(),
			session.ExecRequest{Command: "x", Timeout: time.Hour, Wait: time.Second, StopOnCancel: true},
		)
		if err != nil || res.Done != session.DoneRunning {
			t.Fatalf("%+v, %v", res, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.ContinueExec(ctx, res.ID, session.ContinueRequest{Wait: time.Minute}); !errors.Is(err, term.Canceled) {
			t.Errorf("ContinueExec with an ended context = %v, want Canceled", err)
		}
		synctest.Wait()
		if i := s.Info(); len(i.Running) != 0 {
			t.Errorf("%q still runs", i.Running)
		}
	})
}

func TestExecCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, obedient("some"), session.Options{})
		id := run(t, s, session.ExecRequest{Command: "id", Wait: time.Second}).ID
		got, err := s.CancelExec(t.Context(), id, session.ContinueRequest{})
		if err != nil || got.Done != session.DoneTimeout || !got.Canceled || got.TimedOut || got.ExitReason != "canceled" ||
			got.Exit.Killed != "yes" ||
			string(got.Stdout.Bytes()) != "some" ||
			got.ID != "" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// The call that is canceled leaves its command running.
func TestExecCallCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, obedient("some"), session.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Exec(ctx, session.ExecRequest{Command: "id"})
		e := wantKind(t, err, term.Canceled)
		if running := s.Info().Running; len(running) != 1 || !strings.Contains(e.Msg, running[0]) {
			t.Errorf("running %q, error %v", running, e)
		}
	})
}

// A call that ends because the program does is not told that its command goes on.
func TestExecCallEndsWithTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, obedient("some"), session.Options{})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(fmt.Errorf("the client has gone: %w", term.ErrStopping)) })
		_, err := s.Exec(ctx, session.ExecRequest{Command: "id"})
		e := wantKind(t, err, term.Canceled)
		if strings.Contains(e.Msg+e.Advice, "goes on") || !strings.Contains(e.Msg, "stopping") || e.Reason != "" {
			t.Errorf("error %v, want that the command ends, too", e)
		}
	})
}

// The deadline is kept though the far side does not obey it, and what comes later is not lost.
func TestExecTimeout(t *testing.T) {
	for _, c := range []struct {
		late   time.Duration
		killed string
		took   time.Duration
	}{{0, "yes", 2 * time.Second}, {100 * time.Millisecond, "yes", 2100 * time.Millisecond}, {10 * time.Second, "unknown", 2150 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			s := startExec(t, func(ctx context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
				io.WriteString(stdout, "some")
				<-ctx.Done()
				time.Sleep(c.late)
				io.WriteString(stdout, " more")
				return term.Exit{Killed: "yes"}, nil
			}, session.Options{})
			var got session.ExecResult
			took := since(func() { got = run(t, s, session.ExecRequest{Command: "id", Timeout: 2 * time.Second}) })
			if took != c.took || got.Done != session.DoneTimeout || !got.TimedOut || got.Canceled ||
				got.ExitReason != "timeout" ||
				got.Exit.Killed != c.killed {
				t.Errorf("late %v: %+v after %v", c.late, got, took)
			}
			if c.killed != "unknown" {
				return
			}
			time.Sleep(c.late)
			if got, err := s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{}); err != nil ||
				got.Exit.Killed != "yes" || !got.TimedOut ||
				string(got.Stdout.Bytes()) != "some more" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}
