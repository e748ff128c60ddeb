package match

import (
	"bytes"
	"fmt"
	"regexp"
	"testing"
)

// BenchmarkAutomaton compares the automaton with package regexp on lines that a build prints, without a match.
func BenchmarkAutomaton(b *testing.B) {
	var text bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&text, "2026-11-22T10:%02d:%02d build[%d]: compiling module/package-%d with 12 flags, 0 errors\r\n",
			i/60%60, i%60, i%977, i)
	}
	for _, expr := range []string{
		`RC=0;END`, `(?i)password:`, `\d+ passed`, `(FAILED|PASSED|finished in \d+s)`, `^Total: +\d+$`, `\w+ ERROR \w+`, `[$#>] $`,
	} {
		p := Compile(regexp.MustCompile(expr))
		b.Run(expr+"/automaton", func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				if _, ok := newAutomaton(p, 0).find(text.Bytes(), -1); ok {
					b.Fatal("found")
				}
			}
		})
		b.Run(expr+"/regexp", func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				if p.re.Match(text.Bytes()) {
					b.Fatal("found")
				}
			}
		})
	}
}
