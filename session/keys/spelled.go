package keys

import (
	"fmt"
	"strconv"
	"strings"

	"ptyctl/internal/lazyregexp"
)

var (
	// spelled is a control character or sequence written out, as in a program's source.
	spelled = lazyregexp.New(
		`^(?:\\x[0-9a-fA-F]{2}|\\u00[0-9a-fA-F]{2}|\\[0-3]?[0-7]{2}|\\[abefnrtv]|\^[@-_?]|\[[0-9;]*[A-Z~]|O[A-Z])+$`,
	)

	// spelledEnd is one line end or control character written out at the end of a text.
	spelledEnd = lazyregexp.New(
		`(?:^|[^\\])((?:\\x[01][0-9a-fA-F]|\\x7[fF]|\\u00[01][0-9a-fA-F]|\\0[0-3][0-7]|\\[rn])+)$`,
	)

	// spelledOne is the first of them.
	spelledOne = lazyregexp.New(`^(?:\\x[0-9a-fA-F]{2}|\\u00[0-9a-fA-F]{2}|\\[0-3]?[0-7]{2}|\\[abefnrtv]|\^[@-_?])`)

	// spelledName is a key by a name that is no word: with a modifier, or between brackets.
	spelledName = lazyregexp.New(
		`^(?:(?i:ctrl|control|alt|meta|shift|arrow|page)[-+_][a-zA-Z_\\^@\]]+|[CM]-[a-z\\]|<[A-Za-z][A-Za-z0-9_+-]*>|\{[A-Z][A-Z0-9]*\})$`,
	)
)

// Spelled says which key to use in place of text that spells one; empty: it spells none.
func Spelled(text string, sensitive bool) string {
	body := strings.TrimRight(text, "\r\n")
	if len(body) < 2 {
		return ""
	}
	if len(body) <= 32 && !sensitive {
		if key := wholeKey(body); key != "" {
			return fmt.Sprintf(
				"the text is the characters %s, sent as given, not a key; "+
					"to press the key pass key %q in place of text",
				body,
				key,
			)
		}
	}
	end := spelledEnd.FindStringSubmatch(body[max(0, len(body)-16):])
	if end == nil || body != text { // a line end follows: the part before it is text
		return ""
	}
	if key := sending(unspell(spelledOne.FindString(end[1]))); key != "" && key != "enter" {
		return fmt.Sprintf(
			"the text ends in the characters %s, sent as given, not in a key; "+
				"to press the key pass key %q in a write of its own",
			end[1],
			key,
		)
	}
	return fmt.Sprintf(
		"the text ends in the characters %s, sent as given, not in a line end; "+
			"in JSON a line end is \\r with one backslash, or press key \"enter\"",
		end[1],
	)
}

// wholeKey returns the key that all of text spells.
func wholeKey(text string) string {
	if spelledName.MatchString(text) {
		return Similar(text)
	}
	if !spelled.MatchString(text) {
		return ""
	}
	return sending(unspell(text))
}

// unspell decodes the matches of spelled.
func unspell(text string) string {
	var b strings.Builder
	for text != "" {
		one := spelledOne.FindString(text)
		if one == "" {
			b.WriteByte(text[0])
			text = text[1:]
			continue
		}
		text = text[len(one):]
		switch {
		case one[0] == '^':
			b.WriteByte(one[1] ^ 0x40)
		case one[1] == 'x' || one[1] == 'u':
			n, _ := strconv.ParseUint(one[2:], 16, 8)
			b.WriteByte(byte(n))
		case one[1] >= '0' && one[1] <= '7':
			n, _ := strconv.ParseUint(one[1:], 8, 8)
			b.WriteByte(byte(n))
		default:
			b.WriteByte("\a\b\x1b\f\n\r\t\v"[strings.IndexByte("abefnrtv", one[1])])
		}
	}
	return b.String()
}
