package shells

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/session"
)

// TestShells runs awkward commands in terminals of a real sshd, each in every shell, one after the other in one
// terminal: leftovers of one command would spoil the next.
func TestShells(t *testing.T) {
	l := lab.StartShells(t)
	for _, sh := range lab.LoginShells {
		t.Run(sh.Name, func(t *testing.T) {
			t.Parallel()
			s := l.Open(t, sh.Name)
			for _, c := range shellCommands {
				c.check(t, s, sh)
			}
			t.Run("words", func(t *testing.T) { shellsWords(t, s) })
			t.Run("a megabyte", func(t *testing.T) { shellsMegabyte(t, s) })
			t.Run("reads its input", func(t *testing.T) { shellsReadsInput(t, s) })
			t.Run("ends the shell", func(t *testing.T) { shellsExit(t, s, sh) })
		})
	}
}

func (c shellCommand) check(t *testing.T, s *session.Session, sh lab.LoginShell) {
	t.Helper()
	want := c.want
	if o, ok := c.but[sh.Name]; ok {
		want = o
	} else if o, ok := c.but[string(sh.Class)]; ok {
		want = o
	}
	command := c.command
	if want.command != "" {
		command = want.command
	}
	command = strings.ReplaceAll(command, "HOME", "/run/lab/home/"+sh.Name)
	want.output = strings.ReplaceAll(want.output, "HOME", "/run/lab/home/"+sh.Name)
	t.Run(c.name, func(t *testing.T) {
		if want.refused != "" {
			lab.WantTerminalRefusal(t, s, session.ExecRequest{Command: command, Timeout: time.Second}, want.refused)
			return
		}
		r := lab.TerminalExec(t, s, command)
		got := string(r.Stdout.Bytes())
		switch {
		case want.reason != "":
			if r.Exit.Known || r.ExitReason != want.reason || (want.waits != "") != (r.WaitingFor != nil) ||
				want.waits != "" && r.WaitingFor.Kind != want.waits {
				t.Errorf(
					"ended with %+v (%s, %s, waiting for %+v); want no code, because %s, %s",
					r.Exit,
					r.Done,
					r.ExitReason,
					r.WaitingFor,
					want.reason,
					want.waits,
				)
			}
		case !r.Exit.Known || r.Exit.Code != want.code || r.Done != session.DoneMarker:
			t.Errorf("ended with %+v (%s, %s); want code %d", r.Exit, r.Done, r.ExitReason, want.code)
		}
		if !want.noise && want.any == "" && got != want.output || !strings.Contains(got, want.any) {
			t.Errorf("stdout = %.300q, want %.300q", got, want.output+want.any)
		}
		if len(r.Stderr.Bytes()) > 0 || r.Lost != 0 {
			t.Errorf("%q on stderr, %d bytes lost", r.Stderr.Bytes(), r.Lost)
		}
		if t.Failed() {
			t.Logf("%.200q; the terminal shows %.600q", command, lab.Screenful(s))
		}
	})
}

// shellsWords runs words in both lanes: they arrive as they are, whatever the shell would make of them in a line.
func shellsWords(t *testing.T, s *session.Session) {
	words := []string{
		"it's",
		`a\b\\`,
		"!! !$ wow!",
		"$HOME `id` $(id)",
		"*",
		"~",
		"a;b|c&d",
		`"`,
		"",
		"{a,b}",
		"é \t(x)",
		"-n",
		"#",
	}
	want := strings.Join(words, "|") + "|"
	for _, lane := range []session.Lane{session.LaneChannel, session.LaneTerminal} {
		r, err := s.Exec(
			t.Context(),
			session.ExecRequest{Argv: append([]string{"printf", "%s|"}, words...), Lane: lane, Timeout: lab.Patience},
		)
		if err != nil {
			lab.Fatal(t, err)
		}
		if got := string(r.Stdout.Bytes()); got != want || r.Exit.Code != 0 {
			t.Errorf("lane %s: printf got %q and ended with %+v, want %q", lane, got, r.Exit, want)
		}
	}
}

