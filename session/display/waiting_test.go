package display_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// The description of the last line shows no secret either, however late a program prints it.
func TestSecretsInWhatTheTerminalWaitsFor(t *testing.T) {
	const secret = `hunter"22-1138`
	stars := strings.Repeat("*", len(secret))
	for _, tc := range []struct{ name, line string }{
		{"a question", "Stored %s. Continue? [y/N] "},
		{"an unfinished line", "user %s waits"},
		{"a login", "%s login: "},
		{"a prompt", "user@%s:~$ "},
		{"a prompt that is not known", "%s no prompt>>"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, far := opened(t)
			put(t, far, "Password: ")
			secretly(t, s, far, secret+"\r")
			time.Sleep(time.Minute) // its echo is not expected any more
			put(t, far, "\r\n"+fmt.Sprintf(tc.line, secret))
			time.Sleep(10 * time.Second)
			w, want := s.Waiting(), fmt.Sprintf(tc.line, stars)
			if w == nil && !strings.Contains(tc.name, "prompt") || w != nil && w.Text != want {
				t.Errorf("%s: the session waits for %+v, want %q", tc.name, w, want)
			}
			_, err := s.Exec(t.Context(), session.ExecRequest{
				Command: "true", Class: session.ClassPosix, Lane: session.LaneTerminal, Timeout: time.Minute, Wait: time.Minute,
			})
			if err == nil {
				return
			}
			said := err.Error()
			if o := term.FactOf[term.Occupied](err); o.Waiting != nil {
				said += o.Waiting.Text + o.Pattern
			}
			if strings.Contains(strings.ReplaceAll(said, `\`, ""), secret) || !strings.Contains(said, stars) {
				t.Errorf("%s: Exec says %q, want the secret covered", tc.name, said)
			}
		})
	}
}
