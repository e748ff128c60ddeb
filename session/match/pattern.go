package match

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// A Pattern is a regular expression prepared for searches in a stream. It may be used by any number of Streams at a
// time.
type Pattern struct {
	re         *regexp.Regexp // where a match begins and ends
	prog       *syntax.Prog   // whether there is one
	prefix     []byte         // every match begins so; nil: not known
	spansLines bool           // a match may contain a line end
}

// Compile prepares re; see the package comment for the meaning of anchors.
func Compile(re *regexp.Regexp) *Pattern {
	parsed, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil { // regexp.CompilePOSIX made it
		if parsed, err = syntax.Parse(re.String(), syntax.POSIX); err != nil {
			parsed = &syntax.Regexp{Op: syntax.OpNoMatch}
		}
	}
	p := &Pattern{re: re, spansLines: canMatchNewline(parsed)}
	anyLine := isWholeLine(parsed) || endsInWord(parsed)
	if replaceOp(parsed, syntax.OpBeginText, syntax.OpBeginLine) || anyLine {
		if anyLine { // in raw bytes, a line ends with CR LF
			for i, sub := range parsed.Sub {
				if sub.Op == syntax.OpEndText {
					parsed.Sub[i] = lineEnd()
				}
			}
		}
		if lines, err := regexp.Compile(parsed.String()); err == nil {
			p.re = lines
		}
	}
	if p.prog, err = syntax.Compile(parsed.Simplify()); err != nil {
		p.prog = &syntax.Prog{Inst: []syntax.Inst{{Op: syntax.InstFail}}}
	}
	if prefix, _ := p.re.LiteralPrefix(); prefix != "" {
		p.prefix = []byte(prefix)
	}
	return p
}

// lineEnd returns the expression of an end of a line.
func lineEnd() *syntax.Regexp {
	re, err := syntax.Parse(`(?m:\r?$)`, syntax.Perl)
	if err != nil {
		panic(err) // a constant
	}
	return re
}

// endsInWord reports whether re is a sequence with a letter or a digit as its last part before $. No prompt ends like
// that: the pattern is meant for output.
func endsInWord(re *syntax.Regexp) bool {
	if re.Op != syntax.OpConcat || re.Sub[len(re.Sub)-1].Op != syntax.OpEndText {
		return false
	}
	last := re.Sub[len(re.Sub)-2]
	for last.Op == syntax.OpPlus || last.Op == syntax.OpCapture || last.Op == syntax.OpRepeat && last.Min > 0 ||
		last.Op == syntax.OpConcat {
		last = last.Sub[len(last.Sub)-1]
	}
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	switch last.Op {
	case syntax.OpLiteral:
		return isWord(last.Rune[len(last.Rune)-1])
	case syntax.OpCharClass:
		for i := 0; i+1 < len(last.Rune); i += 2 {
			if last.Rune[i+1]-last.Rune[i] > 64 || !isWord(last.Rune[i]) || !isWord(last.Rune[i+1]) {
				return false
			}
		}
		return true
	}
	return false
}

// replaceOp replaces one operation by another in re, and reports whether there was any.
func replaceOp(re *syntax.Regexp, from, to syntax.Op) (found bool) {
	if re.Op == from {
		re.Op, found = to, true
		re.Flags &^= syntax.WasDollar
	}
	for _, sub := range re.Sub {
		if replaceOp(sub, from, to) {
			found = true
		}
	}
	return found
}

// isWholeLine reports whether re describes a line from its start to its end, and leaves no part of it open by a
// wildcard. A pattern such as ^.*[#>]$ is meant for a prompt, and must not match a finished line that ends like one.
func isWholeLine(re *syntax.Regexp) bool {
	if re.Op != syntax.OpConcat || len(re.Sub) < 3 {
		return false
	}
	first, last := re.Sub[0].Op, re.Sub[len(re.Sub)-1].Op
	return (first == syntax.OpBeginText || first == syntax.OpBeginLine) && last == syntax.OpEndText && !hasWildcard(re)
}

// hasWildcard reports whether re contains an operation that matches most runes.
func hasWildcard(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpCharClass:
		n := 0
		for i := 0; i+1 < len(re.Rune); i += 2 {
			n += int(re.Rune[i+1]-re.Rune[i]) + 1
		}
		return n > utf8.MaxRune/2
	}
	return slices.ContainsFunc(re.Sub, hasWildcard)
}

// canMatchNewline reports whether a match of re may contain a line end. If it cannot, a match lies in one line.
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
