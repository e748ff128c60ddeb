package join

import (
	"testing"
	"time"

	"ptyctl/term"
)

// TestMidnight: the next midnight is that of UTC, wherever the node is, and never now.
func TestMidnight(t *testing.T) {
	here := time.FixedZone("here", 5*60*60)
	for _, c := range []struct{ now, want time.Time }{
		{time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC), time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)},
		{time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)},
		{time.Date(2026, 12, 31, 23, 59, 59, 999, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)},
		{time.Date(2026, 11, 30, 3, 0, 0, 0, here), time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)},
	} {
		if got := midnight(c.now); !got.Equal(c.want) {
			t.Errorf("midnight(%v) = %v, want %v", c.now, got, c.want)
		}
	}
}

// TestOutcomes: the outcomes of the metrics tell the errors apart that an operator must tell apart.
func TestOutcomes(t *testing.T) {
	for kind, want := range map[term.Kind]string{
		term.NodeUnreachable: "unreachable", term.NodeSilent: "silent", term.Canceled: "canceled", term.IOError: "failed",
	} {
		if got := outcomeOf(&term.Error{Kind: kind}); got != want {
			t.Errorf("outcomeOf(%s) = %s, want %s", kind, got, want)
		}
	}
	if got := outcomeOf(nil); got != "ok" {
		t.Errorf("outcomeOf(nil) = %s", got)
	}
}
