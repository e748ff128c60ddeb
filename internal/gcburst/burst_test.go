package gcburst

import (
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/term"
)

// The collector's pace changes with large reads and writes of files, and comes back after them.
func TestBurst(t *testing.T) {
	runtime.GC() // for the garbage of another test
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

// A large heap has no more garbage than a small one.
func TestPaceFor(t *testing.T) {
	for _, tt := range []struct {
		live uint64
		want int
	}{{0, 400}, {1 << 20, 400}, {4 << 20, 400}, {8 << 20, 200}, {16 << 20, 100}, {1 << 30, 1}} {
		if got := paceFor(tt.live); got != tt.want {
			t.Errorf("the pace for %d bytes = %d, want %d", tt.live, got, tt.want)
		}
	}
}

// A program with a heap of 64 MiB has no burst, and a program that grows to that size has its pace again.
func TestLargeHeap(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(90))
	now := func() int {
		p := debug.SetGCPercent(90)
		debug.SetGCPercent(p)
		return p
	}
	runtime.GC()
	synctest.Test(t, func(t *testing.T) {
		var b Burst
		read := term.Event{Verb: term.VerbFileRead, Size: least}
		if b.Observe(read); now() <= 90 {
			t.Errorf("the pace with a small heap = %d, want more than before", now())
		}
		held := make([]byte, 64<<20)
		runtime.GC()
		if b.Observe(read); now() != 90 {
			t.Errorf("the pace in a burst whose heap has grown = %d, want it as it was", now())
		}
		time.Sleep(2 * lasts)
		synctest.Wait()
		if b.Observe(read); now() != 90 || b.timer != nil {
			t.Errorf("the pace with a large heap = %d, want it as it was", now())
		}
		runtime.KeepAlive(held)
	})
}
