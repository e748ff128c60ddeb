package mux

import (
	"testing"
	"time"
)

// A short interval must be exact; a long one must end at common instants, at most
// a sixth late.
func TestKeepalivesComeTogether(t *testing.T) {
	for interval, late := range map[time.Duration]time.Duration{
		2 * time.Second: 0, 30 * time.Second: 5 * time.Second, time.Minute: 10 * time.Second,
	} {
		d := (&keepalive{interval: interval}).next()
		if d < interval || d > interval+late {
			t.Errorf("%v: %v", interval, d)
		}
		if at := time.Now().Add(d); late > 0 && at.Sub(at.Truncate(late)) > time.Second {
			t.Errorf("%v: ends at %v", interval, at)
		}
	}
}
