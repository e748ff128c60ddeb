package quote

import (
	"fmt"
	"strings"
)

// Classes of shells with known quoting. Every other class, including "", has no quotes.
const (
	Posix = "posix"
	Fish  = "fish"
	Csh   = "csh"
)

// Known reports whether words can be quoted for the class.
func Known(class string) bool { return class == Posix || class == Fish || class == Csh }

// Line returns the words, separated by spaces. It fails if Word fails for one of them.
func Line(class string, words []string) (string, error) {
	out := make([]string, len(words))
	for i, w := range words {
		text, err := Word(class, w)
		if err != nil {
			return "", err
		}
		out[i] = text
	}
	return strings.Join(out, " "), nil
}

// Word returns one word. It fails for a word with a NUL byte, which no shell accepts, and
// for a word that needs quotes in a class without quotes.
func Word(class, word string) (string, error) {
	switch {
	case strings.IndexByte(word, 0) >= 0:
		return "", fmt.Errorf("word %q contains a NUL byte: no shell accepts it", word)
	case Known(class):
		return single(class, word), nil
	case !Plain(word):
		return "", fmt.Errorf("word %q needs quotes, and its interpreter has none that are safe; "+
			"use only letters, digits and _ . / : + -", word)
	}
	return word, nil
}

// single puts a word in single quotes. Adjacent text shares one pair of quotes, so that
// most words stay readable.
func single(class, word string) string {
	if word == "" {
		return "''"
	}
	var b strings.Builder
	quoted := false
	in := func(want bool) {
		if quoted != want {
			b.WriteByte('\'')
			quoted = want
		}
	}
	for i := range len(word) {
		switch c := word[i]; {
		case c == '\'', c == '\\', c == '!':
			in(false)
			b.WriteByte('\\')
		case c == '\n' && class == Csh: // csh ends a quoted word at the line end unless a backslash precedes it
			in(true)
			b.WriteByte('\\')
		default:
			in(true)
		}
		b.WriteByte(word[i])
	}
	in(false)
	return b.String()
}

// Plain reports whether every known command interpreter reads the word unchanged: no
// character in it separates, expands, completes or quotes.
func Plain(word string) bool {
	return word != "" && strings.IndexFunc(word, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') &&
			!strings.ContainsRune("_./:+-", r)
	}) < 0
}

// Show returns the words for people. Only words that need quotes have them. The result
// must not be passed to a shell.
func Show(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		if w == "" || strings.ContainsFunc(w, special) {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// special reports whether a shell might give the character a meaning.
func special(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') &&
		!strings.ContainsRune("_-./:,+@%=", r)
}
