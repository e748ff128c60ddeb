package metrics_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ptyctl/metrics"
)

// TestMore: families of others are exposed among those of this package, in the order of their names.
func TestMore(t *testing.T) {
	took := metrics.NewDurations("ptyctl_b_seconds", "B.", "outcome", "ok", "failed")
	took.Observe("ok", time.Millisecond)
	took.Observe("unknown", time.Hour)
	m := metrics.New(metrics.Options{More: []metrics.Family{took, metrics.Sampled("gauge", "ptyctl_a", "A.", []string{"state"},
		func(yield func(float64, ...string)) { yield(3, "live"); yield(1, "silent") })}})
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	text := w.Body.String()
	at := 0
	for _, want := range []string{
		"# HELP ptyctl_a A.\n# TYPE ptyctl_a gauge\nptyctl_a{state=\"live\"} 3\nptyctl_a{state=\"silent\"} 1\n",
		"# HELP ptyctl_actions_total",
		"# TYPE ptyctl_b_seconds histogram\nptyctl_b_seconds_bucket{outcome=\"failed\",le=\"0.0001\"} 0\n",
		"ptyctl_b_seconds_count{outcome=\"failed\"} 0\n",
		"ptyctl_b_seconds_sum{outcome=\"ok\"} 0.001\nptyctl_b_seconds_count{outcome=\"ok\"} 1\n",
	} {
		i := strings.Index(text[at:], want)
		if i < 0 {
			t.Fatalf("after byte %d there is no %q in\n%s", at, want, text)
		}
		at += i + len(want)
	}
	if strings.Contains(text, "unknown") {
		t.Errorf("a value that was not known is exposed:\n%s", text)
	}
}
