package quote

import (
	"fmt"
	"strings"
)

// The classes of shells whose quoting is known. Any other class, also the empty one, has none.
const (
	Posix = "posix"
	Fish  = "fish"
	Csh   = "csh"
)

// Known reports whether words can be quoted for the class.
func Known(class string) bool { return class == Posix || class == Fish || class == Csh }

// Line writes words, with a space between them. It fails on a word that the class cannot be given.
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

// Word writes one word. It fails on a NUL, which no shell takes, and on a word that needs quotes in a class without them.
func Word(class, word string) (string, error) {
	switch {
	case strings.IndexByte(word, 0) >= 0:
		return "", fmt.Errorf("the word %q holds a NUL byte, which no shell can take", word)
	case Known(class):
		return single(class, word), nil
	case !Plain(word):
		return "", fmt.Errorf(
			"the word %q needs quotes, and what reads it has none that can be relied on; use letters, digits and _ . / : + - alone",
			word,
		)
	}
	return word, nil
}

// single puts a word in single quotes. A run of text stays in one pair of quotes, so that most words are easy to read.
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
		case c == '\n' && class == Csh: // csh ends a quoted word with the line, unless the line end has a backslash
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

// Plain reports whether every command interpreter that we know of reads the word as it stands: nothing in it separates,
// expands, completes or quotes.
func Plain(word string) bool {
	return word != "" && strings.IndexFunc(word, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_./:+-", r)
	}) < 0
}

// Show writes words for a person: only those that need them stand in quotes. No shell is meant to read it.
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

// special reports whether a shell might take a character for more than itself.
func special(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-./:,+@%=", r)
}
