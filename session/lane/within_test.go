package lane_test

import (
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

// nested starts a shell with the prompt inner, and returns the exec that waits for its end.
func nested(t *testing.T, s *session.Session, inner string) string {
	t.Helper()
	r := posix("sub " + inner)
	r.Timeout = time.Hour
	got := run(t, s, r)
	if got.WaitingFor == nil || *got.WaitingFor != (term.Waiting{Kind: prompt.Command, Text: inner}) {
		t.Fatalf("sub %q: %s, waiting for %+v, want the prompt", inner, got.Done, got.WaitingFor)
	}
	return got.ID
}

// wantReturned fails the test unless the exec has ended with its marker.
func wantReturned(t *testing.T, s *session.Session, id, out string, status int) {
	t.Helper()
	got, err := s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: time.Second})
	if err != nil || got.Done != session.DoneMarker || got.Exit != (term.Exit{Known: true, Code: status}) ||
		string(got.Stdout.Bytes()) != out {
		t.Errorf("the exec that started the shell: %q, %+v, %v, want %q and status %d", got.Stdout.Bytes(), got, err, out,
			status)
	}
}

// The marker of a command that has started a shell comes when that shell ends: it ends that command, and the one that
// ended the shell, and is in no output.
func TestShellWithinEnds(t *testing.T) {
	for _, noMarker := range []bool{false, true} {
		inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			first := nested(t, s, "bash-5.2# ")
			wantMarker(t, run(t, s, posix("say in")), "in\n", 0)
			second := nested(t, s, "/ # ")
			for _, outer := range []struct {
				id, prompt string
				status     int
			}{{second, "/ # ", 6}, {first, "bash-5.2# ", 5}} {
				r := posix("leave " + string(rune('0'+outer.status)))
				r.NoMarker = noMarker
				got := run(t, s, r)
				if string(got.Stdout.Bytes()) != "exit\n" || got.Done != session.DonePrompt || got.Exit.Known {
					t.Errorf("leave: %q, %+v, want exit, and the prompt", got.Stdout.Bytes(), got)
				}
				synctest.Wait()
				wantReturned(t, s, outer.id, outer.prompt, outer.status)
				wantMarker(t, run(t, s, posix("say out")), "out\n", 0)
			}
		})
	}
}

// The shell may end, and the marker come, before the call that typed the line learns that the line is out.
func TestShellWithinEndsAtOnce(t *testing.T) {
	for _, noMarker := range []bool{false, true} {
		inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			id := nested(t, s, "bash-5.2# ")
			sh.terminal.late = time.Second
			r := posix("leave 5")
			r.NoMarker = noMarker
			if got := run(t, s, r); string(got.Stdout.Bytes()) != "exit\n" || got.Done != session.DonePrompt {
				t.Errorf("leave (no marker: %v): %q, %+v, want exit, and the prompt", noMarker, got.Stdout.Bytes(), got)
			}
			wantReturned(t, s, id, "bash-5.2# ", 5)
		})
	}
}

// A caller may leave that shell by hand.
func TestShellWithinEndedByHand(t *testing.T) {
	for _, between := range []bool{false, true} {
		inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			first := nested(t, s, "bash-5.2# ")
			if between {
				wantMarker(t, run(t, s, posix("say in")), "in\n", 0)
			}
			typeIn(t, s, "leave 5\r")
			time.Sleep(time.Second)
			got, err := s.ContinueExec(t.Context(), first, session.ContinueRequest{Wait: time.Second})
			if err != nil || got.Done != session.DoneMarker || got.Exit.Code != 5 {
				t.Errorf("the exec that started the shell (a command between: %v): %+v, %v, want status 5", between, got, err)
			}
			wantMarker(t, run(t, s, posix("say out")), "out\n", 0)
		})
	}
}

// A probed is a terminal of this machine: its foreground program is known.
type probed struct {
	plain
	front func() term.Front
}

func (p *probed) Probe() term.Front { return p.front() }

// No looks and no marks make a prompt where the program in front is known to be no shell.
func TestPromptImitated(t *testing.T) {
	cat := term.Front{Program: "cat", Reads: term.Yes}
	for _, tt := range []struct {
		shown string
		front term.Front
		typed bool
	}{
		{"bash-5.2# ", cat, false},
		{"\x1b]133;A\a> \x1b]133;B\a", cat, false},
		{userPrompt, cat, false},
		{"bash-5.2# ", term.Front{Program: "dash", Reads: term.Yes}, true},
		{"bash-5.2# ", term.Front{Program: "ssh", Edits: true, Reads: term.Yes}, true},
		{"bash-5.2# ", term.Front{}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			near, far := widePipe()
			o := session.Options{PTY: term.PTY{Cols: 80, Rows: 24}}
			watch(t, &o)
			s := session.New(&probed{plain: plain{ReadWriteCloser: near}, front: func() term.Front { return tt.front }}, o)
			tellState(t, s)
			put(t, far, userPrompt)
			time.Sleep(time.Second)
			typeIn(t, s, "x\r")
			take(t, far, 2)
			put(t, far, "x\r\n"+tt.shown)
			time.Sleep(2 * time.Second)
			before := s.Info().BytesOut
			r := posix("say hi")
			r.Wait = 5 * time.Second
			_, err := s.Exec(t.Context(), r)
			if typed := s.Info().BytesOut > before; typed != tt.typed {
				t.Errorf("at %q with %+v in front: typed %v (%v), want %v", tt.shown, tt.front, typed, err, tt.typed)
			}
			if !tt.typed {
				wantKind(t, err, term.Busy)
			}
			s.Close(t.Context(), session.CloseOptions{Force: true})
			far.Close()
		})
	}
}
