package apps

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/term"
)

// However many calls come at once, a viewer gets one turn a second; calls that would wait too long are refused, and
// other viewers have turns of their own.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		v := viewer{term.Principal{Transport: "http", Token: "ops"}, "web1-k3f9q2zd"}
		began := time.Now()
		var mu sync.Mutex
		var turns []time.Duration
		refused := 0
		var calls sync.WaitGroup
		for range 30 {
			calls.Go(func() {
				err := p.turn(t.Context(), v)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					turns = append(turns, time.Since(began))
				case term.KindOf(err) == term.Busy:
					refused++
				default:
					t.Errorf("turn = %v, want a turn or BUSY", err)
				}
			})
		}
		other := v
		other.by.Token = "ci"
		if wait, ok := p.reserve(other); !ok || wait != 0 {
			t.Errorf("another caller waits %v (%t), want a turn at once", wait, ok)
		}
		calls.Wait()
		slices.Sort(turns)
		for i, at := range turns {
			if want := time.Duration(i) * time.Second; at != want {
				t.Errorf("turn %d is after %v, want %v", i, at, want)
			}
		}
		if len(turns) != 21 || refused != 9 {
			t.Errorf("%d turns and %d refusals, want 21 and 9", len(turns), refused)
		}
	})
}

// A caller that gives up keeps no one from the turn behind its own, and viewers that are gone take no memory.
func TestPaceEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		v := viewer{session: "s"}
		_, _ = p.reserve(v)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		if err := p.turn(ctx, v); term.KindOf(err) != term.Canceled {
			t.Errorf("turn of a canceled call = %v, want CANCELED", err)
		}
		for i := range 3 * mostViewers {
			_, _ = p.reserve(viewer{session: fmt.Sprint(i)})
			if i%mostViewers == 0 {
				time.Sleep(2 * gap)
			}
		}
		if len(p.next) > mostViewers {
			t.Errorf("%d viewers are remembered, want at most %d of which the turn has come", len(p.next), mostViewers)
		}
	})
}

// newPace returns a pace without turns.
func newPace() *pace { return &pace{next: make(map[viewer]time.Time)} }
