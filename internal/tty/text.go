package tty

import (
	"fmt"
	"strings"

	"ptyctl/vt"
)

// Plain makes text from elsewhere harmless for a terminal, and keeps its lines.
func Plain(text string) string {
	b, _ := vt.CleanFrom(nil, []byte(text))
	return string(b)
}

// Printable makes text from elsewhere harmless for a terminal, on one line.
func Printable(text string) string {
	return strings.Join(strings.FieldsFunc(Plain(text), func(r rune) bool { return r == '\n' || r == '\t' }), " ")
}

// CommandLine shows words as a person could type them into a POSIX shell.
func CommandLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsFunc(w, needsQuotes) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func needsQuotes(r rune) bool {
	return !strings.ContainsRune("-_./:=@,%+", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') &&
		(r < 'a' || r > 'z')
}

// Count shows a number of things: "1 key", "2 keys".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
