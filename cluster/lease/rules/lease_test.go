package rules

import (
	"testing"
	"time"
)

var epoch = time.Unix(0, 0)

// TestTimes: the numbers that the documents give for a TTL of 30 s.
func TestTimes(t *testing.T) {
	x := Times{TTL: 30 * time.Second, Margin: 5 * time.Second}
	for name, tt := range map[string]struct{ is, want time.Duration }{
		"Until":           {x.Until(epoch).Sub(epoch), 25 * time.Second},
		"Every":           {x.Every(), 5 * time.Second},
		"Again":           {x.Again(), 1250 * time.Millisecond},
		"Answer":          {x.Answer(), 2 * time.Second},
		"Answer of 2s":    {Times{TTL: 2 * time.Second}.Answer(), 500 * time.Millisecond},
		"Retry, earlier":  {x.Retry(epoch, epoch.Add(5*time.Second)).Sub(epoch), 1250 * time.Millisecond},
		"Retry, not late": {x.Retry(epoch, epoch.Add(time.Second)).Sub(epoch), time.Second},
		"Pause, first":    {Pause(0), 10 * time.Millisecond},
		"Pause, longest":  {Pause(1000), 250 * time.Millisecond},
	} {
		if tt.is != tt.want {
			t.Errorf("%s = %v, want %v", name, tt.is, tt.want)
		}
	}
}

// TestClaim: a claim that was refused takes the revision of a free key and its own earlier write, and nothing of another.
func TestClaim(t *testing.T) {
	var l Lease[time.Time]
	if l.Claim(Key{Revision: 7}) || l.Revision != 7 || l.Token != 0 {
		t.Errorf("after a marker the claim is %+v, want revision 7 and no token", l)
	}
	if l.Claim(Key{Held: true, Mine: true, Revision: 9, Token: 8}) || l.Revision != 9 || l.Token != 8 {
		t.Errorf("after its own write the claim is %+v, want revision 9 and token 8", l)
	}
	if l.Won(10); l.Revision != 10 || l.Token != 8 {
		t.Errorf("after a second write the claim is %+v, want revision 10 and token 8", l)
	}
	if !l.Claim(Key{Held: true, Revision: 11, Token: 11}) || l.Revision != 10 {
		t.Errorf("after another's write the claim is %+v, want it as it was, and a report of the other", l)
	}
}

// TestRenewals: a confirmation counts from the time at which its renewal was sent, each only once.
func TestRenewals(t *testing.T) {
	var l Lease[time.Time]
	for i := range 20 {
		if l.Attempt(epoch.Add(time.Duration(i) * time.Second)) {
			t.Fatal("a renewal waits for a read that nobody needs")
		}
	}
	if _, ok := l.Confirmed(4, 104); ok {
		t.Error("renewal 4 counts, and 16 later ones are remembered")
	}
	sent, ok := l.Confirmed(18, 118)
	if !ok || sent != epoch.Add(17*time.Second) || l.Revision != 118 {
		t.Errorf("Confirmed(18) = %v, %v with revision %d", sent, ok, l.Revision)
	}
	if _, ok := l.Confirmed(17, 117); ok {
		t.Error("an earlier renewal counts after a later one")
	}
	if _, ok := l.Confirmed(19, 100); !ok || l.Revision != 118 {
		t.Errorf("after an answer with an older revision it is %d, want 118", l.Revision)
	}
}

// TestRefusals: only the leader's word after a WrongRevision loses a lease.
func TestRefusals(t *testing.T) {
	mine, other := Key{Held: true, Mine: true, Revision: 5}, Key{Held: true, Revision: 6}
	for name, tt := range map[string]struct {
		codes []int
		key   Key
		lost  bool
	}{
		"under way, mine":          {[]int{WriteUnderWay}, mine, false},
		"under way, another":       {[]int{WriteUnderWay}, other, false},
		"wrong, mine":              {[]int{WrongRevision}, mine, false},
		"wrong, another":           {[]int{WrongRevision}, other, true},
		"wrong, no key":            {[]int{WrongRevision}, Key{}, true},
		"wrong, then under way":    {[]int{WrongRevision, WriteUnderWay}, other, true},
		"a refusal of another use": {nil, other, false},
	} {
		l := Lease[time.Time]{Revision: 4}
		for _, code := range tt.codes {
			if l.Refuse(code); !l.Attempt(epoch) || l.Number != 0 {
				t.Errorf("%s: the lease is renewed before the leader was asked", name)
			}
		}
		if l.Read(tt.key) != tt.lost {
			t.Errorf("%s: lost = %v", name, !tt.lost)
		}
		if !tt.lost && l.Attempt(epoch) {
			t.Errorf("%s: the lease is not renewed after the leader's answer", name)
		}
	}
}
