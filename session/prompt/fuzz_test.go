package prompt

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzLine judges last lines of hostile programs. A pattern that a refusal names must match the line.
func FuzzLine(f *testing.F) {
	for _, line := range []string{
		"", "$ ", "➜  src git:(main) ✗ ", "Name: ", "[y/n](a)[b]: ", "⚡️ ", "a^b\\c ", "((((",
		"<<>>? ", "╰─ ",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if !utf8.ValidString(line) || strings.ContainsAny(line, "\r\n") { // a last line is text without line ends
			t.Skip()
		}
		w, asked := Waits(line, nil), Asks(line)
		if asked != nil && w != nil && w.Kind == YesNo && asked.Kind != YesNo {
			t.Errorf("%q waits for %s and asks for %s", line, w.Kind, asked.Kind)
		}
		if !SameStem(line, line) && leadingSign(line) != "" {
			t.Errorf("%q is not of its own stem", line)
		}
		if s := NewHistory().Sight(View{Line: line}); s.Prompt && s.Question != nil || (s.Prompt || s.Question != nil) != (s.Rest > 0) {
			t.Errorf("the sight of %q is %+v, want a prompt, a question or nothing", line, s)
		}
		p, err := regexp.Compile(Pattern(line))
		if err != nil || !p.MatchString(line) {
			t.Errorf("the pattern %q for %q: %v, want a match", Pattern(line), line, err)
		}
	})
}
