package shells

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/session"
)

// TestShellsNested starts a shell of another class by hand. The caller must name its class once; then ptyctl knows it
// from the marker, and knows the login shell when it is back.
func TestShellsNested(t *testing.T) {
	l := lab.StartShells(t)
	l.Run(
		t,
		"h=/run/lab/home/bash/.local/share/fish/generated_completions; mkdir -p $h; chown -R "+strconv.Itoa(
			lab.FirstShellUID,
		)+" /run/lab/home/bash",
	) // or fish makes them, for a long time
	for _, c := range []struct {
		login, command string
		class          session.Class
		prompt         string
		both, single   string // a command for both classes, and one that only the nested one knows
	}{
		{"bash", "fish", session.ClassFish, `> $`, "sh -c 'exit 4'", "set -l x 5; sh -c \"exit $x\""},
		{"bash", "tcsh", session.ClassCsh, `[>%] $`, "sh -c 'exit 4'", "set x = 5; sh -c \"exit $x\""},
		{"fish", "bash --norc", session.ClassPosix, `\$ $`, "sh -c 'exit 4'", "x=5; sh -c \"exit $x\""},
	} {
		t.Run(c.login+" then "+c.command, func(t *testing.T) {
			t.Parallel()
			s := l.Open(t, c.login)
			lab.WantTerminalExec(t, s, "echo before", "before\n", 0)
			from := s.End()
			if _, err := s.Write(t.Context(), []byte(c.command+"\r"), session.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			s.Read(t.Context(), session.ReadRequest{Cursor: from, Idle: 500 * time.Millisecond, Timeout: lab.Patience})
			r, err := s.Exec(
				t.Context(),
				session.ExecRequest{
					Command: c.both,
					Lane:    session.LaneTerminal,
					Timeout: lab.Patience,
					Class:   c.class,
					Expect:  session.Expect{Prompt: regexp.MustCompile(c.prompt)},
				},
			)
			if err != nil {
				t.Errorf("the terminal shows %q", lab.Screenful(s))
				lab.Fatal(t, err)
			}
			if !r.Exit.Known || r.Exit.Code != 4 {
				t.Fatalf("said: %+v (%s), %q", r.Exit, r.ExitReason, r.Stdout.Bytes())
			}
			time.Sleep(300 * time.Millisecond)
			lab.WantTerminalExec(t, s, c.single, "", 5)
			from = s.End()
			if _, err := s.Write(t.Context(), []byte("exit\r"), session.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			s.Read(t.Context(), session.ReadRequest{Cursor: from, Idle: 500 * time.Millisecond, Timeout: lab.Patience})
			lab.WantTerminalExec(t, s, "echo after", "after\n", 0)
		})
	}
}

// TestShellsWithoutMarker checks that a result holds the command's output alone, without echo, prompt or messages of
// the line editor.
func TestShellsWithoutMarker(t *testing.T) {
	l := lab.StartShells(t)
	for _, name := range []string{"bash", "dash", "mksh", "ash", "rbash", "tcsh"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := l.Open(t, name)
			for range 2 {
				r, err := s.Exec(
					t.Context(),
					session.ExecRequest{
						Command:  "echo some; echo thing",
						Lane:     session.LaneTerminal,
						Timeout:  lab.Patience,
						NoMarker: true,
					},
				)
				if err != nil {
					lab.Fatal(t, err)
				}
				if got := string(r.Stdout.Bytes()); got != "some\nthing\n" || r.Done != session.DonePrompt || r.Exit.Known ||
					r.ExitReason != "marker_not_seen" {
					t.Errorf("%q, %s, %+v, %s; the terminal shows %q", got, r.Done, r.Exit, r.ExitReason, lab.Screenful(s))
				}
			}
		})
	}
}
