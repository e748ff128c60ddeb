package session_test

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// ticking prints a line each second until it is stopped, or has printed n.
func ticking(n int) execFunc {
	return func(ctx context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
		for i := range n {
			select {
			case <-time.After(time.Second):
				fmt.Fprintln(stdout, i)
			case <-ctx.Done():
				return term.Exit{Killed: "yes"}, nil
			}
		}
		return term.Exit{Known: true}, nil
	}
}

// TestContinueReturnsWhatIsNew: each result has the output since the caller's last one, and the whole output is in them
// without a gap or a repetition. Another caller's results are their own.
func TestContinueReturnsWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, ticking(4), session.Options{})
		got := run(t, s, session.ExecRequest{Command: "x", Timeout: time.Hour, Wait: 1500 * time.Millisecond})
		id := got.ID
		other := term.WithActor(t.Context(), term.Actor{Transport: "http", Token: "other"})
		for _, step := range []struct {
			name  string
			ctx   context.Context
			r     session.ContinueRequest
			want  string
			start int64
			done  session.DoneReason
		}{
			{"at once", t.Context(), session.ContinueRequest{New: true}, "", 2, session.DoneRunning},
			{"a second later", t.Context(), session.ContinueRequest{New: true, Wait: time.Second}, "1\n", 2, session.DoneRunning},
			{"another caller", other, session.ContinueRequest{New: true, Wait: time.Second}, "0\n1\n2\n", 0, session.DoneRunning},
			{"to the end", t.Context(), session.ContinueRequest{New: true, Wait: time.Hour}, "2\n3\n", 4, session.DoneExitStatus},
			{"after the end", t.Context(), session.ContinueRequest{New: true}, "", 8, session.DoneExitStatus},
			{"all of it", t.Context(), session.ContinueRequest{}, "0\n1\n2\n3\n", 0, session.DoneExitStatus},
			{"the other caller's rest", other, session.ContinueRequest{New: true}, "3\n", 6, session.DoneExitStatus},
		} {
			got, err := s.ContinueExec(step.ctx, id, step.r)
			if err != nil || string(got.Stdout.Bytes()) != step.want || got.Stdout.Start != step.start ||
				got.Done != step.done || got.Stdout.Total > 8 {
				t.Errorf("%s: ContinueExec(%+v) = %s, %q from %d, %v; want %s, %q from %d",
					step.name, step.r, got.Done, got.Stdout.Bytes(), got.Stdout.Start, err, step.done, step.want, step.start)
			}
		}
		// The deadline does not matter to an ended command; neither does a new one.
		got, err := s.ContinueExec(t.Context(), id, session.ContinueRequest{Timeout: time.Hour})
		if err != nil || got.Moved || got.Done != session.DoneExitStatus {
			t.Errorf("ContinueExec with a timeout after the end = %+v, %v; want Moved false", got, err)
		}
	})
}

