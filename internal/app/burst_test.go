package app

import (
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/term"
)

// The collector's pace changes with large reads and writes of files, and comes back after them.
func TestBurst(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(90))
	pace := func() int {
		p := debug.SetGCPercent(90)
		debug.SetGCPercent(p)
		return p
	}
	synctest.Test(t, func(t *testing.T) {
		var b burst
		for _, e := range []term.Event{
			{Verb: term.VerbFileRead, Size: burstLeast - 1},
			{Verb: term.VerbOutput, Size: burstLeast},
			{Verb: term.VerbFileWrite, Size: burstLeast, PartOf: term.PartOf{Copy: "copy-1"}},
		} {
			if b.observe(e); pace() != 90 {
				t.Errorf("the pace after %+v = %d, want it as it was", e, pace())
			}
		}
		for _, verb := range []term.Verb{term.VerbFileRead, term.VerbFileWrite, term.VerbFileRead} {
			if b.observe(term.Event{Verb: verb, Size: burstLeast}); pace() != burstPace {
				t.Errorf("the pace in a burst = %d, want %d", pace(), burstPace)
			}
			time.Sleep(burstLasts - time.Millisecond)
		}
		synctest.Wait()
		if pace() != burstPace {
			t.Errorf("the pace %v after the last read = %d, want %d", burstLasts-time.Millisecond, pace(), burstPace)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if pace() != 90 {
			t.Errorf("the pace after the burst = %d, want it as it was", pace())
		}
	})
}
