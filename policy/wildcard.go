package policy

import "strings"

// hole stands in a text for what is not known: a variable, what a substitution puts out, what a glob finds. It is any
// string. NUL cannot be part of a command.
const hole = '\x00'

// A wildcard is a pattern: * is any text, with line ends, and ? is one character. A last " *" may be missing as a whole, so
// that "ls *" is also ls alone.
type wildcard struct {
	full   []rune
	short  []rune // full without its last " *"; nil: it has none
	parts  []wildcard
	text   string // full
	prefix string // what both begin with, up to the first * or ?
	plain  bool   // there is none
}

func newWildcard(pattern string) wildcard {
	w := newPart(pattern)
	fields := strings.Fields(pattern)
	w.parts = make([]wildcard, len(fields))
	for i, f := range fields {
		w.parts[i] = newPart(f)
	}
	return w
}

func newPart(pattern string) wildcard {
	w := wildcard{full: []rune(pattern), text: pattern, prefix: pattern, plain: true}
	if i := strings.IndexAny(pattern, "*?"); i >= 0 {
		w.prefix, w.plain = pattern[:i], false
	}
	if base, ok := strings.CutSuffix(pattern, " *"); ok {
		w.short = []rune(base)
		w.prefix = w.prefix[:min(len(w.prefix), len(base))]
	}
	return w
}

// begins reports whether text, up to its first hole, begins as the pattern does: most patterns are out of the question then.
func (w wildcard) begins(text string) bool {
	known := strings.IndexByte(text, hole)
	if known < 0 || known >= len(w.prefix) {
		return strings.HasPrefix(text, w.prefix)
	}
	return text[:known] == w.prefix[:known]
}

// may reports whether the text can be one that the pattern matches, whatever its holes are.
func (w wildcard) may(text string) bool {
	if !w.begins(text) {
		return false
	}
	return run(w.full, text, true) || w.short != nil && run(w.short, text, true)
}

// must reports whether the pattern matches the text whatever its holes are: a hole is matched by * alone.
func (w wildcard) must(text string) bool {
	if w.plain {
		return text == w.text
	}
	if !strings.HasPrefix(text, w.prefix) {
		return false
	}
	return run(w.full, text, false) || w.short != nil && run(w.short, text, false)
}

// literal reports whether the pattern is nothing but text, and which.
func (w wildcard) literal() (string, bool) {
	return w.text, w.plain
}

// run follows all ways at a time through the pattern: its cost is the product of the lengths, whatever they hold.
func run(pattern []rune, text string, may bool) bool {
	if !strings.ContainsRune(text, hole) && !strings.ContainsAny(string(pattern), "*?") {
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
			case c == hole && may: // some string leads to each place from here on
				for j := i; j < len(next); j++ {
					next[j] = true
				}
				alive = true
			case i == len(pattern):
			case pattern[i] == '*':
				next[i], alive = true, true
			case c != hole && (pattern[i] == '?' || pattern[i] == c):
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

// skipStars adds the places that are reached by taking a star for nothing.
func skipStars(pattern []rune, at []bool) {
	for i, c := range pattern {
		if at[i] && c == '*' {
			at[i+1] = true
		}
	}
}
