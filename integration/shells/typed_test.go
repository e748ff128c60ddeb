package shells

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/session"
)

// TestTypedEcho types a line and waits for a word of it, in every shell: only the output of the line may match, not its
// echo, however the shell draws that.
func TestTypedEcho(t *testing.T) {
	l := lab.StartShells(t)
	for _, sh := range lab.LoginShells {
		t.Run(sh.Name, func(t *testing.T) {
			t.Parallel()
			s := l.Open(t, sh.Name)
			lab.TerminalExec(t, s, "true") // the prompt is there
			n := 0
			for _, clean := range []bool{false, true} {
				for name, line := range map[string]string{
					"short":   "sleep 0.2; echo %s\r",
					"wrapped": "sleep 0.2; echo " + strings.Repeat("a-long-word ", 24) + "; echo %s\r",
					"quoted":  "sleep 0.2; printf '%%s\\n' \"é ü\" '%s'\r",
					"erased":  "sleep 9\x7f0.2; echo %s\r",
				} {
					n++
					word := fmt.Sprintf("READY%d", n)
					if name == "erased" {
						word = strings.ToLower(word)
					}
					typed := fmt.Sprintf(line, word)
					t.Run(fmt.Sprintf("%s clean=%v", name, clean), func(t *testing.T) {
						waitTyped(t, s, typed, word, clean, 1)
					})
				}
				n++
				word := fmt.Sprintf("READY%d", n)
				t.Run(fmt.Sprintf("ahead clean=%v", clean), func(t *testing.T) { // the line is echoed twice
					if _, err := s.Write(t.Context(), []byte("sleep 0.5\r"), session.WriteOptions{}); err != nil {
						t.Fatal(err)
					}
					waitTyped(t, s, "sleep 0.2; echo "+word+"\r", word, clean, 1)
				})
				n++
				word = fmt.Sprintf("READY%d", n)
				t.Run(fmt.Sprintf("two lines clean=%v", clean), func(t *testing.T) {
					waitTyped(t, s, "sleep 0.2\recho "+word+"\r", word, clean, 1)
				})
				n++
				word = fmt.Sprintf("READY%d", n)
				t.Run(fmt.Sprintf("to cat clean=%v", clean), func(t *testing.T) {
					// A line that comes before the shell has left its own editor's mode would reach cat without its end.
					begun := waitTyped(t, s, "echo o''n; cat\r", "cat", clean, 0)
					r := session.ReadRequest{Cursor: begun, Clean: true, Timeout: lab.Patience, Until: regexp.MustCompile(`(?m)^on\s*$`)}
					if c := s.Read(t.Context(), r); c.Reason != session.ReasonMatched {
						t.Fatalf("cat has not begun: %q", c.Data)
					}
					waitTyped(t, s, word+"\r", word, clean, 2)
					if _, err := s.Write(t.Context(), nil, session.WriteOptions{Key: "ctrl_d"}); err != nil {
						t.Fatal(err)
					}
					s.Read(t.Context(), session.ReadRequest{Cursor: session.Latest, Idle: quiet, Timeout: lab.Patience})
				})
			}
		})
	}
}

// waitTyped types data, waits for word, and checks that the chunk ends with the word as a line of output. lines is how
// often the word is a line of its own then: once if it was not typed as one; 0: it must not match. It returns the cursor
// before the echo.
func waitTyped(t *testing.T, s *session.Session, data, word string, clean bool, lines int) (cursor int64) {
	t.Helper()
	w, err := s.Write(t.Context(), []byte(data), session.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := session.ReadRequest{
		Cursor: w.Cursor, Echo: w.Echo, Clean: clean, Timeout: lab.Patience,
		Until: regexp.MustCompile(regexp.QuoteMeta(word)),
	}
	if lines == 0 {
		r.Until, r.Idle = regexp.MustCompile(regexp.QuoteMeta(word)), quiet
	}
	c := s.Read(t.Context(), r)
	want := session.ReasonMatched
	if lines == 0 {
		want = session.ReasonIdle
	}
	text, _ := c.Clean()
	if c.Reason != want {
		t.Fatalf("%.80q, waiting for %q: %s, want %s; chunk %q", data, word, c.Reason, want, text)
	}
	if lines == 0 {
		return w.Cursor
	}
	got := 0
	last := ""
	for line := range bytes.Lines(text) {
		// Input that was typed ahead comes behind dash's prompt.
		if last = strings.TrimPrefix(strings.TrimSpace(string(line)), "$ "); last == word {
			got++
		}
	}
	if got != lines || last != word {
		t.Errorf("%.80q, waiting for %q: %d lines are the word, want %d, the last one of the chunk %q", data, word, got,
			lines, c.Data)
	}
	s.Read(t.Context(), session.ReadRequest{Cursor: session.Latest, Idle: quiet, Timeout: lab.Patience}) // the prompt
	return w.Cursor
}

// quiet is how long a terminal must be quiet to be at rest.
const quiet = 300 * time.Millisecond
