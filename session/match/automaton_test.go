package match

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// exprs are expressions of many forms, for texts of few characters.
var exprs = []string{
	`ab`, `a|bc`, `^ab`, `(?m)^ab`, `(?m)b$`, `b$`, `\bab\b`, `\Bb`, `a+b*c`, `(?i)AbC`, `a.c`, `(?s)a.c`, `a[^b]c`, `^$`, `(?m)^$`,
	`^a+$`, `€`, `[^\x00-\x7f]b`, `a{2,3}b`, `(a|ab)(c|bcd)`, `a\s+b`, `\d`, `c\n\n`, `a*`, `(?:)`, `x`, `\bc\n`, `(?m)c$\na`,
	`(a|b)*a(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)c`,
}

// randomText returns up to n pieces of text that the expressions care about.
func randomText(r *rand.Rand, n int) string {
	pieces := []string{"a", "a", "b", "b", "c", " ", "\n", "€", "\xff", "A", "B", "\xe2\x82"}
	var text strings.Builder
	for range r.IntN(n) {
		text.WriteString(pieces[r.IntN(len(pieces))])
	}
	return text.String()
}

// The automaton finds the end of a match where package regexp says that one ends, however the text is cut.
func TestAutomatonAgainstRegexp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, expr := range exprs {
		p := Compile(regexp.MustCompile(expr))
		for range 150 {
			s := randomText(r, 14)
			after := int64(r.IntN(len(s)+1) - 1)
			a := newAutomaton(p, 0)
			got := int64(-1)
			for at := 0; at < len(s) && got < 0; {
				n := min(1+r.IntN(5), len(s)-at)
				if end, ok := a.find([]byte(s[at:at+n]), after); ok {
					got = end
				}
				at += n
			}
			if got < 0 && a.atEnd(after) {
				got = a.pos
			}
			want := int64(-1)
			for end := int(after) + 1; end <= len(s) && want < 0; end++ {
				if end > len(s)-len(a.cut) { // the last rune may go on
					break
				}
				if endsAt(p.re, s, end) {
					want = int64(end)
				}
			}
			if got != want {
				t.Fatalf("%s in %q beyond %d: match ends at %d, want %d", expr, s, after, got, want)
			}
		}
	}
}

// endsAt reports whether a match of re in s ends at end.
func endsAt(re *regexp.Regexp, s string, end int) bool {
	bounds := map[int]int{} // by offset: runes before
	n := 0
	for i := 0; i < len(s); n++ {
		bounds[i] = n
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	bounds[len(s)] = n
	before, ok := bounds[end]
	if !ok {
		return false
	}
	forced := fmt.Sprintf(`\A(?s:.{0,%d})(?:%s)(?s:.{%d})\z`, before, re, n-before)
	return regexp.MustCompile(forced).MatchString(s)
}

// The memory of an automaton is bounded, also for an expression that needs exponentially many states.
func TestAutomatonForgets(t *testing.T) {
	p := Compile(regexp.MustCompile(`a[ab]{14}c`))
	a := newAutomaton(p, 0)
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		text := make([]byte, 100)
		for i := range text {
			text[i] = "ab"[r.IntN(2)]
		}
		if end, ok := a.find(text, -1); ok {
			t.Fatalf("match ends at %d, want none", end)
		}
		if len(a.states) > maxStates+1 {
			t.Fatalf("%d states, want at most %d", len(a.states), maxStates)
		}
	}
	if end, ok := a.find([]byte("a"+strings.Repeat("b", 14)+"c "), -1); !ok || end != 20016 {
		t.Errorf("match ends at %d (%v), want 20016", end, ok)
	}
}
