package reopen_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session/reopen"
	"ptyctl/term"
)

var errAway = &term.Error{Kind: term.ConnectFailed, Msg: "connection refused"}

// A far side that never comes back is tried at growing intervals until the time is over, and a last time then.
func TestPausesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		told := 0
		err := reopen.Run(t.Context(), time.Hour, func(context.Context) error {
			at = append(at, time.Since(began))
			return errAway
		}, func(p reopen.Progress) {
			if told++; p.Attempts != told || !errors.Is(p.Err, term.ConnectFailed) || !p.Until.Equal(began.Add(reopen.Longest)) {
				t.Errorf("progress %d = %+v", told, p)
			}
		})
		if !errors.Is(err, term.ConnectFailed) || time.Since(began) != reopen.Longest {
			t.Errorf("Run = %v after %v, want the last error after %v", err, time.Since(began), reopen.Longest)
		}
		if n := len(at); n < 55 || n > 75 || told != n-1 {
			t.Errorf("%d attempts in half an hour, and %d of them told; want about 65, and all but the last", n, told)
		}
		for i := 1; i < len(at)-1; i++ {
			pause, want := at[i]-at[i-1], min(time.Second<<(i-1), 30*time.Second)
			if i > 6 {
				want = 30 * time.Second
			}
			if i != 6 && (pause < want*9/10 || pause > want*11/10) {
				t.Errorf("pause %d = %v, want about %v", i, pause, want)
			}
		}
	})
}

// Without a time there is one attempt; a far side that is back ends the attempts.
func TestOneAttemptAndSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		attempt := func(back int) func(context.Context) error {
			n = 0
			return func(context.Context) error {
				if n++; n == back {
					return nil
				}
				return errAway
			}
		}
		if err := reopen.Run(t.Context(), 0, attempt(2), nil); !errors.Is(err, term.ConnectFailed) || n != 1 {
			t.Errorf("Run without a time = %v after %d attempts, want the first error", err, n)
		}
		began := time.Now()
		err := reopen.Run(t.Context(), 10*time.Minute, attempt(8), func(reopen.Progress) {})
		if err != nil || n != 8 || time.Since(began) > 3*time.Minute {
			t.Errorf("Run = %v after %d attempts and %v", err, n, time.Since(began))
		}
	})
}

// An attempt that would fail again in the same way, or counts against the account, is not repeated.
func TestOnlyTheWayIsTriedAgain(t *testing.T) {
	for _, kind := range []term.Kind{
		term.AuthFailed, term.HostKeyMismatch, term.HostKeyUnknown, term.HostKeyRevoked, term.PolicyDenied, term.Canceled,
		term.LimitExceeded, term.InvalidArgument, term.Internal, term.Busy,
	} {
		n := 0
		err := reopen.Run(t.Context(), time.Hour, func(context.Context) error {
			n++
			return fmt.Errorf("dial: %w", &term.Error{Kind: kind, Msg: "no"})
		}, func(reopen.Progress) {})
		if !errors.Is(err, kind) || n != 1 {
			t.Errorf("after %s there were %d attempts, and the error %v; want one", kind, n, err)
		}
	}
}

// The end of the context ends an attempt and a pause.
func TestCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("closed by task t1")
		for _, during := range []string{"attempt", "pause"} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
			began := time.Now()
			err := reopen.Run(ctx, time.Hour, func(ctx context.Context) error {
				if during == "attempt" {
					<-ctx.Done()
				}
				return errAway
			}, func(reopen.Progress) {})
			if !errors.Is(err, why) || time.Since(began) > 20*time.Millisecond {
				t.Errorf("Run, canceled in an %s, = %v after %v, want the cause at once", during, err, time.Since(began))
			}
		}
	})
}

// Run waits for a device that is missing on this machine, and tries again as soon as it is there.
func TestAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := make(chan struct{})
		missing := &term.Error{Kind: term.ConnectFailed, Facts: term.Facts{term.Absent{Await: func(ctx context.Context) error {
			select {
			case <-back:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}}}}
		time.AfterFunc(7*time.Minute, func() { close(back) })
		began, tries := time.Now(), 0
		var seen []reopen.Progress
		err := reopen.Run(t.Context(), 10*time.Minute, func(context.Context) error {
			if tries++; tries == 1 {
				return missing
			}
			return nil
		}, func(p reopen.Progress) { seen = append(seen, p) })
		if took := time.Since(began); err != nil || took != 7*time.Minute || tries != 2 || len(seen) != 1 || !seen[0].Next.Equal(seen[0].Until) {
			t.Errorf("Run = %v after %v and %d attempts, of which it said %+v", err, took, tries, seen)
		}
		// It stays away: the last attempt is made when the time is over.
		back, tries, began = make(chan struct{}), 0, time.Now()
		err = reopen.Run(t.Context(), time.Minute, func(context.Context) error { tries++; return missing }, func(reopen.Progress) {})
		if took := time.Since(began); !errors.Is(err, term.ConnectFailed) || took != time.Minute || tries != 2 {
			t.Errorf("Run = %v after %v and %d attempts, want the last after a minute", err, took, tries)
		}
		// The end of the caller ends the wait.
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("stop")
		time.AfterFunc(time.Second, func() { cancel(stop) })
		if err = reopen.Run(ctx, time.Hour, func(context.Context) error { return missing }, func(reopen.Progress) {}); !errors.Is(err, stop) {
			t.Errorf("Run of a canceled context = %v", err)
		}
		// If the missing device cannot be watched, the next attempt comes after the usual pause.
		blind := &term.Error{Kind: term.ConnectFailed, Facts: term.Facts{term.Absent{Await: func(context.Context) error {
			return errors.New("no watches are left")
		}}}}
		tries, began = 0, time.Now()
		err = reopen.Run(t.Context(), time.Minute, func(context.Context) error {
			if tries++; tries == 1 {
				return blind
			}
			return nil
		}, func(reopen.Progress) {})
		if took := time.Since(began); err != nil || took < 900*time.Millisecond || took > 1100*time.Millisecond {
			t.Errorf("Run = %v after %v, want a pause of a second", err, took)
		}
	})
}
