package schema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"ptyctl/term"
)

// The bounds of a pattern from a caller.
const (
	MaxRegexp   = 4 << 10 // bytes of a pattern
	MaxPatterns = 64      // of one list

	// maxProgram bounds the instructions that a pattern compiles to. A pattern without counts has about one for each
	// byte, so no count gets a caller more memory, or more time for each byte searched, than as many letters would.
	maxProgram = MaxRegexp
)

// CompileRegexp compiles a caller's pattern if neither its text nor its program is too large. The error is a
// *syntax.Error for a malformed pattern; any other error names the bound that the pattern exceeds.
func CompileRegexp(pattern string, ignoreCase bool) (*regexp.Regexp, error) {
	if len(pattern) > MaxRegexp {
		return nil, fmt.Errorf("the pattern has %d bytes; %d are allowed", len(pattern), MaxRegexp)
	}
	if ignoreCase {
		pattern = "(?i)" + pattern
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if programSize(parsed) > maxProgram {
		return nil, fmt.Errorf(
			"the pattern compiles to more than %d instructions, because each repeat count repeats what it counts: "+
				"shorten the repeat counts, such as x{0,1000} to x{0,100} or x*",
			maxProgram,
		)
	}
	return regexp.Compile(pattern)
}

// programSize estimates the number of instructions that re compiles to, at most maxProgram+1. It multiplies the
// counts instead of expanding them, because the expansion is the cost to avoid.
func programSize(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n = min(n+programSize(sub), maxProgram+1)
	}
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpConcat:
	case syntax.OpAlternate:
		n += len(re.Sub) - 1
	case syntax.OpCapture:
		n += 2
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		n++
	case syntax.OpRepeat:
		if re.Max < 0 { // x{2,} is xx+
			n = n*max(re.Min, 1) + 1
		} else { // x{2,4} is xx(x(x)?)?
			n = n*re.Max + re.Max - re.Min
		}
	default: // a character class, an anchor, an empty expression
		n = 1
	}
	return min(n, maxProgram+1)
}

// RegexpArgument is CompileRegexp for the argument at path. Its error names the argument, and the position of the
// fault in the pattern.
func RegexpArgument(path, pattern string) (*regexp.Regexp, error) {
	re, err := CompileRegexp(pattern, false)
	if err == nil {
		return re, nil
	}
	e := &term.Error{Kind: term.InvalidArgument, Msg: fmt.Sprintf("%s: %v", path, err)}
	wrong := term.ArgumentFault{Field: term.Field(path)}
	if fault, ok := errors.AsType[*syntax.Error](err); ok {
		e.Msg += "; patterns are RE2 (https://golang.org/s/re2syntax): no look-around, no back-references"
		wrong.Position = regexpPosition(pattern, fault.Expr)
	}
	e.Facts = term.Facts{wrong}
	return nil, e
}

// regexpPosition describes the faulty part of a pattern, with its offset in bytes if it can be found.
func regexpPosition(pattern, faulty string) string {
	if i := strings.Index(pattern, faulty); i >= 0 && faulty != "" {
		return fmt.Sprintf("character %d: %s", i, faulty)
	}
	return faulty
}

// RegexpArguments compiles each pattern of a list; nil for an absent list, which differs from an empty one.
func RegexpArguments(path string, patterns *[]string) ([]*regexp.Regexp, error) {
	if patterns == nil {
		return nil, nil
	}
	if n := len(*patterns); n > MaxPatterns {
		return nil, &term.Error{
			Kind: term.InvalidArgument, Facts: term.Facts{term.ArgumentFault{Field: term.Field(path)}},
			Msg: fmt.Sprintf("%s has %d patterns; %d are allowed: join some as a|b", path, n, MaxPatterns),
		}
	}
	list := make([]*regexp.Regexp, 0, len(*patterns))
	for i, p := range *patterns {
		re, err := RegexpArgument(fmt.Sprintf("%s[%d]", path, i), p)
		if err != nil {
			return nil, err
		}
		list = append(list, re)
	}
	return list, nil
}
