package sim

import (
	"fmt"
	"reflect"
	"testing"
)

// histories runs n histories and returns the sum of their results.
func histories(t *testing.T, c Config, n int) (sum Result) {
	t.Helper()
	for i := range n {
		c.Seed = uint64(i)
		r := Run(c)
		sum.Violations = append(sum.Violations, r.Violations...)
		sum.Events += r.Events
		sum.Messages += r.Messages
		sum.Calls += r.Calls
		sum.Acquired += r.Acquired
		sum.Unavailable += r.Unavailable
		sum.Lost += r.Lost
		sum.Late += r.Late
		sum.Unfenced += r.Unfenced
	}
	return sum
}

func show(r Result) string {
	n := len(r.Violations)
	return fmt.Sprintf("%d violations %v; %d events, %d messages, %d calls, %d acquired, %d unavailable, %d lost, %d late, %d unfenced", n, r.Violations[:min(3, n)], r.Events, r.Messages, r.Calls, r.Acquired, r.Unavailable, r.Lost, r.Late, r.Unfenced)
}

func TestMatrix(t *testing.T) {
	t.Logf("%-20s %s", "none", show(histories(t, Config{}, 100)))
	for _, f := range AllFaults() {
		t.Logf("%-20s %s", f, show(histories(t, Config{Faults: []Fault{f}}, 100)))
	}
}

func TestSame(t *testing.T) {
	c := Config{Seed: 3, Faults: AllFaults()}
	if a, b := Run(c), Run(c); !reflect.DeepEqual(a, b) {
		t.Errorf("two runs differ: %+v and %+v", a, b)
	}
}
