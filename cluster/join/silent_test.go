package join

import (
	"slices"
	"testing"
	"time"
)

// A node that has given no answer counts as silent until it was heard of after that call was sent.
func TestSilence(t *testing.T) {
	now := time.Now()
	heard := map[string]time.Time{"a": now.Add(-time.Second), "b": now}
	at := func(node string) time.Time { return heard[node] }
	var s silence
	if got := s.nodes(at); got != nil {
		t.Errorf("at first %q are silent", got)
	}
	s.add("a", now)
	s.add("a", now.Add(-time.Minute)) // the error of an earlier call comes later
	s.add("b", now.Add(-time.Minute))
	s.add("unknown", now)
	got := s.nodes(at)
	if slices.Sort(got); !slices.Equal(got, []string{"a", "unknown"}) {
		t.Errorf("%q are silent, want a, and the unknown one", got)
	}
	heard["a"] = now.Add(time.Second)
	if got := s.nodes(at); !slices.Equal(got, []string{"unknown"}) {
		t.Errorf("%q are silent after a was heard of", got)
	}
}
