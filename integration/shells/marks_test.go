package shells

import (
	"regexp"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/session"
)

// TestMarksInAFlood waits for six marks in output at the full speed of a terminal, with patterns for which package
// regexp searches 10 to 30 MB in a second. Each mark is found, or the result says that a part was not searched.
func TestMarksInAFlood(t *testing.T) {
	l := lab.StartShells(t)
	s := l.Open(t, "bash")
	// 4 MiB of the lines of a build between two marks.
	const program = `line='2026-11-22T10:00:00 build[977]: compiling module/package with 12 flags, 0 errors'; ` +
		`block=$(for i in $(seq 500); do echo "$line"; done); ` +
		`for mark in 1 2 3 4 5 6; do for i in $(seq 100); do echo "$block"; done; echo "step $mark ended: code=$mark"; done` + "\r"
	for _, expr := range lab.Sample([]string{
		`step (\d+) ended`, `(?i)STEP \d+ ENDED`, `(FAILED|ended|aborted): code=\d+`, `\w+ \d ended: \w+=\d`, `(?m)^step \d ended: code=\d\r?$`,
	}, 3, 1) {
		t.Run(expr, func(t *testing.T) {
			from := s.End()
			w, err := s.Write(t.Context(), []byte(program), session.WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			found, unsearched := 0, int64(0)
			cursor, echo := w.Cursor, w.Echo
			for found < 6 {
				c := s.Read(t.Context(), session.ReadRequest{
					Cursor: cursor, Echo: echo, Until: regexp.MustCompile(expr), Timeout: lab.Patience / 4,
				})
				unsearched += c.Unsearched
				if c.Reason != session.ReasonMatched {
					break
				}
				found++
				cursor, echo = c.Next, session.Echo{}
			}
			t.Logf("%d marks, %d bytes unsearched of %d", found, unsearched, s.End()-from)
			if found < 6 && unsearched == 0 {
				t.Errorf("%s: %d marks found of 6, and no byte unsearched", expr, found)
			}
			s.Read(t.Context(), session.ReadRequest{Cursor: session.Latest, Idle: quiet, Timeout: lab.Patience})
			lab.TerminalExec(t, s, "true")
		})
	}
}
