package mux

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"
)

func TestAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		rang := make(chan time.Duration, 2)
		a := newAlarm(time.Second, func() { rang <- time.Since(began) })
		time.Sleep(time.Second / 2)
		a.reset(time.Second)
		if at := <-rang; at != 3*time.Second/2 {
			t.Errorf("it rang after %v, want 1.5 s", at)
		}
		a.reset(time.Second)
		if at := <-rang; at != 5*time.Second/2 {
			t.Errorf("it rang again after %v, want 2.5 s", at)
		}
		a.reset(time.Second)
		a.stop()
		a.reset(time.Second)
		time.Sleep(time.Minute)
		if len(rang) != 0 {
			t.Errorf("it rang after %v, which is after its end", <-rang)
		}
	})
}

// A stopped alarm holds nothing, also while the runtime still has its timer.
func TestStoppedAlarmHoldsNothing(t *testing.T) {
	for range 1000 { // so many others that the runtime does not look for stopped ones
		defer time.AfterFunc(time.Hour, func() {}).Stop()
	}
	held := new([1 << 20]byte)
	gone := weak.Make(held)
	a := newAlarm(time.Minute, func() { runtime.KeepAlive(held) })
	a.stop()
	runtime.GC()
	if gone.Value() != nil {
		t.Error("the function of a stopped alarm is still held")
	}
}