// TestContinueKeepsMaxOutput: the first call's budget counts until a call names another, and what did not fit, or was
// not kept, is said with its offset.
func TestContinueKeepsMaxOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := make(chan string)
		s := startExec(t, func(_ context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
			for text := range next {
				io.WriteString(stdout, text)
			}
			return term.Exit{Known: true}, nil
		}, session.Options{ExecBytes: 1 << 10})
		got := run(t, s, session.ExecRequest{Command: "x", Timeout: time.Hour, Wait: time.Second, MaxOutput: 10})
		id, off := got.ID, int64(0)
		cont := func(r session.ContinueRequest, text string) session.Output {
			t.Helper()
			next <- text
			synctest.Wait()
			off += int64(len(text))
			r.New = true
			got, err := s.ContinueExec(t.Context(), id, r)
			if err != nil || got.Stdout.Total != off || got.Stdout.Next() != off {
				t.Fatalf("ContinueExec(%+v) = %+v, %v; want output up to %d", r, got, err, off)
			}
			return got.Stdout
		}
		for _, c := range []struct {
			r                session.ContinueRequest
			text, head, tail string
			omitted          int64
		}{
			{session.ContinueRequest{}, "short", "short", "", 0},
			{session.ContinueRequest{}, "abcdefghijklmnopqrstuvwxyz", "abcde", "vwxyz", 16},
			{session.ContinueRequest{MaxOutput: 4}, "abcdefghijklmnopqrstuvwxyz", "ab", "yz", 22},
			{session.ContinueRequest{}, "0123456789", "0123456789", "", 0},
			{session.ContinueRequest{}, strings.Repeat("x", 64<<10) + "end", "xxxxx", "xxend", 64<<10 + 3 - 10},
			{session.ContinueRequest{}, "beyond what is kept of the start", "beyon", "start", 32 - 10},
			// More than is kept comes at once: its start is gone.
			{session.ContinueRequest{}, strings.Repeat("y", 2<<10) + "end", "", "yyend", 2<<10 + 3 - 5},
			{session.ContinueRequest{MaxOutput: 4 << 10}, strings.Repeat("z", 2<<10), "", strings.Repeat("z", 1<<10), 1 << 10},
		} {
			from := off
			o := cont(c.r, c.text)
			if o.Start != from || string(o.Head) != c.head || string(o.Tail) != c.tail || o.Omitted() != c.omitted ||
				o.Cut() != from+int64(len(c.head)) {
				t.Errorf("after %.40q: start %d, %q and %q, %d bytes left out at %d; want start %d, %q and %q, %d",
					c.text, o.Start, o.Head, o.Tail, o.Omitted(), o.Cut(), from, c.head, c.tail, c.omitted)
			}
		}
		close(next)
	})
}

// TestContinueCutsNoRune: while the command runs, an unfinished rune is left for the next result.
func TestContinueCutsNoRune(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := make(chan string)
		s := startExec(t, func(_ context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
			for text := range next {
				io.WriteString(stdout, text)
			}
			return term.Exit{Known: true}, nil
		}, session.Options{})
		id := run(t, s, session.ExecRequest{Command: "x", Timeout: time.Hour, Wait: 1}).ID
		for _, c := range []struct{ text, want string }{
			{"h\xc3", "h"}, {"\xa9llo \xe2\x82", "éllo "}, {"\xac\xff", "€\xff"}, {"\xe2", ""},
		} {
			next <- c.text
			synctest.Wait()
			got, err := s.ContinueExec(t.Context(), id, session.ContinueRequest{New: true})
			if err != nil || string(got.Stdout.Bytes()) != c.want {
				t.Errorf("after %q: %q, %v; want %q", c.text, got.Stdout.Bytes(), err, c.want)
			}
		}
		close(next)
		got, err := s.ContinueExec(t.Context(), id, session.ContinueRequest{New: true, Wait: time.Second})
		if err != nil || string(got.Stdout.Bytes()) != "\xe2" || got.Done != session.DoneExitStatus {
			t.Errorf("at the end: %q (%s), %v; want the rest of the rune", got.Stdout.Bytes(), got.Done, err)
		}
	})
}

// TestContinueFindsErrorsAcrossResults: a line of which an earlier result had the start is matched as one.
func TestContinueFindsErrorsAcrossResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, func(_ context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
			io.WriteString(stdout, "Access denied.\n% Inva")
			time.Sleep(time.Minute)
			io.WriteString(stdout, "lid input\n")
			return term.Exit{Known: true}, nil
		}, session.Options{Expect: session.Expect{Errors: []*regexp.Regexp{re("% Invalid input|denied")}}})
		got := run(t, s, session.ExecRequest{Command: "x", Timeout: time.Hour, Wait: time.Second})
		if len(got.ErrorHints) != 1 || got.ErrorHints[0] != "denied" {
			t.Errorf("the first result's hints are %q, want denied", got.ErrorHints)
		}
		got, err := s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{New: true, Wait: time.Hour})
		if err != nil || len(got.ErrorHints) != 1 || got.ErrorHints[0] != "% Invalid input" {
			t.Errorf("the second result's hints are %q (%v), want %% Invalid input", got.ErrorHints, err)
		}
	})
}

