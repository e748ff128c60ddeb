package telnet

import "time"

// A bucket protects against a peer that causes endless answers. It limits a rate: a burst of size
// events, then perSecond events a second. The zero value is full.
type bucket struct {
	used float64   // events used of the burst, at the time of last
	last time.Time // zero before the first event
}

// take uses one event. It returns false if none is left.
func (b *bucket) take(size, perSecond float64) bool {
	now := time.Now()
	if !b.last.IsZero() {
		b.used = max(0, b.used-now.Sub(b.last).Seconds()*perSecond)
	}
	b.last = now
	if b.used+1 > size {
		return false
	}
	b.used++
	return true
}
