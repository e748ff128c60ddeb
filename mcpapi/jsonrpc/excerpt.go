package jsonrpc

import (
	"fmt"
	"strings"
)

// How much of a long text an excerpt has, and which text it has whole, in bytes.
const (
	excerptHead    = 1500
	excerptTail    = 500
	excerptLongest = excerptHead + excerptTail + 100
)

// Excerpt returns a text without its middle if it is long. It replaces invalid UTF-8. The excerpt of an excerpt is the
// same.
func Excerpt[T string | []byte](s T) string {
	if len(s) <= excerptLongest {
		return strings.ToValidUTF8(string(s), "�")
	}
	n := excerptHead
	for n > 0 && s[n]&0xc0 == 0x80 { // within a character
		n--
	}
	head, tail := string(s[:n]), string(s[len(s)-excerptTail:])
	return excerpt(strings.ToValidUTF8(head, "�"), len(s)-len(head)-len(tail), strings.ToValidUTF8(tail, ""))
}

// excerpt returns the two ends of a text, and how many bytes are left out between them.
func excerpt(head string, left int, tail string) string {
	return fmt.Sprintf("%s\n[… %d bytes …]\n%s", head, left, tail)
}