// TestDeadlineMoves: a continued command gets a new deadline, earlier or later than its own, and results have the
// time that is left.
func TestDeadlineMoves(t *testing.T) {
	for _, to := range []time.Duration{time.Second, 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			s := startExec(t, obedient("some"), session.Options{})
			began := time.Now()
			got := run(t, s, session.ExecRequest{Command: "x", Timeout: 30 * time.Second, Wait: 10 * time.Second})
			if got.Done != session.DoneRunning || got.Remaining != 20*time.Second {
				t.Fatalf("after 10s of 30s: %s with %v left, want running with 20s", got.Done, got.Remaining)
			}
			id := got.ID
			got, err := s.ContinueExec(t.Context(), id, session.ContinueRequest{Timeout: to})
			if err != nil || got.Done != session.DoneRunning || got.Remaining != to || !got.Moved {
				t.Fatalf("moved to %v: %s with %v left, moved %v, %v", to, got.Done, got.Remaining, got.Moved, err)
			}
			got, err = s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: time.Hour})
			if took, want := time.Since(began), 10*time.Second+to; err != nil || !got.TimedOut || took != want {
				t.Errorf("moved to %v: %s after %v (%v), want timeout after %v", to, got.Done, took, err, want)
			}
		})
	}
}

// TestDeadlineMovesUnderAWait: a call that waits sees the deadline that another one has moved.
func TestDeadlineMovesUnderAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, func(ctx context.Context, _ term.ExecRequest, _, _ io.Writer) (term.Exit, error) {
			<-ctx.Done()
			time.Sleep(time.Hour) // takes no signal
			return term.Exit{}, nil
		}, session.Options{})
		id := run(t, s, session.ExecRequest{Command: "x", Timeout: 30 * time.Second, Wait: time.Second}).ID
		go func() {
			time.Sleep(time.Second)
			if _, err := s.ContinueExec(t.Context(), id, session.ContinueRequest{Timeout: time.Minute}); err != nil {
				t.Error(err)
			}
		}()
		var got session.ExecResult
		took := since(func() { got, _ = s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: time.Hour}) })
		if want := time.Second + time.Minute; took < want || took > want+time.Second || !got.TimedOut {
			t.Errorf("the wait ended after %v (%s), want %v and a moment", took, got.Done, want)
		}
		time.Sleep(time.Hour)
	})
}

// TestDeadlineNeedsTheLock: who may not stop a command may not move its deadline either.
func TestDeadlineNeedsTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, obedient("some"), session.Options{})
		id := run(t, s, session.ExecRequest{Command: "x", Timeout: 30 * time.Second, Wait: time.Second}).ID
		if _, err := s.Lock(task("t1"), time.Minute); err != nil {
			t.Fatal(err)
		}
		_, err := s.ContinueExec(task("t2"), id, session.ContinueRequest{Timeout: time.Millisecond})
		wantKind(t, err, term.Locked)
		got, err := s.ContinueExec(task("t2"), id, session.ContinueRequest{})
		if err != nil || got.Done != session.DoneRunning || got.Remaining != 29*time.Second {
			t.Errorf("after the refusal: %s with %v left, %v; want running with 29s", got.Done, got.Remaining, err)
		}
		if got, err = s.ContinueExec(task("t1"), id, session.ContinueRequest{Timeout: time.Hour}); err != nil || !got.Moved {
			t.Errorf("the holder: %+v, %v; want Moved", got, err)
		}
	})
}

