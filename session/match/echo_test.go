package match_test

import (
	"strings"
	"testing"

	"ptyctl/buffer"
	"ptyctl/session/match"
)

// How terminals show typed text, and the first match that is not part of it.
func TestEchoDoesNotMatch(t *testing.T) {
	isPrompt := func(line string) bool { return strings.HasSuffix(line, "$ ") || strings.HasSuffix(line, "> ") }
	for _, c := range []struct {
		name, before, typed, output, expr string
		want                              string // the output up to the match; empty: none
	}{
		{"a line at a prompt", "$ ", "echo READY\r", "echo READY\r\nREADY\r\n$ ", `READY`, "echo READY\r\nREADY"},
		{"no output yet", "$ ", "sleep 9; echo READY\r", "sleep 9; echo READY\r\n", `READY`, ""},
		{"an echo that is not complete", "$ ", "echo READY; sleep 9\r", "echo READY; sl", `READY`, ""},
		{"typed without a line end", "$ ", "echo READY", "echo READY", `READY`, ""},
		{"the prompt that comes next", "$ ", "ls\r", "ls\r\na b\r\n$ ", `\$ $`, "ls\r\na b\r\n$ "},
		{
			"ahead of a program", "", "echo READY\r", "echo READY\r\n50%\r\n$ echo READY\r\nREADY\r\n", `READY`,
			"echo READY\r\n50%\r\n$ echo READY\r\nREADY",
		},
		{"a program that answers with its input", "", "READY\r", "READY\r\nREADY\r\n", `READY`, "READY\r\nREADY"},
		{"a program that answers with a number before it", "", "READY\r", "READY\r\n1:READY\r\n", `READY`, "READY\r\n1:READY"},
		{"an answer of one letter", "Go on? [y/n] ", "y\r", "y\r\nReady\r\n", `y`, "y\r\nReady"},
		{"no echo", "Password: ", "y\r", "\r\nReady\r\n", `y`, "\r\nReady"},
		{"two lines", "$ ", "a=READY\recho $a\r", "a=READY\r\n$ echo $a\r\nREADY\r\n", `READY`, "a=READY\r\n$ echo $a\r\nREADY"},
		{
			"a here document", "$ ", "cat <<E\rREADY\rE\r", "cat <<E\r\n> READY\r\n> E\r\nREADY\r\n", `READY`,
			"cat <<E\r\n> READY\r\n> E\r\nREADY",
		},
		{"behind a right prompt", "$ ", "echo READY\r", "echo READY      12:03\r\nREADY\r\n", `READY`, "echo READY      12:03\r\nREADY"},
		{
			"coloured while it was typed", "$ ", "echo READY\r", "\x1b[32mecho\x1b[m RE\x1b[1mADY\x1b[m\r\nREADY\r\n", `READY`,
			"\x1b[32mecho\x1b[m RE\x1b[1mADY\x1b[m\r\nREADY",
		},
		{
			"in the window's title", "$ ", "echo READY\r", "echo READY\r\n\x1b]0;echo READY\aREADY\r\n", `READY`,
			"echo READY\r\n\x1b]0;echo READY\aREADY",
		},
		{"in a title that is not complete", "$ ", "echo READY\r", "echo READY\r\n\x1b]0;echo READY", `READY`, ""},
		{
			"erased while it was typed", "$ ", "echo xx\x7f\x7fREADY\r", "echo xx\b \b\b \bREADY\r\nREADY\r\n", `READY`,
			"echo xx\b \b\b \bREADY\r\nREADY",
		},
		{"its line end", "$ ", "echo READY\r", "echo READY\r\nREADY\r\n", `\nREADY`, "echo READY\r\nREADY"},
		{
			"a long line, with no echo", "", "curl http://localhost:8080/health; echo deployment-finished\r", "ok\r\ndeployment-finished\r\n",
			`finished`, "ok\r\ndeployment-finished",
		},
		{"the prompt again, with no echo", "$ ", "echo rea''dy\r", "ready\r\n$ ", `ready\r?\n\$ $`, "ready\r\n$ "},
		{
			"set -v", "$ ", "sleep 1; echo READY\r", "sleep 1; echo READY\r\nsleep 1; echo READY\r\nREADY\r\n", `READY`,
			"sleep 1; echo READY\r\nsleep 1; echo READY\r\nREADY",
		},
		{"entered alone, and drawn again", "$ echo READY", "\r", "\r$ echo READY\x1b[K\r\nREADY\r\n", `READY`, "\r$ echo READY\x1b[K\r\nREADY"},
		{"enter at a prompt", "$ ", "\r", "\r\n$ ", `\$ $`, "\r\n$ "},
		{"the rest of a line typed ahead", "echo ", "READY\r", "READY\r\n$ echo READY\r\nREADY\r\n", `READY`, "READY\r\n$ echo READY\r\nREADY"},
		{
			"a key of the editor before it", "$ ", "\x0cecho READY\r", "\x1b[H\x1b[2J$ echo READY\r\nREADY\r\n", `READY`,
			"\x1b[H\x1b[2J$ echo READY\r\nREADY",
		},
		{"a key of the editor, typed ahead", "", "\x01echo READY\r", "^Aecho READY\r\nREADY\r\n", `READY`, "^Aecho READY\r\nREADY"},
		{
			"escaped signs", "$ ", "echo \U0001F680READY\r", "echo \\U+1F680READY\r\n\U0001F680READY\r\n", `READY`,
			"echo \\U+1F680READY\r\n\U0001F680READY",
		},
		{"no echo, and an answer with it", "PW: ", "hunter2\r", "\r\nyour password is hunter2\r\n", `hunter2`, "\r\nyour password is hunter2"},
		{
			"a line that fills its row", "$ ", "echo " + strings.Repeat("abc", 24) + "d\r",
			"echo " + strings.Repeat("abc", 24) + "d\r\n" + strings.Repeat("abc", 24) + "d\r\n", `abcd`,
			"echo " + strings.Repeat("abc", 24) + "d\r\n" + strings.Repeat("abc", 24) + "d",
		},
		{
			"in a full-screen program that draws on", "+---+", "abc.example\r",
			"\x1b[18;3Habc.example\x1b[H\x1b[2J\x1b[16;3H+---+\x1b[17;3HReady?", `Ready\?`,
			"\x1b[18;3Habc.example\x1b[H\x1b[2J\x1b[16;3H+---+\x1b[17;3HReady?",
		},
		{"output before the echo", "$ ", "ls\r", "READY\r\n$ ls\r\n", `READY`, "READY"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, clean := range []bool{false, true} {
				for _, step := range []int{1, 3, len(c.output)} {
					b := buffer.New(buffer.Options{})
					_, _ = b.Write([]byte("before\r\n" + c.before))
					from := b.Stat().End
					s := match.New(b, match.Options{
						Pattern: match.Compile(re(c.expr)), From: from, Clean: clean, Cols: 80,
						Echo: match.EchoOf([]byte(c.typed), c.before), IsPrompt: isPrompt,
					})
					got := ""
					for at := 0; at < len(c.output) && got == ""; at += step {
						_, _ = b.Write([]byte(c.output[at:min(at+step, len(c.output))]))
						if _, stop, ok := s.Look(); ok {
							got = string(b.At(from, int(stop-from)).Data)
						}
					}
					if got != c.want {
						t.Errorf("%q typed at %q, shown as %q (%d bytes at a time, clean %v), until %s: match at the end of %q, want %q",
							c.typed, c.before, c.output, step, clean, c.expr, got, c.want)
					}
					if c.want == "" && !s.OwnEcho() && !strings.Contains(c.name, "title") {
						t.Errorf("%q shown as %q, until %s: OwnEcho = false, want true", c.typed, c.output, c.expr)
					}
				}
			}
		})
	}
}
