package devlock_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/devlock"
)

// A lease fails its check when its time is over, whether or not its store has noticed, and is never revived.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := devlock.NewLease("rack1", devlock.Owner{Session: "s1"}, 5)
		if err := l.Check(); err != nil || !l.Until().IsZero() {
			t.Errorf("a lease without an end: %v, until %v", err, l.Until())
		}
		began := time.Now()
		if err := l.Extend(began.Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if err := l.Extend(began.Add(8 * time.Second)); err != nil { // a renewal that is confirmed late
			t.Fatal(err)
		}
		time.Sleep(10*time.Second - 1)
		if err := l.Check(); err != nil {
			t.Errorf("a nanosecond before the end: %v", err)
		}
		time.Sleep(time.Nanosecond)
		var lost *devlock.LostError
		if err := l.Check(); !errors.As(err, &lost) || lost.Device != "rack1" || !strings.Contains(err.Error(), "not renewed") {
			t.Errorf("at the end: %v, want a LostError", err)
		}
		if err := l.Extend(began.Add(time.Hour)); !errors.As(err, &lost) {
			t.Errorf("a renewal after the end: %v, want a LostError", err)
		}
		if err := l.Check(); err == nil {
			t.Error("a renewal has revived the lease")
		}
		told := make(chan error, 1)
		l.AfterEnd(func(err error) { told <- err })
		synctest.Wait()
		if len(told) != 0 {
			t.Error("the end was told before the store has ended the lease")
		}
		l.End(&devlock.LostError{Device: "rack1", Why: "taken", Owner: devlock.Owner{Node: "b", PID: 3, Session: "s2"}})
		l.End(nil)
		if err := <-told; !strings.Contains(err.Error(), `process 3 of node "b" (session "s2"`) {
			t.Errorf("the end is told as %v, want the next owner in it", err)
		}
	})
}

// BenchmarkCheck measures what comes before each write.
func BenchmarkCheck(b *testing.B) {
	l := devlock.NewLease("rack1", devlock.Owner{}, 1)
	_ = l.Extend(time.Now().Add(time.Hour))
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Check(); err != nil {
			b.Fatal(err)
		}
	}
}
