package lane_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

// typedAt makes a session on a shell at the prompt first, at which a line was typed and answered with shown, and
// returns the error of a command for a POSIX shell there; nil: it was typed.
func typedAt(t *testing.T, first, shown string, expect session.Expect) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{PTY: term.PTY{Cols: 80, Rows: 24}})
		put(t, far, first)
		time.Sleep(time.Second)
		typeIn(t, s, "x\r")
		take(t, far, 2)
		put(t, far, "x\r\n"+shown)
		time.Sleep(2 * time.Second)
		typed := s.Info().BytesOut
		r := posix("say hi")
		r.Expect, r.Wait = expect, 5*time.Second
		_, err = s.Exec(t.Context(), r)
		if took := s.Info().BytesOut > typed; took != (err == nil) {
			t.Errorf("behind %q: %v, and typed: %v", shown, err, took)
		}
	})
	return err
}

// Lines at which a command is typed after something was typed by hand, and those at which it is refused with a pattern
// that cures it.
func TestPromptEvidence(t *testing.T) {
	right := strings.Repeat(" ", 40)
	for _, tt := range []struct {
		name, first, shown string
		pattern            string // empty: it is typed
	}{
		{"oh-my-zsh", "➜  ~ ", "➜  src git:(main) ✗ ", ""},
		{"oh-my-zsh, another host", "$ ", "➜  ~ ", ""},
		{"lambda", "$ ", "λ ", ""},
		{"triangle", "$ ", "~/src ▶ ", ""},
		{"single quote", "$ ", "› ", ""},
		{"emoji", "$ ", "🚀 ", ""},
		{"emoji with a selector", "$ ", "⚡️ ", ""},
		{"box", "$ ", "╭─me ~\r\n╰─ ", ""},
		{"time", "$ ", "[12:00:00] me@h:/$ ", ""},
		{"time, as at first", "[12:00:00] me@h:/> ", "[12:00:07] me@h:/tmp> ", `"> $"`},
		{"right prompt", "$ ", "~ ❯ " + right + "12:00:00 me@host example of it\x1b[70D", ""},
		{"marks", "$ ", "\x1b]133;A\x07go on: \x1b]133;B\x07", ""},
		{"marks, bare", "$ ", "\x1b]133;A\x07> \x1b]133;B\x07", ""},

		{"continuation", "λ ", "> ", `"^> $"`},
		{"the same as at first", "> ", "> ", `"^> $"`},
		{"continuation of zsh", "λ ", "dquote> ", `"> $"`},
		{"R", "λ ", "> ", `"^> $"`},
		{"a marked continuation", "$ ", "\x1b]133;A;k=s\x07> \x1b]133;B\x07", `"^> $"`},
		{"marks, and a command runs", "$ ", "\x1b]133;A\x07$ \x1b]133;C\x07\r\nworking ", `"working $"`},
		{"spinner", "λ ", "⠋ ", `"^⠋ $"`},
		{"report", "λ ", "🚀 Deploying to production ", `"production $"`},
		{"check mark", "λ ", "done ✔ ", `"✔ $"`},
		{"nothing", "λ ", "", `"^ *$"`},
		{"device", "λ ", "r1# ", `"^r1# $"`},
		{"half-typed, the cursor at its start", "λ ", "λ rm -r x\r\x1b[2C", `"x$"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := typedAt(t, tt.first, tt.shown, session.Expect{})
			if tt.pattern == "" {
				if err != nil {
					t.Errorf("a command at %q: %v, want it typed", tt.shown, err)
				}
				return
			}
			e := wantKind(t, err, term.Busy)
			if !strings.Contains(e.Message(), tt.pattern) {
				t.Errorf("the refusal %q does not name %s", e.Message(), tt.pattern)
			}
			pattern := term.FactOf[term.Occupied](err).Pattern
			if err := typedAt(t, tt.first, tt.shown, session.Expect{Prompt: re(pattern)}); err != nil {
				t.Errorf("with the pattern %q that it names: %v", pattern, err)
			}
		})
	}
}

// A shell that a command starts ends the call at its prompt, later commands run in it, and nothing is typed into it at
// the deadline.
func TestNestedPrompt(t *testing.T) {
	for _, inner := range []string{
		"/ # ", "root@1f2e3d4c5b6a:/# ", "bash-5.2$ ", "I have no name!@web-0:/$ ", "λ ",
		"~ ❯ ",
	} {
		t.Run(inner, func(t *testing.T) {
			inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
				r := posix("enter " + inner)
				r.Timeout = 20 * time.Second
				got := run(t, s, r)
				if got.WaitingFor == nil || *got.WaitingFor != (term.Waiting{Kind: prompt.Command, Text: inner}) {
					t.Fatalf("%s, waiting for %+v, want the prompt %q", got.Done, got.WaitingFor, inner)
				}
				typed := s.Info().BytesOut
				time.Sleep(30 * time.Second)
				if n := s.Info().BytesOut; n != typed {
					t.Errorf("%d bytes were typed into a shell that waits", n-typed)
				}
				wantMarker(t, run(t, s, posix("say in")), "in\n", 0)
				wantMarker(t, run(t, s, posix("say again")), "again\n", 0)
			})
		})
	}
}
