package sim

import (
	"reflect"
	"testing"
	"time"
)

// TestStorms: how many leases and calls survive depends on how much the leader can do in a second. A thousand leases
// ask for 200 renewals a second.
func TestStorms(t *testing.T) {
	t.Parallel()
	const gap = 9 * time.Second // the longest wait for an election
	for name, tt := range map[string]struct {
		c    Storm
		kept bool
	}{
		"a third of what it can do":            {Storm{Leases: 1000, Write: 1500 * time.Microsecond, Gap: gap}, true},
		"most of it":                           {Storm{Leases: 1000, Write: 4500 * time.Microsecond, Gap: gap}, true},
		"more than it":                         {Storm{Leases: 1000, Write: 6 * time.Millisecond, Gap: gap}, false},
		"a leader that stops":                  {Storm{Leases: 1000, Write: 1500 * time.Microsecond, Gap: gap, Silent: true}, true},
		"no leader for longer than the leases": {Storm{Leases: 1000, Write: 1500 * time.Microsecond, Gap: 26 * time.Second}, false},
	} {
		if r := tt.c.Run(); (r.Lost == 0) != tt.kept {
			t.Errorf("%s: %+v", name, r)
		}
	}
	crowd := Storm{Write: 5 * time.Millisecond, Acquires: 1000, Nodes: 10, Over: time.Second}
	if r := crowd.Run(); r.Failed == 0 || r.Acquired+r.Failed != 1000 || r.Orphans == 0 {
		t.Errorf("1,000 calls at once, 5 s of work: %+v; want calls that fail, and leave taken devices", r)
	}
	crowd.At = 8
	if r := crowd.Run(); r.Acquired != 1000 || r.Work > time.Second {
		t.Errorf("eight at a time for each node: %+v; want that all are done", r)
	}
	if a, b := crowd.Run(), crowd.Run(); !reflect.DeepEqual(a, b) {
		t.Errorf("two runs differ: %+v and %+v", a, b)
	}
}

// TestSpread: after an election all renewals come at the same time, again and again, unless each is sent a little earlier
// than it must be.
func TestSpread(t *testing.T) {
	t.Parallel()
	c := Storm{Leases: 1000, Write: 3 * time.Millisecond, Gap: 9 * time.Second}
	if r := c.Run(); r.After < time.Second {
		t.Errorf("without a spread: %+v; want that the renewals stay together", r)
	}
	c.Spread = 10
	if r := c.Run(); r.After > 900*time.Millisecond || r.Lost != 0 {
		t.Errorf("with a spread: %+v; want that they do not", r)
	}
}
