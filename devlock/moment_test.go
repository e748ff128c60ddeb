package devlock

import (
	"errors"
	"testing"
	"time"
)

// suspendable replaces the boot clock by one that the test moves on, as a suspension does.
func suspendable(t *testing.T) (suspend func(time.Duration)) {
	real, slept := bootClock, time.Duration(0)
	if real() == 0 {
		real = func() time.Duration { return time.Since(time.Time{}) }
	}
	bootClock = func() time.Duration { return real() + slept }
	t.Cleanup(func() { bootClock = real })
	return func(d time.Duration) { slept += d }
}

// A machine that is suspended for longer than its leases has none when it wakes up, although the clock of package time
// has stood still.
func TestSuspension(t *testing.T) {
	suspend := suspendable(t)
	l := NewLease("rack1", Owner{}, 1)
	if err := l.ExtendFrom(Now(), time.Hour); err != nil {
		t.Fatal(err)
	}
	suspend(59 * time.Minute)
	if err := l.Check(); err != nil {
		t.Errorf("after 59 minutes of an hour: %v", err)
	}
	if left := l.UntilMoment().Boot() - Now().Boot(); left > time.Minute || left < 50*time.Second {
		t.Errorf("%v of a minute are left", left)
	}
	suspend(time.Minute)
	var lost *LostError
	if err := l.Check(); !errors.As(err, &lost) {
		t.Errorf("after an hour: %v, want that the lease is over", err)
	}
	if err := l.ExtendFrom(Now(), time.Hour); !errors.As(err, &lost) {
		t.Errorf("a lease that is over is extended: %v", err)
	}
}

// A renewal counts from when it was sent, also if the machine was suspended before its confirmation was read.
func TestSuspensionBeforeTheConfirmation(t *testing.T) {
	suspend := suspendable(t)
	l := NewLease("rack1", Owner{}, 1)
	if err := l.Extend(time.Now().Add(2 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	sent := Now()
	suspend(90 * time.Minute)
	if err := l.ExtendFrom(sent, 3*time.Hour); err != nil {
		t.Fatal(err)
	}
	if left := l.UntilMoment().Boot() - Now().Boot(); left > 90*time.Minute {
		t.Errorf("%v are left of 3h, of which 1h30m have passed", left)
	}
	if err := l.ExtendFrom(sent, time.Hour); err != nil { // an earlier one that was confirmed later changes nothing
		t.Error(err)
	}
	if left := l.UntilMoment().Boot() - Now().Boot(); left < 89*time.Minute {
		t.Errorf("%v are left after an older confirmation", left)
	}
}

// AfterExtend tells each renewal, until it is stopped.
func TestAfterExtend(t *testing.T) {
	l, told := NewLease("rack1", Owner{}, 1), 0
	stop := l.AfterExtend(func() { told++ })
	from := Now()
	for _, d := range []time.Duration{time.Hour, 3 * time.Hour, 2 * time.Hour} { // the last one is older
		if err := l.ExtendFrom(from, d); err != nil {
			t.Fatal(err)
		}
	}
	if told != 2 {
		t.Errorf("two renewals were told %d times", told)
	}
	stop()
	if err := l.ExtendFrom(from, 4*time.Hour); err != nil || told != 2 {
		t.Errorf("after stop: %v, told %d times", err, told)
	}
}
