package shells

import (
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/session"
)

// TestTraced runs commands in shells that print each command before they run it: the output has the command's own trace
// and nothing of the line that ptyctl types.
func TestTraced(t *testing.T) {
	t.Parallel()
	tests := []struct {
		row     promptRow
		on      string
		printed string // for a command that prints end
		always  bool
	}{
		{promptRow{name: "bash", argv: []string{"bash", "--norc"}}, "set -x", "++ printf end\nend", true},
		{promptRow{name: "bash, PS4", argv: []string{"bash", "--norc"}}, `PS4='+$(date +%T) $LINENO: '; set -x`, " printf end\nend", false},
		{promptRow{name: "zsh", argv: []string{"zsh", "-f"}}, "set -x", "+(eval):1> printf end\nend", true},
		{promptRow{name: "ksh93", argv: []string{"ksh93"}}, "set -x", "+ printf end\nend", false},
		{promptRow{name: "mksh", argv: []string{"mksh"}}, "PS4='trace: '; set -x", "trace: printf end\nend", false},
		{promptRow{name: "dash", argv: []string{"dash"}}, "PS4='trace: '; set -x", "trace: printf end\nend", true},
		{promptRow{name: "busybox ash", argv: []string{"busybox", "ash"}}, "set -x", "+ printf end\nend", false},
		{
			promptRow{name: "fish", argv: []string{"fish"}, file: ".config/fish/config.fish", config: "set fish_greeting"},
			"set -g fish_trace 1", "-> printf end\nend", false,
		},
		{promptRow{name: "tcsh", argv: []string{"tcsh", "-f"}}, "set echo", "printf end\nend", false},
	}
	for _, tt := range tests {
		if !tt.always && !allPrompts {
			continue
		}
		t.Run(tt.row.name, func(t *testing.T) {
			t.Parallel()
			s := tt.row.open(t, true)
			typed := func(command string) string {
				t.Helper()
				r, err := s.Exec(t.Context(), session.ExecRequest{Command: command, Lane: session.LaneTerminal, Timeout: patient})
				if err != nil {
					lab.Fatal(t, err)
				}
				out := string(r.Stdout.Bytes())
				if !r.Exit.Known || r.Exit.Code != 0 || strings.Contains(out, "036") || strings.Contains(out, "eval ") {
					t.Errorf("%q: %q, %+v (%s)", command, out, r.Exit, r.ExitReason)
				}
				return out
			}
			typed(tt.on)
			if out := typed("printf end"); !strings.HasSuffix(out, tt.printed) || strings.Count(out, "\n") != 1 {
				t.Errorf("the output is %q, want its end to be %q", out, tt.printed)
			}
			if tt.row.argv[0] != "tcsh" {
				if out := typed("echo 'a b'\necho c"); strings.Count(out, "\n") != 4 {
					t.Errorf("the output of two lines is %q, want four lines", out)
				}
			}
		})
	}
}
