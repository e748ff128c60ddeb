package devlock

import "time"

// A Moment is a point in time on two clocks: the monotonic one of package time, which stands still on Linux while the
// machine is suspended, and one that goes on then (CLOCK_BOOTTIME, clock_gettime(2)). The zero Moment is none.
type Moment struct {
	time time.Time
	boot time.Duration // 0: the system has no such clock
}

// Now returns the present Moment. Of two times that it reads, the one of the boot clock is the earlier.
func Now() Moment {
	boot := bootClock()
	return Moment{time.Now(), boot}
}

// bootClock is boot, but for tests.
var bootClock = boot

// Time returns the moment on the clock of package time.
func (m Moment) Time() time.Time { return m.time }

// Boot returns the time since the start of the machine, with its suspensions; 0: the system has no such clock.
func (m Moment) Boot() time.Duration { return m.boot }

// Add returns the Moment d later.
func (m Moment) Add(d time.Duration) Moment {
	m.time = m.time.Add(d)
	if m.boot != 0 {
		m.boot = max(m.boot+d, 1)
	}
	return m
}

// past reports whether the Moment is over on one of the clocks.
func (m Moment) past() bool {
	return !time.Now().Before(m.time) || m.boot != 0 && bootClock() >= m.boot
}
