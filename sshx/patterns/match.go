package patterns

import "strings"

// Match reports whether name matches pattern as a whole: "*" matches any characters, including
// none, and "?" matches exactly one.
func Match(name, pattern string) bool {
	// On a mismatch only the last "*" must take one character more: an earlier one cannot help.
	n, p := 0, 0
	star, resume := -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			n++
			p++
		case star >= 0:
			resume++
			n, p = resume, star+1
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// MatchList reports whether name matches the comma-separated patterns of list: at least one of them
// must match, and none that is negated by "!". For example, "*,!db*" matches every name that does
// not begin with "db".
func MatchList(name, list string) bool {
	matched := false
	for pattern := range strings.SplitSeq(list, ",") {
		pattern, negated := strings.CutPrefix(pattern, "!")
		if !Match(name, pattern) {
			continue
		}
		if negated {
			return false
		}
		matched = true
	}
	return matched
}
