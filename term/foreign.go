package term

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Foreign returns text of a far side, or of a program, in a form that is safe to show: a
// terminal, a log and a reader all see the same characters, and at most limit bytes of them.
//
// Line breaks and tabs stay. Other control characters, among them those that begin an escape
// sequence, and characters without a visible form (bidirectional controls, zero width) become
// visible, such as \x1b and \u202e; bytes that are not UTF-8 become U+FFFD (RFC 4252 section
// 5.4, RFC 4256 section 3.2). A second call changes nothing.
func Foreign(text string, limit int) string { return ForeignStart(text, 0, limit) }

// ForeignStart is Foreign for the start of a text if more further bytes of the text were not kept. The result ends
// with the number of all missing bytes.
func ForeignStart(text string, more, limit int) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	fits, from := 0, 0 // the length that stays, and where the rest begins, if text is too long
	for i, r := range text {
		if b.Len() <= limit-len(omitted(len(text)+more)) {
			fits, from = b.Len(), i
		}
		b.WriteString(visible(text[i:], r))
		if b.Len() > limit {
			return b.String()[:fits] + omitted(len(text)-from+more)
		}
	}
	switch {
	case more <= 0:
		return b.String()
	case b.Len() <= limit-len(omitted(more)):
		return b.String() + omitted(more)
	}
	return b.String()[:fits] + omitted(len(text)-from+more)
}

// omitted takes the place of n bytes.
func omitted(n int) string { return "[... " + strconv.Itoa(n) + " bytes more]" }

// ForeignLine is Foreign on one line: line breaks become " / ".
func ForeignLine(text string, limit int) string { return ForeignLineStart(text, 0, limit) }

// ForeignLineStart is ForeignStart on one line.
func ForeignLineStart(text string, more, limit int) string {
	var lines []string
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		// Spaces of any width are shown as a space.
		line = strings.TrimFunc(line, func(r rune) bool { return r == '\t' || unicode.Is(unicode.Zs, r) })
		if line != "" {
			lines = append(lines, strings.ReplaceAll(line, "\t", " "))
		}
	}
	return ForeignStart(strings.Join(lines, " / "), more, limit)
}

// ForeignNames returns names that a far side has sent, for example of algorithms: the first of
// them, each safe to show.
func ForeignNames(names []string) []string {
	const most, longest = 40, 64
	var shown []string
	for i, name := range names {
		if i == most {
			return append(shown, strconv.Itoa(len(names)-most)+" more")
		}
		shown = append(shown, ForeignLine(name, longest))
	}
	return shown
}

// ForeignError returns an error that wraps err and shows its text, which contains words of a far side, as ForeignLine
// does. It returns nil for nil.
func ForeignError(err error) error {
	if err == nil {
		return nil
	}
	if text := ForeignLine(err.Error(), maxForeignError); text != err.Error() {
		return &foreignError{text, err}
	}
	return err
}

// maxForeignError is the most bytes of a ForeignError.
const maxForeignError = 1000

// A foreignError is an error with another text.
type foreignError struct {
	text string
	err  error
}

func (e *foreignError) Error() string { return e.text }
func (e *foreignError) Unwrap() error { return e.err }

// visible returns r, the first character of text, in a visible form.
func visible(text string, r rune) string {
	switch {
	case r == utf8.RuneError:
		return "\uFFFD"
	case r == '\n' || r == '\t':
		return string(r)
	case unicode.Is(unicode.Zs, r): // a space of any width
		return " "
	case r < 0x100 && !unicode.IsPrint(r):
		return fmt.Sprintf(`\x%02x`, r)
	case !unicode.IsPrint(r) || blank(r):
		return fmt.Sprintf(`\u%04x`, r)
	}
	return text[:utf8.RuneLen(r)]
}

// blank reports whether r counts as a letter or a mark and shows nothing.
func blank(r rune) bool {
	switch {
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0, r == 0x2800:
		return true
	case 0x180b <= r && r <= 0x180f, 0xfe00 <= r && r <= 0xfe0d, 0xe0100 <= r && r <= 0xe01ef:
		return true
	}
	return false
}
