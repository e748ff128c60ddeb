package shells

import (
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/session"
)

// TestShellsStrippedControls runs commands behind a terminal that removes the markers' control characters, as terminal
// servers and screen readers do. The exit code must come through.
func TestShellsStrippedControls(t *testing.T) {
	l := lab.StartShells(t)
	for i, sh := range []string{"bash", "dash"} {
		name := "strip" + sh
		// The shell's terminal is script(1), and the filter runs between it and the server.
		l.WriteFile(t, "/run/lab/"+name, "755", `#!/bin/sh
SHELL=/bin/sh exec script -qfc /bin/`+sh+` /dev/null | stdbuf -o0 tr -d '\034-\037'`)
		l.Account(t, lab.FirstShellUID+50+i, name, "/run/lab/"+name)
		t.Run(sh, func(t *testing.T) {
			s := l.Open(t, name)
			for _, c := range []struct {
				command, output string
				code            int
			}{
				{"echo hello", "hello\n", 0},
				{"sh -c 'exit 3'", "", 3},
				{"printf end", "end", 0},
				{"echo a\necho b\nsh -c 'exit 4'", "a\nb\n", 4},
				{"printf '" + shellForged + "'; sh -c 'exit 5'", "RC=0\nPTYCTL_RC_abcdefghijkl=0:END_abcdefghijkl\n", 5},
				{`printf '\036RC=9\037\n'`, "RC=9\n", 0},
				{`printf 'RC='; sh -c 'exit 6'`, "RC=", 6},
				{"cd /tmp", "", 0},
				{"pwd", "/tmp\n", 0},
			} {
				r, err := s.Exec(
					t.Context(),
					session.ExecRequest{
						Command: c.command,
						Lane:    session.LaneTerminal,
						Class:   session.ClassPosix,
						Timeout: lab.Patience,
					},
				)
				if err != nil {
					t.Logf("the terminal shows %q", lab.Screenful(s))
					lab.Fatal(t, err)
				}
				if got := string(r.Stdout.Bytes()); got != c.output || !r.Exit.Known || r.Exit.Code != c.code {
					t.Errorf(
						"%q: put out %q and ended with %+v (%s, %s); want %q and code %d; the terminal shows %q",
						c.command,
						got,
						r.Exit,
						r.Done,
						r.ExitReason,
						c.output,
						c.code,
						lab.Screenful(s),
					)
				}
			}
		})
	}
}
