package telnet

import "time"

// A bucket allows so many things at once, and then so many a second. The zero value is full.
type bucket struct {
	used float64   // of the size, at the time of last
	last time.Time // zero: never used
}

// take reports whether there was one left, and takes it.
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
