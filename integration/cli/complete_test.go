package cli

import (
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// An argument that names a session must be completed with the sessions that run now.
func TestCompleteSessions(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	c := h.Connect(t)
	first, second := c.Open(t, s), c.Open(t, s)
	for _, command := range []string{"attach", "tail", "screenshot", "status", "answer"} {
		stdout, stderr, status := h.Run(t, "complete", command, "127.")
		got := strings.Fields(stdout)
		// Other programs of this user's may run, with sessions of their own.
		if status != 0 || stderr != "" || !slices.Contains(got, first) || !slices.Contains(got, second) {
			t.Errorf("%s: status %d, %q, stderr %q; want %s and %s", command, status, got, stderr, first, second)
		}
	}
	if stdout, _, _ := h.Run(t, "complete", "attach", first[:len(first)-2]); strings.TrimSpace(stdout) != first {
		t.Errorf("got %q, want %q", stdout, first)
	}
}
