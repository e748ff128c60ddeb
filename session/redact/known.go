package redact

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Known are secrets to look for in text that is read later than the output came, for example on a screen.
// The zero value is ready, and knows none. Only one goroutine may use it at a time.
//
// A secret shorter than commonWord may be a word that the far side shows anyway. It is looked for only if it does not
// look like one, and only as a whole word; see uncommon.
type Known struct {
	f     filter // secrets of commonWord and more
	words filter // shorter ones
}

// Add remembers the lines of data, which is about to be written. A short one for which shown is true is left out: the
// far side shows it without having got it. If there is no room, Add returns false.
func (k *Known) Add(data []byte, shown func(word []byte) bool) bool {
	var add, words []*secret
	size := 0
	for _, s := range secretLines(data, nil) {
		short := len(s.text) < commonWord
		if k.has(s) || short && (!uncommon(s.text) || shown(s.text)) {
			clear(s.text)
			continue
		}
		if size += len(s.text); short {
			words = append(words, s)
		} else {
			add = append(add, s)
		}
	}
	if k.f.size+k.words.size+size > MaxBytes || len(k.f.secrets)+len(k.words.secrets)+len(add)+len(words) > MaxLines {
		return false
	}
	if len(add) > 0 {
		k.f.add(add)
	}
	if len(words) > 0 {
		k.words.add(words)
	}
	return true
}

func (k *Known) has(s *secret) bool {
	if len(s.text) < commonWord {
		return wordAt(&k.words, s.text) == len(s.text)
	}
	m := echoMatch{p: s.text}
	if k.f.begin != nil {
		m = k.f.match(s.text)
	}
	return m.n == len(s.text) && len(m.of.text) == len(s.text)
}

// Find returns where text shows secrets, as pairs of a beginning and an end. As in an echo, there may be blanks between
// the characters, but not of a short secret.
func (k *Known) Find(text []byte) (parts [][2]int) {
	if !k.Any() {
		return nil
	}
	for at := range text {
		n := 0
		if k.f.begin != nil && len(k.f.begin[text[at]]) > 0 {
			n = k.f.match(text[at:]).n
		}
		if n == 0 && k.words.begin != nil && len(k.words.begin[text[at]]) > 0 {
			if n = wordAt(&k.words, text[at:]); n > 0 && !isWhole(text, at, at+n) {
				n = 0
			}
		}
		if n > 0 {
			parts = append(parts, [2]int{at, at + n})
		}
	}
	return parts
}

// wordAt returns the length of the longest of the secrets with which p begins and a word may end.
func wordAt(among *filter, p []byte) (n int) {
	if among.begin == nil {
		return 0
	}
	for _, s := range among.begin[p[0]] {
		if len(s.text) > n && bytes.HasPrefix(p, s.text) && isWhole(p, 0, len(s.text)) {
			n = len(s.text)
		}
	}
	return n
}

// Any reports whether any secret is known.
func (k *Known) Any() bool { return k.f.begin != nil || k.words.begin != nil }

// Forget wipes the secrets.
func (k *Known) Forget() {
	k.f.drop(func(*secret) bool { return true })
	k.words.drop(func(*secret) bool { return true })
}

// Shows reports whether text shows word as a whole word.
func Shows(text, word []byte) bool {
	for at := 0; ; at++ {
		i := bytes.Index(text[at:], word)
		if i < 0 {
			return false
		}
		if at += i; isWhole(text, at, at+len(word)) {
			return true
		}
	}
}

// isWhole reports whether text[from:to] is no part of a longer word.
func isWhole(text []byte, from, to int) bool {
	before, _ := utf8.DecodeLastRune(text[:from])
	first, _ := utf8.DecodeRune(text[from:to])
	last, _ := utf8.DecodeLastRune(text[from:to])
	after, _ := utf8.DecodeRune(text[to:])
	return !(inWord(before) && inWord(first)) && !(inWord(last) && inWord(after))
}

func inWord(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// uncommon reports whether a short secret is unlikely to be in a text by chance: it has anyChars or more characters, and
// is neither a word, nor a number of less than six digits, nor a name with signs that names have, such as go.mod or
// 10.0.0.1. To hide a word that a text has anyway would disturb the text, and tell the word.
func uncommon(word []byte) bool {
	var letters, capitals, digits, names, signs int
	for at, r := range string(word) {
		switch {
		case r == utf8.RuneError, unicode.IsSpace(r), isControl(r):
			return false
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
			if unicode.IsUpper(r) && at > 0 {
				capitals++
			}
		case strings.ContainsRune("._-/:,=~+", r):
			names++
		default:
			signs++
		}
	}
	switch chars := letters + digits + names + signs; {
	case chars < anyChars:
		return false
	case digits == chars:
		return digits >= 6
	}
	odd := capitals > 0 && !bytes.Equal(word, bytes.ToUpper(word)) // capitals within the word
	return odd || signs > 0 && letters+digits > 0 || names == 0 && letters > 0 && digits > 0
}
