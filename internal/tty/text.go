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

// Count shows a number of things: "1 key", "2 keys".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
