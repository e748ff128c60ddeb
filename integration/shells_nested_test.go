package integration

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"ptyctl/session"
)

// TestShellsNested starts a shell of another class by hand. Its class has to be said once; what a marker has shown is
// known from then on, and so is the login shell when it is back.
func TestShellsNested(t *testing.T) {
	l := startShells(t)
	l.run(
		t,
		"h=/run/lab/home/bash/.local/share/fish/generated_completions; mkdir -p $h; chown -R "+strconv.Itoa(
			shellsFirstUID,
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
			s := l.open(t, c.login)
			wantTerminal(t, s, "echo before", "before\n", 0)
			from := s.End()
			if _, err := s.Write(t.Context(), []byte(c.command+"\r"), session.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			s.Read(t.Context(), session.ReadRequest{Cursor: from, Idle: 500 * time.Millisecond, Timeout: patience})
			r, err := s.Exec(
				t.Context(),
				session.ExecRequest{
					Command: c.both,
					Lane:    session.LaneTerminal,
					Timeout: patience,
					Class:   c.class,
					Expect:  session.Expect{Prompt: regexp.MustCompile(c.prompt)},
				},
			)
			if err != nil {
				t.Errorf("the terminal shows %q", screenful(s))
				labFatal(t, err)
			}
			if !r.Exit.Known || r.Exit.Code != 4 {
				t.Fatalf("said: %+v (%s), %q", r.Exit, r.ExitReason, r.Stdout.Bytes())
			}
			time.Sleep(300 * time.Millisecond)
			wantTerminal(t, s, c.single, "", 5)
			from = s.End()
			if _, err := s.Write(t.Context(), []byte("exit\r"), session.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			s.Read(t.Context(), session.ReadRequest{Cursor: from, Idle: 500 * time.Millisecond, Timeout: patience})
			wantTerminal(t, s, "echo after", "after\n", 0)
		})
	}
}

// TestShellsWithoutMarker returns what the command put out, and neither echo nor prompt nor what the line editor says.
func TestShellsWithoutMarker(t *testing.T) {
	l := startShells(t)
	for _, name := range []string{"bash", "dash", "mksh", "ash", "rbash", "tcsh"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := l.open(t, name)
			for range 2 {
				r, err := s.Exec(
					t.Context(),
					session.ExecRequest{
						Command:  "echo some; echo thing",
						Lane:     session.LaneTerminal,
						Timeout:  patience,
						NoMarker: true,
					},
				)
				if err != nil {
					labFatal(t, err)
				}
				if got := string(r.Stdout.Bytes()); got != "some\nthing\n" || r.Done != session.DonePrompt || r.Exit.Known ||
					r.ExitReason != "marker_not_seen" {
					t.Errorf("%q, %s, %+v, %s; the terminal shows %q", got, r.Done, r.Exit, r.ExitReason, screenful(s))
				}
			}
		})
	}
}
