package forward

import "time"

// A pacer spreads connections: so many at once, and then so many per second.
type pacer struct {
	each time.Duration // between two, in the long run
	room time.Duration // by which connections may run ahead of that
	due  time.Time     // when the next one would come if all came evenly
}

func newPacer(perSecond int) pacer {
	each := time.Second / time.Duration(perSecond)
	return pacer{each: each, room: time.Duration(perSecond) * each}
}

// next returns how long a connection that has come now has to wait.
func (p *pacer) next(now time.Time) time.Duration {
	if p.due.Before(now) {
		p.due = now
	}
	p.due = p.due.Add(p.each)
	return p.due.Sub(now) - p.room
}
