package lane_test

import (
	"testing"
	"time"

	"ptyctl/session"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

// about reports whether a time is the wanted one, or a tenth of a second more.
func about(got, want time.Duration) bool { return got >= want && got <= want+100*time.Millisecond }

// An unfinished line that looks like a report ends the call when it stalls, once for the command, and is in later
// results as long as it is stalled.
func TestStalled(t *testing.T) {
	inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		want := term.Waiting{Kind: prompt.Unknown, Text: "glorp "}
		var got session.ExecResult
		took := since(func() { got = run(t, s, posix("ask glorp ")) })
		if took < 5*time.Second || took > 5500*time.Millisecond {
			t.Errorf("told after %v, want five seconds", took)
		}
		if got.WaitingFor == nil || *got.WaitingFor != want || string(got.Stdout.Bytes()) != "glorp " ||
			got.Done != session.DoneRunning {
			t.Fatalf("%s with output %q waits for %+v, want %+v", got.Done, got.Stdout.Bytes(), got.WaitingFor, want)
		}
		if w := s.Waiting(); w == nil || *w != want {
			t.Errorf("the session waits for %+v, want %+v", w, want)
		}
		var err error
		took = since(func() {
			got, err = s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: 10 * time.Second})
		})
		if err != nil || took != 10*time.Second || got.WaitingFor == nil || *got.WaitingFor != want {
			t.Errorf("continued for %v: %+v, %v; want ten seconds and the line", took, got.WaitingFor, err)
		}
		typeIn(t, s, "x\r")
		if got, err = s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: time.Minute}); err != nil {
			t.Fatal(err)
		}
		wantMarker(t, got, "glorp x\n[x]\n", 0)
	})
}

// A call that ends by itself has the line, too.
func TestStalledAtTheEndOfAWait(t *testing.T) {
	inShell(t, userPrompt, session.Options{QuietLine: 2 * time.Second},
		func(t *testing.T, s *session.Session, sh *fakeShell) {
			r := posix("pieces 25s step |step |step ")
			r.Timeout, r.Wait = 5*time.Minute, time.Minute
			got := run(t, s, r)
			if got.WaitingFor == nil || got.WaitingFor.Text != "step " || !about(got.Duration, 2*time.Second) {
				t.Fatalf("after %v waiting for %+v, want the line after two seconds", got.Duration, got.WaitingFor)
			}
			if w := s.Waiting(); w == nil || w.Kind != prompt.Unknown {
				t.Errorf("the session waits for %+v, want the line", w)
			}
			for _, wait := range []time.Duration{10 * time.Second, 12 * time.Second} {
				got, _ = s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: wait})
			}
			if got.WaitingFor == nil || got.WaitingFor.Text != "step " {
				t.Errorf("after 24 s waiting for %+v, want the line", got.WaitingFor)
			}
			got, _ = s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: 10 * time.Second})
			if got.WaitingFor != nil { // the line grew: 30 s
				t.Errorf("after 34 s waiting for %+v, want nothing", got.WaitingFor)
			}
		})
}

// A program that works, and is between two calls of the system when it is looked at, is looked at again.
func TestStalledInDoubt(t *testing.T) {
	for _, tt := range []struct {
		doubt time.Duration // how long nothing certain shows
		told  bool
	}{{5300 * time.Millisecond, false}, {time.Minute, true}} {
		inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			start := time.Now()
			sh.terminal.front = func() term.Front {
				if time.Since(start) < tt.doubt {
					return term.Front{Program: "make", Reads: term.Maybe}
				}
				return term.Front{Program: "make", Reads: term.No}
			}
			r := posix("pieces 20s step |step ")
			r.Timeout = time.Minute
			if got := run(t, s, r); (got.WaitingFor != nil) != tt.told {
				t.Errorf("in doubt for %v: %s after %v, waiting for %+v; want the line: %v",
					tt.doubt, got.Done, got.Duration, got.WaitingFor, tt.told)
			}
		})
	}
}

// A line that grew, or was redrawn, must be quiet for longer.
func TestGrownLine(t *testing.T) {
	for _, tt := range []struct {
		command string
		told    time.Duration // 0: never
	}{
		{"pieces 4s .|.|.|.", 0},
		{"pieces 20s tests/test_a.py |..|..|..", 5 * time.Second},
		{"pieces 1s tests/test_a.py |..|\\015\\033[K50", 0},
		{"pieces 3s Reading package lists... |Done\\015\\012Building dependency tree... |Done", 0},
	} {
		inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			r := posix(tt.command)
			r.Timeout = 5 * time.Minute
			got := run(t, s, r)
			if tt.told == 0 {
				if got.Done != session.DoneMarker {
					t.Errorf("%q: %s after %v, waiting for %+v; want its end", tt.command, got.Done, got.Duration, got.WaitingFor)
				}
				return
			}
			if got.WaitingFor == nil || !about(got.Duration, tt.told) {
				t.Fatalf("%q: waiting for %+v after %v, want the line after %v", tt.command, got.WaitingFor, got.Duration, tt.told)
			}
			got, err := s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: 5 * time.Minute})
			if err != nil || got.Done != session.DoneMarker { // once for a command
				t.Errorf("%q, continued: %s, %+v, %v; want its end", tt.command, got.Done, got.WaitingFor, err)
			}
		})
	}
	inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		r := posix("grown")
		r.Timeout = 5 * time.Minute
		got := run(t, s, r)
		if got.WaitingFor == nil || !about(got.Duration, 31*time.Second) {
			t.Errorf("waiting for %+v after %v, want the line after 31 s", got.WaitingFor, got.Duration)
		}
	})
}

// A prompt is no stalled line.
func TestPromptDoesNotStandStill(t *testing.T) {
	for _, line := range []string{userPrompt, "r1#", "λ ", "➜  src git:(main) ", "[admin@MikroTik] > ", ""} {
		inShell(t, line, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			time.Sleep(time.Minute)
			if w := s.Waiting(); w != nil {
				t.Errorf("at %q the session waits for %+v", line, w)
			}
		})
	}
	inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		typeIn(t, s, "rm -r")
		time.Sleep(time.Minute)
		if w := s.Waiting(); w == nil || *w != (term.Waiting{Kind: prompt.Unknown, Text: userPrompt + "rm -r"}) {
			t.Errorf("at a half-typed line the session waits for %+v", w)
		}
	})
}
