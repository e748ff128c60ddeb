package groups

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible returns a line with its control characters, and others that change how a line is shown, as escapes.
func visible(line string) string {
	if strings.IndexFunc(line, hidden) < 0 && utf8.ValidString(line) {
		return line
	}
	var b strings.Builder
	for i := 0; i < len(line); {
		r, n := utf8.DecodeRuneInString(line[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, line[i])
		case hidden(r):
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteString(line[i : i+n])
		}
		i += n
	}
	return b.String()
}

// hidden reports whether a rune is invisible, or moves the text around it.
func hidden(r rune) bool {
	return r != '\t' && r != ' ' && !unicode.IsPrint(r)
}

// parts returns the kept lines, as people see them, and between them a line with the count of the dropped bytes.
func (o output) parts() []string {
	lines := cutLines(string(o.head))
	if o.tail != nil {
		left := o.bytes - int64(len(o.head)) - int64(len(o.tail))
		lines = append(lines, fmt.Sprintf("[%d bytes left out]", left))
		lines = append(lines, cutLines(string(o.tail))...)
	}
	return lines
}

// cutLines cuts a text into visible lines. A text without a line feed at its end has one more line that says so.
func cutLines(text string) []string {
	lines := strings.Split(text, "\n")
	last := len(lines) - 1
	lines = lines[:last+1]
	if lines[last] == "" {
		lines = lines[:last]
	}
	for i, line := range lines {
		lines[i] = visible(strings.TrimSuffix(line, "\r"))
	}
	return lines
}

// last returns the last line that is not empty, shortened.
func (o output) last() string {
	text := string(o.head) + string(o.tail)
	text = strings.TrimRight(text, " \t\r\n")
	text = text[strings.LastIndexByte(text, '\n')+1:]
	return clip(visible(strings.TrimSpace(text)), maxReason)
}

// clip shortens a text to so many bytes, at a character.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	n := max(0, most-len("…"))
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

// namesOf returns the names in a label: all of it, and the host without user and port.
func namesOf(label string) []string {
	host := label[strings.LastIndexByte(label, '@')+1:]
	if _, err := netip.ParseAddr(host); err == nil {
		return []string{host}
	}
	if i := strings.LastIndexByte(host, ':'); i > 0 {
		host = host[:i]
	}
	return []string{strings.Trim(host, "[]")}
}
