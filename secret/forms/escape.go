package forms

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

	bashSpecial = " \t!\"#$&'()*,;<>?[\\]^`{|}~" // escaped by printf %q of bash
)

// An escape writes one character of a value in the way of a language; false: as it is.
type escape func(b []byte, r rune, text []byte) ([]byte, bool)

// escaped adds the forms in which languages write the value between quotes, or without.
func (c *collector) escaped(text []byte, word bool) {
	for _, e := range escapes() {
		c.add(apply(e, text), word)
	}
	twice := apply(quoted(`"\`), text) // JSON in JSON
	c.add(apply(quoted(`"\`), twice), word)
	clear(twice)
}

func apply(e escape, text []byte) []byte {
	b := make([]byte, 0, 12*len(text)) // no growth that would leave a copy of the value
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if next, ok := e(b, r, text[:n]); ok {
			b = next
		} else {
			b = append(b, text[:n]...)
		}
		text = text[n:]
	}
	return b
}

func escapes() []escape {
	var all []escape
	for _, verb := range []string{"%%%02x", "%%%02X"} {
		for _, keep := range []string{
			"-_.~", "-_.~/", "-_.", "-_.*", "-_.~!'()*", "-_.~!'()*;/?:@&=+$,#", "-_.~$&+:=@", "-_.~!$&'()*+,;=",
			"-_.~!$&'()*+,;=:@/",
		} {
			all = append(all, percent(verb, letters+keep, "%20"), percent(verb, letters+keep, "+"))
		}
	}
	for _, unicode := range []string{`\u%04x`, `\u%04X`} {
		all = append(all,
			json(unicode, `"\`, "", false), json(unicode, `"\`, "", true), json(unicode, `"\/`, "", false),
			json(unicode, `"\/`, "", true), json(unicode, `"\`, "<>&", false), json(unicode, `"\`, "<>&'", true),
			func(b []byte, r rune, _ []byte) ([]byte, bool) { return units(b, unicode, r), true })
	}
	return append(all,
		replaced("'", `'\''`), replaced("'", `'"'"'`), replaced("'", `''`), replaced(`"`, `""`),
		quoted(bashSpecial), quoted(bashSpecial+"%+,-./:=@"), quoted(" \t!\"#$%&'()*;<=>?[\\]^`{|}~"),
		quoted("\"\\$`"), quoted("\"\\$`!"), quoted(`'\`), bytesAs(`'\`, `\%03o`), bytesAs(`'\`, `\x%02x`),
		replaced("&", "&amp;", "<", "&lt;", ">", "&gt;"),
		replaced("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;"),
		replaced("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;"),
		replaced("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;"),
		replaced("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;"),
	)
}

// percent is the encoding of URLs (RFC 3986 section 2.1); programs differ in the characters that they keep.
func percent(verb, keep, blank string) escape {
	return func(b []byte, r rune, text []byte) ([]byte, bool) {
		switch {
		case r == ' ':
			return append(b, blank...), true
		case r < utf8.RuneSelf && strings.ContainsRune(keep, r):
			return b, false
		}
		for _, c := range text {
			b = fmt.Appendf(b, verb, c)
		}
		return b, true
	}
}

// json escapes with backslashes, and the characters in unsafe, or all beyond ASCII, by their numbers.
func json(unicode, special, unsafe string, ascii bool) escape {
	return func(b []byte, r rune, _ []byte) ([]byte, bool) {
		switch {
		case strings.ContainsRune(special, r):
			return append(b, '\\', byte(r)), true
		case r == '\t':
			return append(b, `\t`...), true
		case strings.ContainsRune(unsafe, r) || ascii && r >= utf8.RuneSelf:
			return units(b, unicode, r), true
		}
		return b, false
	}
}

// units writes the units of a character in UTF-16.
func units(b []byte, verb string, r rune) []byte {
	if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
		return fmt.Appendf(fmt.Appendf(b, verb, hi), verb, lo)
	}
	return fmt.Appendf(b, verb, r)
}

// quoted writes a backslash before each of the characters in special.
func quoted(special string) escape {
	return func(b []byte, r rune, _ []byte) ([]byte, bool) {
		if r >= utf8.RuneSelf || !strings.ContainsRune(special, r) {
			return b, false
		}
		return append(b, '\\', byte(r)), true
	}
}

// bytesAs is quoted, with the bytes of characters beyond ASCII by their numbers.
func bytesAs(special, verb string) escape {
	quoted := quoted(special)
	return func(b []byte, r rune, text []byte) ([]byte, bool) {
		if r < utf8.RuneSelf {
			return quoted(b, r, text)
		}
		for _, c := range text {
			b = fmt.Appendf(b, verb, c)
		}
		return b, true
	}
}

// replaced writes strings in place of characters, which come in pairs.
func replaced(pairs ...string) escape {
	return func(b []byte, r rune, _ []byte) ([]byte, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == string(r) {
				return append(b, pairs[i+1]...), true
			}
		}
		return b, false
	}
}
