package rules

import "time"

// Times are the times of a lease, which are the same on all nodes.
type Times struct {
	TTL    time.Duration // the servers remove a key that long after its last write
	Margin time.Duration // by which a lease ends at its owner before that
}

// Lasts is how long a lease lasts at its owner, from the moment at which its last confirmed write was sent. The servers
// count from the arrival of that write, which is later.
func (t Times) Lasts() time.Duration { return t.TTL - t.Margin }

// Until is when a lease ends at its owner. sent is when its last confirmed write was sent.
func (t Times) Until(sent time.Time) time.Time { return sent.Add(t.Lasts()) }

// Patience is how long a new owner leaves a device unused if the key had expired. The servers may have confirmed the
// former owner at any time before, and their clocks may have jumped since. Rates of clocks differ a little.
func (t Times) Patience() time.Duration { return t.Lasts() + t.TTL/1000 }

// Every is the time from one renewal to the next, and how long the answer of one is waited for.
func (t Times) Every() time.Duration { return t.TTL / 6 }

// Again is the time after which a renewal that has failed is tried again.
func (t Times) Again() time.Duration { return t.TTL / 24 }

// Settle is the time from a read of the key to the next renewal: a write that is under way has to end.
func (t Times) Settle() time.Duration { return t.Again() / 4 }

// Answer is how long a call waits for one answer before it repeats its request.
func (t Times) Answer() time.Duration {
	return min(max(t.Every(), 500*time.Millisecond), 2*time.Second)
}

// Retry is when a renewal that has failed is tried again, if its next attempt was due then.
func (t Times) Retry(now, due time.Time) time.Time {
	if again := now.Add(t.Again()); again.Before(due) {
		return again
	}
	return due
}

// Pause is the longest pause before the next request of a call that has made so many. The shortest is half of it.
func Pause(attempts int) time.Duration {
	return min(10*time.Millisecond<<min(attempts, 5), 250*time.Millisecond)
}
