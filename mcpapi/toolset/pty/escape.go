package pty

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape replaces the escapes in the data of pty_write, because models write the four
// characters \x03 when they mean Ctrl-C. It knows \n \r \t \e \0 \\ \xHH and \uHHHH,
// where HH is a code point as in JavaScript, and joins the two halves of a surrogate
// pair. Any other backslash stays, because shells and programs have escapes of their own;
// for example \0 before a digit stays, since \033 is an octal escape of printf.
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

// escape parses the text after a backslash. It returns the character and the number of
// bytes read; n is 0 if the text is no escape.
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

// hexadecimal parses the first n digits of s.
func hexadecimal(s string, n int) (rune, bool) {
	if len(s) < n {
		return 0, false
	}
	v, err := strconv.ParseUint(s[:n], 16, 32)
	return rune(v), err == nil
}
