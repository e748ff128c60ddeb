package reopen

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"ptyctl/term"
)

// Longest is the longest time for which attempts are made.
const Longest = 30 * time.Minute

const (
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

// Progress says how far the attempts have come, after one that has failed.
type Progress struct {
	Attempts int       // made so far; 0: the first one is under way, or none was started
	Err      error     // why the last one failed
	Next     time.Time // when the next one begins
	Until    time.Time // when the last one begins
}

// Run calls attempt until it succeeds, fails for good, limit has passed, or ctx ends. After each failure that is
// followed by another attempt it calls failed. The pauses grow from one second to half a minute; a failure with the
// fact term.Absent is followed by an attempt as soon as the missing device is there. The last attempt
// begins when limit has passed; a limit of 0 allows one attempt.
//
// The error is that of the last attempt, or the cause of the end of ctx.
func Run(ctx context.Context, limit time.Duration, attempt func(context.Context) error, failed func(Progress)) error {
	until := time.Now().Add(min(limit, Longest))
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for n := 1; ; n++ {
		err := attempt(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		left := time.Until(until)
		if left <= 0 || !Passing(err) {
			return err
		}
		pause := min(pauseAfter(n), left)
		next := time.Now().Add(pause)
		if term.FactOf[term.Absent](err).Await != nil { // at the latest
			next = until
		}
		failed(Progress{Attempts: n, Err: err, Next: next, Until: until})
		if err := pausing(ctx, timer, pause, left, err); err != nil {
			return err
		}
	}
}

// pausing waits for the next attempt: for the pause, or, if something of this machine was missing, until that is there,
// and at most as long as is left.
func pausing(ctx context.Context, timer *time.Timer, pause, left time.Duration, why error) error {
	if absent := term.FactOf[term.Absent](why); absent.Await != nil {
		waiting, stop := context.WithTimeout(ctx, left)
		defer stop()
		err := absent.Await(waiting)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil || waiting.Err() != nil {
			return nil
		}
		// It cannot be watched.
	}
	timer.Reset(pause)
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pauseAfter is the pause after the nth failure in a row. Sessions that were lost together must not all come back at
// the same moment, so it varies by a fifth.
func pauseAfter(n int) time.Duration {
	pause := longestPause
	if n < 6 { // the sixth would be 32 s
		pause = firstPause << (n - 1)
	}
	return pause - pause/10 + rand.N(pause/5)
}

// Passing reports whether the cause of a failed attempt may pass by itself.
func Passing(err error) bool {
	for _, kind := range []term.Kind{term.ConnectFailed, term.ConnectTimeout, term.RemoteClosed} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
