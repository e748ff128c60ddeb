package session

import (
	"regexp"
	"regexp/syntax"
	"slices"
)

// A pattern is a regular expression made ready to be searched for in a window of a stream that goes on.
//
// A window begins at the start of a line, which is not the start of the stream. So that the outcome does not
// depend on where windows begin, ^ and \A mean the start of a line, with or without (?m). Without it, $ and \z
// mean the end of what has arrived.
type pattern struct {
	re         *regexp.Regexp
	spansLines bool // a match may contain a line end
}

func newPattern(re *regexp.Regexp) pattern {
	parsed, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil { // only POSIX syntax allows it
		return pattern{re, true}
	}
	p := pattern{re, canMatchNewline(parsed)}
	if anchorToLines(parsed) {
		if lines, err := regexp.Compile(parsed.String()); err == nil {
			p.re = lines
		}
	}
	return p
}

// anchorToLines replaces "start of text" by "start of line" in re, and reports whether there was any.
func anchorToLines(re *syntax.Regexp) (found bool) {
	if re.Op == syntax.OpBeginText {
		re.Op, found = syntax.OpBeginLine, true
	}
	for _, sub := range re.Sub {
		if anchorToLines(sub) {
			found = true
		}
	}
	return found
}

func canMatchNewline(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar:
		return true
	case syntax.OpLiteral:
		if slices.Contains(re.Rune, '\n') {
			return true
		}
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if re.Rune[i] <= '\n' && '\n' <= re.Rune[i+1] {
				return true
			}
		}
	}
	return slices.ContainsFunc(re.Sub, canMatchNewline)
}
