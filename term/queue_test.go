package term_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/term"
)

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		q := term.NewQueue(3, term.ObserverFunc(func(e term.Event) {
			time.Sleep(time.Second)
			seen = append(seen, string(e.Data))
		}))
		data := []byte("0")
		q.Observe(term.Event{Data: data})
		synctest.Wait() // the Observer is busy with it
		data[0] = 'x'   // valid during the call alone
		for i := 1; i <= 5; i++ {
			q.Observe(term.Event{Data: fmt.Append(nil, i)})
		}
		if n := q.Dropped(); n != 2 {
			t.Errorf("%d dropped, want 2", n)
		}
		if err := q.Close(t.Context()); err != nil || !slices.Equal(seen, []string{"0", "1", "2", "3"}) {
			t.Errorf("Close = %v; seen %q", err, seen)
		}
		q.Observe(term.Event{}) // after Close: no observer gets it
		if err := q.Close(t.Context()); err != nil {
			t.Errorf("Close twice = %v", err)
		}
	})
}

func TestQueueCloseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy, seen := make(chan struct{}), 0
		q := term.NewQueue(0, term.ObserverFunc(func(term.Event) { <-busy; seen++ }))
		for range 5 {
			q.Observe(term.Event{})
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || q.Dropped() != 4 {
			t.Errorf("Close = %v, %d dropped; want the deadline, and 4", err, q.Dropped())
		}
		close(busy)
		if err := q.Close(t.Context()); err != nil || seen != 1 {
			t.Errorf("Close = %v, %d seen; want the one that was under way", err, seen)
		}
	})
}
