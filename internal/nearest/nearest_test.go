package nearest

import (
	"math/rand/v2"
	"testing"
)

func TestIn(t *testing.T) {
	paths := []string{"session.max_sessions", "ssh.connect_timeout_ms", "telnet.connect_timeout_ms", "ssh.known_hosts_path"}
	for _, c := range []struct {
		name  string
		among []string
		most  int
		m     Measure
		want  int
	}{
		{"hots", []string{"port", "host"}, 2, Letters, 1},
		{"hoat", []string{"port", "host"}, 1, Letters, 1},
		{"hoat", []string{"port", "host"}, 1, Words, -1},
		{"host", []string{"host"}, 0, Words, 0},
		{"", []string{"a", ""}, 0, Letters, 1},
		{"", nil, 9, Letters, -1},
		{"abc", nil, 9, Words, -1},
		{"bat", []string{"cat", "rat"}, 1, Letters, 0}, // the first of several
		{"bat", []string{"hats", "rat"}, 2, Letters, 1},
		{"ssh.timeout_ms", paths, 8, Words, 1}, // a word left out
		{"ssh.known_host_path", paths, 6, Words, 3},
		{"nothing.like.it", paths, 5, Words, -1},
	} {
		if got := In(c.among, c.name, c.most, c.m); got != c.want {
			t.Errorf("In(%q, %q, %d, %d) = %d, want %d", c.among, c.name, c.most, c.m, got, c.want)
		}
	}
}

// The distance is that of the definition, which tries every first step.
func TestDistance(t *testing.T) {
	var slow func(a, b string, m Measure) int
	slow = func(a, b string, m Measure) int {
		switch {
		case a == "" || b == "":
			return len(a) + len(b)
		case a[0] == b[0]:
			return slow(a[1:], b[1:], m)
		}
		return min(slow(a[1:], b[1:], m)+int(m), slow(a[1:], b, m)+1, slow(a, b[1:], m)+1)
	}
	rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret
	word := func() string {
		w := make([]byte, rnd.IntN(6))
		for i := range w {
			w[i] = "abc"[rnd.IntN(3)]
		}
		return string(w)
	}
	for range 500 {
		for _, m := range []Measure{Letters, Words} {
			a, b := word(), word()
			if got, want := m.distance(a, b), slow(a, b, m); got != want {
				t.Errorf("distance(%q, %q) with measure %d = %d, want %d", a, b, m, got, want)
			}
		}
	}
}
