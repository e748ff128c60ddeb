package session_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"ptyctl/session"
	"ptyctl/session/marker"
	"ptyctl/term"
)

// A command for PowerShell must get there whichever shell of Windows reads the line, and not change for a shell of Unix.
func TestExecForPowerShell(t *testing.T) {
	encoded := func(program, command, dir string, env ...string) string {
		line, err := marker.PowerShell(program, command, dir, env)
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	for _, tc := range []struct {
		name, shell string // the answer to the question for the login shell
		class       session.Class
		r           session.ExecRequest
		want        string // the line; empty: it is as given
	}{
		{"cmd.exe", "$SHELL\r\n", "powershell", session.ExecRequest{Command: "Get-Date"}, encoded("powershell.exe", "Get-Date", "")},
		{
			"PowerShell of Windows", "\r\n", "powershell", session.ExecRequest{Command: "ls", Dir: `C:\x`, Env: []term.EnvVar{{Name: "A", Value: "b"}}},
			encoded("powershell.exe", "ls", `C:\x`, "A=b"),
		},
		{"PowerShell of Unix", "/usr/bin/pwsh\n", "powershell", session.ExecRequest{Command: "ls"}, encoded("pwsh", "ls", "")},
		{"words", "$SHELL\r\n", "powershell", session.ExecRequest{Argv: []string{"Get-Date", "-Year", "2026"}}, encoded("powershell.exe", "Get-Date -Year 2026", "")},
		{"bash", "/bin/bash\n", "powershell", session.ExecRequest{Command: "ls"}, ""},
		{"no class named", "$SHELL\r\n", "", session.ExecRequest{Command: "ls"}, ""},
		{"another class", "$SHELL\r\n", "cmd", session.ExecRequest{Command: "ls"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got term.ExecRequest
				s := startExec(t, func(_ context.Context, r term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
					if r.Command == "echo $SHELL" {
						_, _ = io.WriteString(stdout, tc.shell)
					} else {
						got = r
					}
					return term.Exit{Started: true, Known: true}, nil
				}, session.Options{})
				r := tc.r
				r.Class = tc.class
				run(t, s, r)
				if want := tc.want; want == "" && got.Command != r.Command || want != "" && (got.Command != want || got.Dir != "" || got.Env != nil) {
					t.Errorf("the far side has got %+v, want %q", got, want)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := startExec(t, func(_ context.Context, r term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
			_, _ = io.WriteString(stdout, "$SHELL\r\n")
			return term.Exit{Started: true, Known: true}, nil
		}, session.Options{})
		_, err := s.Exec(t.Context(), session.ExecRequest{Command: strings.Repeat("x", 3000), Class: session.ClassPowerShell})
		wantKind(t, err, term.InvalidArgument)
	})
}
