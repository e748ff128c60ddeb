package gcburst

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
	now := func() int {
		p := debug.SetGCPercent(90)
		debug.SetGCPercent(p)
		return p
	}
	synctest.Test(t, func(t *testing.T) {
		var b Burst
		for _, e := range []term.Event{
			{Verb: term.VerbFileRead, Size: least - 1},
			{Verb: term.VerbOutput, Size: least},
			{Verb: term.VerbFileWrite, Size: least, PartOf: term.PartOf{Copy: "copy-1"}},
		} {
			if b.Observe(e); now() != 90 {
				t.Errorf("the pace after %+v = %d, want it as it was", e, now())
			}
		}
		for _, verb := range []term.Verb{term.VerbFileRead, term.VerbFileWrite, term.VerbFileRead} {
			if b.Observe(term.Event{Verb: verb, Size: least}); now() != pace {
				t.Errorf("the pace in a burst = %d, want %d", now(), pace)
			}
			time.Sleep(lasts - time.Millisecond)
		}
		synctest.Wait()
		if now() != pace {
			t.Errorf("the pace %v after the last read = %d, want %d", lasts-time.Millisecond, now(), pace)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if now() != 90 {
			t.Errorf("the pace after the burst = %d, want it as it was", now())
		}
	})
}