// shellsMegabyte prints more than a result holds; a read must return the middle.
func shellsMegabyte(t *testing.T, s *session.Session) {
	r := lab.TerminalExec(t, s, `head -c 1000000 /dev/zero | tr '\000' x`)
	if !r.Exit.Known || r.Exit.Code != 0 || r.Stdout.Total != 1e6 || r.Lost != 0 || r.ID == "" {
		t.Fatalf("ended with %+v (%s), %d bytes, %d lost", r.Exit, r.ExitReason, r.Stdout.Total, r.Lost)
	}
	if both := r.Stdout.Bytes(); len(both) > 16<<10 || bytes.Count(both, []byte("x")) != len(both) {
		t.Errorf("%d bytes in the result, not all of them x", len(both))
	}
	read := len(r.Stdout.Head)
	for int64(read) < r.Stdout.TailStart {
		c, err := s.ReadExec(
			t.Context(),
			r.ID,
			"stdout",
			session.ReadRequest{Cursor: int64(read), MaxBytes: int(r.Stdout.TailStart) - read, NoWait: true},
		)
		if err != nil || len(c.Data) == 0 || c.Dropped != 0 || bytes.Count(c.Data, []byte("x")) != len(c.Data) {
			t.Fatalf("the middle from %d on: %d bytes, %d dropped, %v", read, len(c.Data), c.Dropped, err)
		}
		read += len(c.Data)
	}
}

// shellsReadsInput answers a command that reads the terminal: it gets the answer, and not the markers.
func shellsReadsInput(t *testing.T, s *session.Session) {
	// The answer must not arrive before head reads: fish would take it for the next command line.
	r, err := s.Exec(
		t.Context(),
		session.ExecRequest{
			Command: `echo ready; head -n1; sh -c 'exit 8'`, Lane: session.LaneTerminal, Wait: 300 * time.Millisecond,
		},
	)
	for begin := time.Now(); err == nil && r.Stdout.Total == 0 && time.Since(begin) < lab.Patience; {
		r, err = s.ContinueExec(t.Context(), r.ID, session.ContinueRequest{Wait: 300 * time.Millisecond})
	}
	if err != nil {
		lab.Fatal(t, err)
	}
	if got := string(r.Stdout.Bytes()); r.Done != session.DoneRunning || got != "ready\n" {
		t.Fatalf("Exec before the answer = %s, %+v, %q, want running and %q", r.Done, r.Exit, got, "ready\n")
	}
	if _, err := s.Write(t.Context(), []byte("the answer\r"), session.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	r, err = s.ContinueExec(t.Context(), r.ID, session.ContinueRequest{Wait: lab.Patience})
	// The first answer is the terminal's echo.
	if got := string(r.Stdout.Bytes()); err != nil || got != "ready\nthe answer\nthe answer\n" || !r.Exit.Known ||
		r.Exit.Code != 8 {
		t.Errorf("after the answer: %q, %+v (%s), %v", got, r.Exit, r.ExitReason, err)
	}
}

// shellsExit runs a command that ends the shell itself.
func shellsExit(t *testing.T, s *session.Session, sh lab.LoginShell) {
	if sh.Class == session.ClassCsh { // in csh, exit only ends the eval around it
		lab.WantTerminalExec(t, s, "echo bye; exit 3", "bye\n", 3)
		return
	}
	r := lab.TerminalExec(t, s, "echo bye; exit 3")
	if got := string(r.Stdout.Bytes()); !strings.HasPrefix(got, "bye\n") || r.Done != session.DoneEOF || !r.Exit.Known ||
		r.Exit.Code != 3 {
		t.Errorf(
			"put out %q and ended with %+v (%s, %s); want the end of the session with code 3",
			got,
			r.Exit,
			r.Done,
			r.ExitReason,
		)
	}
	if end := lab.WantEnd(t, s); end.Exit.Code != 3 {
		t.Errorf("the session ended with %+v", end)
	}
}
