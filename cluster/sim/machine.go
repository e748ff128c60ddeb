package sim

import "time"

// A machine runs a node or a server.
type machine struct {
	w    *world
	name string
	side int // machines of different sides cannot reach each other

	lag time.Duration // by which messages reach it late

	dead   bool
	life   int // is counted up by each death, so that nothing of an earlier life happens
	frozen bool
	later  []func() // what happens when it is no longer frozen

	rate     float64       // of its clocks: 1 is true
	standing time.Duration // the true time for which its monotonic clock has stood still
	asleep   bool
	slept    time.Duration // when it fell asleep
	wall     time.Duration // by which its wall clock is ahead
}

func newMachine(w *world, name string) *machine {
	const most = 500e-6 // as much as NTP changes the rate of a clock
	return &machine{w: w, name: name, rate: 1 + (2*w.random.Float64()-1)*most, wall: w.between(-50*time.Millisecond, 50*time.Millisecond)}
}

// scaled returns a true time as a clock shows it.
func (m *machine) scaled(d time.Duration) time.Duration {
	return d + time.Duration(float64(d)*(m.rate-1))
}

// monotonic is CLOCK_MONOTONIC of Linux, which stops while the machine sleeps.
func (m *machine) monotonic() time.Duration {
	now := m.w.now
	if m.asleep {
		now = m.slept
	}
	return m.scaled(now - m.standing)
}

// boottime is CLOCK_BOOTTIME, which goes on.
func (m *machine) boottime() time.Duration { return m.scaled(m.w.now) }

// realtime is the wall clock.
func (m *machine) realtime() time.Duration { return m.w.now + m.wall }

// when has do happen now, or when the machine is no longer frozen.
func (m *machine) when(do func()) {
	if m.frozen {
		m.later = append(m.later, do)
		return
	}
	do()
}

// after has do happen when the monotonic clock shows so much more, unless the machine dies before.
func (m *machine) after(d time.Duration, do func()) {
	life, due := m.life, m.monotonic()+d
	var ring func()
	ring = func() {
		switch left := due - m.monotonic(); {
		case m.dead || m.life != life:
		case m.frozen:
			m.later = append(m.later, ring)
		case left > 10*time.Microsecond: // its clock is slow, or has stood still
			m.w.at(m.w.now+left, ring)
		default:
			do()
		}
	}
	m.w.at(m.w.now+d, ring)
}

// freeze stops the process on the machine. With sleep its monotonic clock stops, too.
func (m *machine) freeze(sleep bool) {
	if m.dead || m.frozen {
		return
	}
	m.frozen = true
	if sleep {
		m.asleep, m.slept = true, m.w.now
	}
}

// thaw lets it go on.
func (m *machine) thaw() {
	if !m.frozen {
		return
	}
	if m.asleep {
		m.standing += m.w.now - m.slept
	}
	m.frozen, m.asleep = false, false
	later := m.later
	m.later = nil
	life := m.life
	for _, do := range later {
		m.w.at(m.w.now, func() {
			if m.life == life {
				m.when(do)
			}
		})
	}
}

// die ends the process on the machine.
func (m *machine) die() {
	m.thaw()
	m.dead, m.life = true, m.life+1
}
