package shells

import (
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/session"
)

// TestShellsNestedEnds starts a shell with an exec and ends it with another: the marker that the login shell prints
// then ends the first one, and is in no output.
func TestShellsNestedEnds(t *testing.T) {
	l := lab.StartShells(t)
	for _, c := range []struct{ login, command string }{
		{"bash", "bash --norc"},
		{"bash", "zsh -f"},
		{"dash", "bash --norc"},
	} {
		t.Run(c.login+" then "+c.command, func(t *testing.T) {
			t.Parallel()
			s := l.Open(t, c.login)
			typed := func(command string) session.ExecResult {
				r, err := s.Exec(
					t.Context(),
					session.ExecRequest{Command: command, Lane: session.LaneTerminal, Timeout: lab.Patience},
				)
				if err != nil {
					t.Fatalf("exec of %q: %v; the terminal shows %q", command, err, lab.Screenful(s))
				}
				return r
			}
			first := typed(c.command)
			if first.WaitingFor == nil || first.WaitingFor.Kind != "prompt" {
				t.Fatalf("exec of %q = %s, waiting for %+v, want a prompt", c.command, first.Done, first.WaitingFor)
			}
			lab.WantTerminalExec(t, s, "echo in", "in\n", 0)
			if r := typed("exit 5"); r.Done != session.DonePrompt || strings.Contains(string(r.Stdout.Bytes()), "RC") {
				t.Errorf("exit 5 = %s, %q, want the prompt and no marker", r.Done, r.Stdout.Bytes())
			}
			lab.WantTerminalExec(t, s, "echo out", "out\n", 0)
			r, err := s.ContinueExec(t.Context(), first.ID, session.ContinueRequest{Wait: lab.Patience})
			if err != nil || r.Done != session.DoneMarker || r.Exit.Code != 5 ||
				strings.Contains(string(r.Stdout.Bytes()), "RC") {
				t.Errorf("the end of %q = %+v, %q, %v, want exit code 5", c.command, r, r.Stdout.Bytes(), err)
			}
		})
	}
}