// TestUnattended: a command whose caller named no time is not stopped while it is waited for, nor soon after.
func TestUnattended(t *testing.T) {
	const lease = 10 * time.Minute
	request := session.ExecRequest{Command: "x", Timeout: time.Minute, Unattended: lease, Wait: 50 * time.Second}
	start := func(t *testing.T) (*session.Session, string) {
		s := startExec(t, obedient("some"), session.Options{})
		got := run(t, s, request)
		if got.Done != session.DoneRunning || got.Remaining != lease {
			t.Fatalf("handed over: %s with %v left, want running with %v", got.Done, got.Remaining, lease)
		}
		return s, got.ID
	}
	t.Run("without a hand-over the deadline counts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := startExec(t, obedient("some"), session.Options{})
			r := request
			r.Wait = time.Hour
			var got session.ExecResult
			if took := since(func() { got = run(t, s, r) }); took != time.Minute || !got.TimedOut {
				t.Errorf("%s after %v, want timeout after 1m", got.Done, took)
			}
		})
	})
	t.Run("left alone it ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, id := start(t)
			time.Sleep(lease - time.Second)
			if r := s.Info().Running; len(r) != 1 {
				t.Fatalf("a second before: running %q", r)
			}
			time.Sleep(2 * time.Second)
			got, err := s.ContinueExec(t.Context(), id, session.ContinueRequest{})
			if err != nil || !got.TimedOut || got.Duration != 50*time.Second+lease {
				t.Errorf("%s after %v, %v; want timeout after %v", got.Done, got.Duration, err, 50*time.Second+lease)
			}
		})
	})
	t.Run("each call renews it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, id := start(t)
			for i := range 10 {
				time.Sleep(lease - time.Second)
				var err error
				if i%2 == 0 {
					_, err = s.ReadExec(t.Context(), id, "stdout", session.ReadRequest{NoWait: true})
				} else {
					_, err = s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: time.Second})
				}
				if r := s.Info().Running; len(r) != 1 || err != nil {
					t.Fatalf("call %d: running %q, %v", i, r, err)
				}
			}
		})
	})
	t.Run("a wait longer than it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, id := start(t)
			var brief, long session.ExecResult
			done := make(chan struct{})
			go func() {
				defer close(done)
				long, _ = s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: 3 * lease})
			}()
			synctest.Wait()
			brief, _ = s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: 2 * lease})
			if brief.Done != session.DoneRunning || brief.Remaining < lease {
				t.Errorf("beside another wait: %s with %v left", brief.Done, brief.Remaining)
			}
			<-done
			if long.Done != session.DoneRunning || long.Remaining != lease {
				t.Errorf("after it: %s with %v left, want running with %v", long.Done, long.Remaining, lease)
			}
		})
	})
	t.Run("a named time ends it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, id := start(t)
			got, err := s.ContinueExec(t.Context(), id, session.ContinueRequest{Timeout: time.Minute, Wait: time.Second})
			if err != nil || got.Remaining != 59*time.Second {
				t.Errorf("%v left, %v; want 59s", got.Remaining, err)
			}
			got, err = s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: time.Hour})
			if err != nil || !got.TimedOut || got.Duration != 110*time.Second {
				t.Errorf("%s after %v, %v; want timeout after 1m50s", got.Done, got.Duration, err)
			}
		})
	})
	t.Run("a longer first deadline stays", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := startExec(t, obedient("some"), session.Options{})
			r := request
			r.Timeout = time.Hour
			if got := run(t, s, r); got.Remaining != time.Hour-50*time.Second {
				t.Errorf("%v left, want what is left of the hour", got.Remaining)
			}
		})
	})
	t.Run("a canceled call", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := startExec(t, obedient("some"), session.Options{})
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			_, err := s.Exec(ctx, request)
			wantKind(t, err, term.Canceled)
			time.Sleep(lease - time.Second)
			if r := s.Info().Running; len(r) != 1 {
				t.Errorf("running %q, want the command", r)
			}
		})
	})
}
