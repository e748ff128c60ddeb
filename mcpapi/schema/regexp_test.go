package schema

import (
	"regexp/syntax"
	"strings"
	"testing"
)

// A pattern with too large a program is refused before the program is made.
func TestRegexpProgram(t *testing.T) {
	for _, pattern := range []string{
		"", "x{0,1000}", "^.{1000}$", strings.Repeat("a", MaxRegexp), strings.Repeat("x?", MaxRegexp/2),
		`(?i)^(\d{1,3}\.){3}\d{1,3}/\d{1,2} +[\w.-]{1,255}[>#] ?$`,
	} {
		if _, err := CompileRegexp(pattern, true); err != nil {
			t.Errorf("%.30s: %v", pattern, err)
		}
	}
	for _, pattern := range []string{
		"x{0,1000}x{0,1000}x{0,1000}", strings.Repeat("x{0,1000}", 455), "((abcdefghijklmnopqrstuvwxyz{0,10}){10}yy){10}", "(abcdef){1000}", "(?:abcdef){999,}",
		strings.Repeat("(", 400) + "x{0,1000}" + strings.Repeat(")*", 400) +
			strings.Repeat("y{1000}", 4), "(?:[a-z]{500}|z{0,500}){2}y{0,1000}",
	} {
		if _, err := CompileRegexp(pattern, false); err == nil ||
			!strings.Contains(err.Error(), "shorten the repeat counts") {
			t.Errorf("%.30s: %v", pattern, err)
		}
	}
}

// The estimate must equal the compiler's count, except for its first and last instructions.
func TestProgramSize(t *testing.T) {
	for _, pattern := range []string{
		"abc", "a|bc|[d-f]g", "(ab)*c+d?", "x{0,1000}", "x{7}", "x{3,}", "x{0,}", "x{2,9}", "(?:ab|cd){3,20}", "((x{1,10}y){2,10}z){1,3}", `^\bx.$`, "x{0}",
	} {
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		got := programSize(parsed)
		prog, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if want := len(prog.Inst) - 2; got < want-1 || got > want+1 {
			t.Errorf("%s: %d, compiled %d", pattern, got, want)
		}
	}
}
