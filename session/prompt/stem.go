package prompt

import (
	"strings"

	"ptyctl/internal/lazyregexp"
)

// maxStem is how much of a prompt's start identifies the far side: devices abbreviate long names in their
// configuration modes after about so much.
const maxStem = 16

// tail is how prompts end.
var tail = lazyregexp.New(`[$#%>\]❯➜»] ?$`)

// tailSigns are the characters that prompts end in, except for the bracket.
const tailSigns = "$#%>❯➜»"

// endsLikePrompt reports whether a line ends, or begins, as prompts do.
func endsLikePrompt(line string) bool { return tail.MatchString(line) || signed(line) }

// SameStem reports whether two lines are prompts of the same far side: they end like prompts and begin with the same
// name, as in r1>, r1# and r1(config)#, or user@host:~$ and user@host:/tmp$. A prompt with text typed after it does
// not count, nor does text that ends in a percentage.
func SameStem(a, b string) bool {
	if sign := leadingSign(a); sign != "" && sign == leadingSign(b) {
		return true
	}
	a, b = clock.ReplaceAllString(a, ""), clock.ReplaceAllString(b, "")
	if !tail.MatchString(a) || !tail.MatchString(b) || tails(a) != tails(b) {
		return false
	}
	if percent := func(s string) bool { return strings.HasSuffix(strings.TrimRight(s, " "), "%") }; percent(
		a,
	) != percent(
		b,
	) {
		return false
	}
	x, y := stem(a), stem(b)
	return x != "" && x == y
}

// tails counts the characters in line that prompts end in.
func tails(line string) (n int) {
	for _, c := range line {
		if strings.ContainsRune(tailSigns, c) {
			n++
		}
	}
	return n
}

// stem is the start of a prompt up to the first character that changes with mode or directory.
func stem(line string) string {
	end := strings.IndexAny(line, "(:>#$% ~")
	if end < 0 {
		end = len(line)
	}
	return line[:min(end, maxStem)]
}

// SameSign reports whether two prompts end in the same sign, where that of the superuser is the user's. Shells of
// different classes that otherwise show the same differ in it.
func SameSign(a, b string) bool {
	sign := func(s string) byte {
		s = strings.TrimRight(s, " ")
		if strings.HasSuffix(s, "#") {
			return '$'
		}
		return s[len(s)-1]
	}
	return sign(a) == sign(b)
}
