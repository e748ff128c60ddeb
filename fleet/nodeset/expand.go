package nodeset

import (
	"math"
	"math/bits"
	"strings"
)

// Bounds for texts that no person has written.
const (
	maxText   = 256 << 10 // bytes of one nodeset
	maxDigits = 18        // of one number, so that it fits an int64
)

// Expand returns the names of a nodeset in the order of the text, each once. If it has more than most names, counted
// with those that are named twice, the error is a *SizeError, and no name is made. Any other error is a *SyntaxError.
func Expand(text string, most int) ([]string, error) {
	patterns, err := split(text)
	if err != nil {
		return nil, err
	}
	var total uint64
	parsed := make([]pattern, len(patterns))
	for i, p := range patterns {
		if parsed[i], err = parse(p); err != nil {
			return nil, err
		}
		if total = add(total, parsed[i].size()); total > uint64(max(most, 0)) {
			return nil, &SizeError{text, total, most}
		}
	}
	names := make([]string, 0, total)
	seen := make(map[string]bool, total)
	for _, p := range parsed {
		p.each("", func(name string) {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		})
	}
	return names, nil
}

// split cuts a text at its commas and spaces, except within brackets.
func split(text string) ([]string, error) {
	if len(text) > maxText {
		return nil, &SyntaxError{text, "it is longer than 256 KiB"}
	}
	var list []string
	depth, begin := 0, 0
	comma := false // the last separator, which a name must follow
	for i := 0; i <= len(text); i++ {
		switch {
		case i < len(text) && text[i] == '[':
			depth++
		case i < len(text) && text[i] == ']':
			depth--
		case i == len(text), depth <= 0 && strings.IndexByte(", \t\n", text[i]) >= 0:
			isComma := i < len(text) && text[i] == ','
			if i > begin {
				list, comma = append(list, text[begin:i]), false
			}
			if (isComma || i == len(text)) && (comma || len(list) == 0) {
				return nil, &SyntaxError{text, "a name is missing beside a comma, or all names are"}
			}
			comma, begin = comma || isComma, i+1
		}
	}
	return list, nil
}

// A pattern is a name with ranges in it: literals[0] ranges[0] literals[1] ... The last literal has no range after it.
type pattern struct {
	literals []string
	ranges   [][]span
}

// A span is one range of numbers. width is that of numbers with leading zeros, 0 without.
type span struct {
	first, last, step uint64
	width             int
}

// size returns the number of names, or math.MaxUint64 if there are more.
func (p pattern) size() uint64 {
	total := uint64(1)
	for _, spans := range p.ranges {
		var n uint64
		for _, s := range spans {
			n = add(n, (s.last-s.first)/s.step+1)
		}
		hi, lo := bits.Mul64(total, n)
		if total = lo; hi > 0 {
			return math.MaxUint64
		}
	}
	return total
}

// add returns a+b, or math.MaxUint64 if that is larger.
func add(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry > 0 {
		return math.MaxUint64
	}
	return sum
}

// each calls yield with prefix and each name. The last bracket varies fastest.
func (p pattern) each(prefix string, yield func(string)) {
	prefix += p.literals[0]
	if len(p.ranges) == 0 {
		yield(prefix)
		return
	}
	rest := pattern{p.literals[1:], p.ranges[1:]}
	for _, s := range p.ranges[0] {
		for n := s.first; ; n += s.step {
			rest.each(prefix+number(n, s.width), yield)
			if s.last-n < s.step {
				break
			}
		}
	}
}
