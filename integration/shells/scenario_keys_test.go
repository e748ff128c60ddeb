package shells

import (
	"regexp"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/session"
)

// press presses a key and waits until the terminal's output matches.
func press(t *testing.T, s *session.Session, key, until string) {
	t.Helper()
	w, err := s.Write(t.Context(), nil, session.WriteOptions{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Read(
		t.Context(), session.ReadRequest{Cursor: w.Cursor, Until: regexp.MustCompile(until), Timeout: lab.Patience},
	); c.Reason != session.ReasonMatched {
		t.Fatalf("%s: %s, %q; want %s", key, c.Reason, c.Data, until)
	}
}

// TestScenarioKeys presses keys for real programs, and pastes into them.
func TestScenarioKeys(t *testing.T) {
	l := lab.StartShells(t)
	t.Run("application cursor keys", func(t *testing.T) {
		t.Parallel()
		s := l.Open(t, "bash")
		lab.TypeUntil(t, s, "cat -v\r", `cat -v\r\n`)
		labWait(t, s) // until then ctrl_c may be for the shell
		press(t, s, "arrow_up", `\^\[\[A`)
		press(t, s, "ctrl_c", `\$ $`)
		lab.TypeUntil(t, s, `printf '\033[?1h'; cat -v; printf '\033[?1l'`+"\r", `\x1b\[\?1h$`)
		labWait(t, s)
		press(t, s, "arrow_up", `\^\[OA`)
		press(t, s, "home", `\^\[OH`)
		press(t, s, "f10", `\^\[\[21~`)
		press(t, s, "ctrl_c", `\$ $`)
		lab.TypeUntil(t, s, "printf '\\033[?1l'\r", `\x1b\[\?1l(?s:.*)\$ $`)
		press(t, s, "arrow_up", `printf`) // the last command
		press(t, s, "ctrl_u", `.`)
		lab.TypeUntil(t, s, "echo a b", `a b$`)
		press(t, s, "alt_b", `.`) // a word back
		lab.TypeUntil(t, s, "x\r", `\ra xb\r\n(?s:.*)\$ $`)
		lab.WantTerminalExec(t, s, "echo there", "there\n", 0)
	})
	t.Run("less", func(t *testing.T) {
		t.Parallel()
		s := l.Open(t, "bash")
		lab.TypeUntil(t, s, "seq 1 500 | less\r", `(?m)^:$|\x1b\[\?1h`)
		s.Read(t.Context(), session.ReadRequest{Cursor: session.Latest, Idle: 300e6, Timeout: lab.Patience})
		press(t, s, "end", `500`)
		press(t, s, "home", `M1\r\n`)
		press(t, s, "page_down", `\b60\b`)
		lab.TypeUntil(t, s, "q", `\$ $`)
	})
	t.Run("paste", func(t *testing.T) {
		t.Parallel()
		for _, shell := range []string{"bash", "zsh", "fish"} { // they ask for bracketed paste
			s := l.Open(t, shell)
			labWait(t, s)
			w, err := s.Write(t.Context(), []byte("echo one\necho two"), session.WriteOptions{Paste: true})
			if err != nil || w.Warnings != nil {
				t.Fatalf("%+v, %v", w, err)
			}
			c := s.Read(t.Context(), session.ReadRequest{Cursor: w.Cursor, Idle: 500e6, Timeout: lab.Patience})
			if regexp.MustCompile(`(?m)^one\r?$`).Match(c.Data) {
				t.Errorf("%s: a line of the paste was run: %q", shell, c.Data)
			}
			press(t, s, "enter", `(?s)[\r\n]one\r?\n.*two\r?\n`)
		}
	})
	t.Run("paste into what did not ask", func(t *testing.T) {
		t.Parallel()
		s := l.Open(t, "dash")
		w, err := s.Write(t.Context(), []byte("echo one\necho two\n"), session.WriteOptions{Paste: true})
		if err != nil || len(w.Warnings) != 1 {
			t.Fatalf("%+v, %v", w, err)
		}
		if c := s.Read(
			t.Context(),
			session.ReadRequest{Cursor: w.Cursor, Until: regexp.MustCompile(`\r\none\r\n\$ two\r\n`), Timeout: lab.Patience},
		); c.Reason != session.ReasonMatched {
			t.Errorf("after a paste in dash: got %q, want both lines run", c.Data)
		}
	})
}

// labWait waits until the terminal is still.
func labWait(t *testing.T, s *session.Session) {
	t.Helper()
	s.Read(t.Context(), session.ReadRequest{Cursor: session.Latest, Idle: 300e6, Timeout: lab.Patience})
}
