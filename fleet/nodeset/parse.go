package nodeset

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// parse reads one name with its brackets.
func parse(text string) (pattern, error) {
	var p pattern
	rest, literal := text, ""
	wrong := func(format string, args ...any) (pattern, error) {
		return pattern{}, &SyntaxError{text, fmt.Sprintf(format, args...)}
	}
	for {
		i := strings.IndexAny(rest, "[]")
		if i < 0 {
			break
		}
		if rest[i] == ']' {
			return wrong("it has a ] without a [ before it")
		}
		literal += rest[:i]
		inner, after, closed := strings.Cut(rest[i+1:], "]")
		switch {
		case !closed:
			return wrong("it has a [ without a ] after it")
		case strings.Contains(inner, "["):
			return wrong("it has brackets within brackets")
		case isAddress(inner):
			literal, rest = literal+"["+inner+"]", after
			continue
		case strings.Contains(inner, ":"):
			return wrong("its brackets have a colon and no IPv6 address: ranges are written as in [01-20]")
		case literal == "" && len(p.ranges) > 0:
			return wrong("two brackets follow one another: a character must be between them")
		}
		var spans []span
		for part := range strings.SplitSeq(inner, ",") {
			s, reason := parseSpan(strings.TrimSpace(part))
			if reason != "" {
				return wrong("%s", reason)
			}
			spans = append(spans, s)
		}
		p.literals, p.ranges = append(p.literals, literal), append(p.ranges, spans)
		rest, literal = after, ""
	}
	p.literals = append(p.literals, literal+rest)
	for _, l := range p.literals {
		if c := strings.IndexFunc(l, reserved); c >= 0 {
			return wrong("it has the character %q", []rune(l[c:])[0])
		}
	}
	return p, nil
}

// isAddress reports whether a text is an IPv6 address.
func isAddress(text string) bool {
	a, err := netip.ParseAddr(text)
	return err == nil && a.Is6()
}

// parseSpan reads 5, 1-5, 01-05 or 0-10/2. A reason says why it could not.
func parseSpan(text string) (s span, reason string) {
	bounds, step, hasStep := strings.Cut(text, "/")
	first, last, isRange := strings.Cut(bounds, "-")
	first, last = strings.TrimSpace(first), strings.TrimSpace(last)
	if !isRange {
		last = first
	}
	s.step = 1
	var ok [3]bool
	s.first, ok[0] = digits(first)
	s.last, ok[1] = digits(last)
	ok[2] = true
	if hasStep {
		s.step, ok[2] = digits(strings.TrimSpace(step))
	}
	switch {
	case text == "":
		return s, "a number is missing in its brackets"
	case !ok[0] || !ok[1] || !ok[2]:
		return s, fmt.Sprintf("%.60q is no range: write numbers of at most %d digits, such as 1-5, 01-05 or 0-10/2", text,
			maxDigits)
	case hasStep && !isRange:
		return s, fmt.Sprintf("%.60q has a step and no range", text)
	case s.step == 0:
		return s, fmt.Sprintf("the step of %.60q is 0", text)
	case s.first > s.last:
		return s, fmt.Sprintf("the range %.60q goes down: write the smaller number first", text)
	case padded(first) || padded(last):
		if s.width = len(first); len(first) != len(last) {
			return s, fmt.Sprintf("the numbers of %.60q have leading zeros and different widths", text)
		}
	}
	return s, ""
}

// digits returns the value of a number.
func digits(text string) (n uint64, ok bool) {
	if text == "" || len(text) > maxDigits || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

// padded reports whether a number has leading zeros.
func padded(text string) bool { return len(text) > 1 && text[0] == '0' }

// number writes n with leading zeros up to width.
func number(n uint64, width int) string {
	text := strconv.FormatUint(n, 10)
	if len(text) < width {
		return strings.Repeat("0", width-len(text)) + text
	}
	return text
}

// reserved reports whether a rune cannot be part of a name, because it separates names, or is an operator of an
// expression of hosts, or cannot be seen.
func reserved(r rune) bool {
	return r <= ' ' || r >= 0x7f && r < 0xa0 || r == 0xfffd || strings.ContainsRune(",!&^\"'", r)
}

// Name reports whether a text can be one name in a nodeset: it is not empty, and has none of the characters that
// the notation needs for itself. Brackets are possible around an address with colons.
func Name(text string) bool {
	if text == "" || len(text) > maxText {
		return false
	}
	p, err := parse(text)
	return err == nil && len(p.ranges) == 0
}
