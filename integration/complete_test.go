package integration

import (
	"slices"
	"strings"
	"testing"
)

// What is completed where a session is meant are those that run at the moment.
func TestCompleteSessions(t *testing.T) {
	s := startSSHD(t)
	h := homeFor(t, []*sshd{s})
	c := h.connect(t)
	first, second := c.open(t, s), c.open(t, s)
	for _, command := range []string{"attach", "tail", "status", "answer"} {
		stdout, stderr, status := h.run(t, "complete", command, "127.")
		got := strings.Fields(stdout)
		// Other programs of this user's may run, with sessions of their own.
		if status != 0 || stderr != "" || !slices.Contains(got, first) || !slices.Contains(got, second) {
			t.Errorf("%s: status %d, %q, stderr %q; want %s and %s", command, status, got, stderr, first, second)
		}
	}
	if stdout, _, _ := h.run(t, "complete", "attach", first[:len(first)-2]); strings.TrimSpace(stdout) != first {
		t.Errorf("got %q, want %q", stdout, first)
	}
}
