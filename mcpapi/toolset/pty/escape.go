package pty

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape puts right the escapes in what a model wants typed: models write the four characters \x03 and mean Ctrl-C. It
// knows \n \r \t \e \0 \\ \xHH and \uHHHH, where HH is the number of a character, as in JavaScript; two halves of a surrogate pair are one.
// What else follows a backslash is left as it is: text for a shell has its own. So is \0 before a digit (\033).
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for s != "" {
		plain, rest, found := strings.Cut(s, `\`)
		b.WriteString(plain)
		if !found {
			break
		}
		r, n := escape(rest)
		if n == 0 {
			b.WriteByte('\\')
		} else {
			b.WriteRune(r)
		}
		s = rest[n:]
	}
	return b.String()
}

// escape reads what follows a backslash, and returns how long it is; 0: no escape.
func escape(s string) (r rune, n int) {
	if s == "" {
		return 0, 0
	}
	switch s[0] {
	case 'n':
		return '\n', 1
	case 'r':
		return '\r', 1
	case 't':
		return '\t', 1
	case 'e':
		return 0x1b, 1
	case '\\':
		return '\\', 1
	case '0':
		if len(s) == 1 || s[1] < '0' || s[1] > '9' {
			return 0, 1
		}
	case 'x':
		if r, ok := hexadecimal(s[1:], 2); ok {
			return r, 3
		}
	case 'u':
		r, ok := hexadecimal(s[1:], 4)
		if !ok {
			break
		}
		if utf16.IsSurrogate(r) {
			if low, ok := strings.CutPrefix(s[5:], `\u`); ok {
				if second, ok := hexadecimal(low, 4); ok && utf16.DecodeRune(r, second) != utf8.RuneError {
					return utf16.DecodeRune(r, second), 11
				}
			}
			r = utf8.RuneError
		}
		return r, 5
	}
	return 0, 0
}

// hexadecimal reads a number of n digits.
func hexadecimal(s string, n int) (rune, bool) {
	if len(s) < n {
		return 0, false
	}
	v, err := strconv.ParseUint(s[:n], 16, 32)
	return rune(v), err == nil
}
