package grammar

import "strings"

// Hole represents unknown text: a variable, the output of a substitution, or
// the result of a file pattern. It may be any string. NUL cannot be part of a
// command, so it is free for this use.
const Hole = '\x00'

// A Wildcard is a pattern: * matches any text, including line ends, and ? one
// character. A final " *" may be missing, so that "ls *" also matches ls alone.
type Wildcard struct {
	full   []rune
	short  []rune // full without its final " *"; nil: it has none
	Parts  []Wildcard
	text   string // full
	prefix string // common start of both, up to the first * or ?
	plain  bool   // without * and ?
}

// NewWildcard parses a pattern for a whole command.
func NewWildcard(pattern string) Wildcard {
	w := NewPart(pattern)
	fields := strings.Fields(pattern)
	w.Parts = make([]Wildcard, len(fields))
	for i, f := range fields {
		w.Parts[i] = NewPart(f)
	}
	return w
}

// NewPart parses a pattern for one word, in which a final " *" has no special
// meaning.
func NewPart(pattern string) Wildcard {
	w := Wildcard{full: []rune(pattern), text: pattern, prefix: pattern, plain: true}
	if i := strings.IndexAny(pattern, "*?"); i >= 0 {
		w.prefix, w.plain = pattern[:i], false
	}
	if base, ok := strings.CutSuffix(pattern, " *"); ok {
		w.short = []rune(base)
		w.prefix = w.prefix[:min(len(w.prefix), len(base))]
	}
	return w
}

// begins reports whether the start of text, up to its first hole, fits the
// pattern. It quickly excludes most patterns.
func (w Wildcard) begins(text string) bool {
	known := strings.IndexByte(text, Hole)
	if known < 0 || known >= len(w.prefix) {
		return strings.HasPrefix(text, w.prefix)
	}
	return text[:known] == w.prefix[:known]
}

// May reports whether the pattern matches the text for some value of its holes.
func (w Wildcard) May(text string) bool {
	if !w.begins(text) {
		return false
	}
	return run(w.full, text, true) || w.short != nil && run(w.short, text, true)
}

// Must reports whether the pattern matches the text for every value of its
// holes: only * matches a hole.
func (w Wildcard) Must(text string) bool {
	if w.plain {
		return text == w.text
	}
	if !strings.HasPrefix(text, w.prefix) {
		return false
	}
	return run(w.full, text, false) || w.short != nil && run(w.short, text, false)
}

// Literal returns the text of a pattern without wildcards, and whether it is
// one.
func (w Wildcard) Literal() (string, bool) {
	return w.text, w.plain
}

// run follows all paths through the pattern at the same time, so its cost is at
// most the product of the two lengths.
func run(pattern []rune, text string, may bool) bool {
	if !strings.ContainsRune(text, Hole) && !strings.ContainsAny(string(pattern), "*?") {
		return string(pattern) == text
	}
	at, next := make([]bool, len(pattern)+1), make([]bool, len(pattern)+1)
	at[0] = true
	skipStars(pattern, at)
	for _, c := range text {
		clear(next)
		alive := false
		for i, here := range at {
			switch {
			case !here:
			case c == Hole && may: // some value of the hole leads to each later position
				for j := i; j < len(next); j++ {
					next[j] = true
				}
				alive = true
			case i == len(pattern):
			case pattern[i] == '*':
				next[i], alive = true, true
			case c != Hole && (pattern[i] == '?' || pattern[i] == c):
				next[i+1], alive = true, true
			}
		}
		if !alive {
			return false
		}
		skipStars(pattern, next)
		at, next = next, at
	}
	return at[len(pattern)]
}

// skipStars adds the positions that are reached if a star matches nothing.
func skipStars(pattern []rune, at []bool) {
	for i, c := range pattern {
		if at[i] && c == '*' {
			at[i+1] = true
		}
	}
}
