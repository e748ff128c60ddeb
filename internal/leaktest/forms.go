package leaktest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// depth is how often a text may be quoted: what a terminal shows is a JSON string in a tool's result, which is one in the
// message, which a log may quote.
const depth = 3

// forms returns the texts that give a secret away.
func forms(secret string) []string {
	all := map[string]bool{secret: true}
	for range depth {
		for _, text := range slices.Collect(maps.Keys(all)) {
			for _, quote := range quotes {
				all[quote(text)] = true
			}
		}
	}
	// Bytes are shown as bytes once, in whatever they lie.
	for _, text := range append(slices.Collect(maps.Keys(all)), url.QueryEscape(secret), url.PathEscape(secret)) {
		all[text] = true
		for _, show := range shows {
			all[show([]byte(text))] = true
		}
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			for before := range 3 {
				all[within(e, text, before)] = true
			}
		}
	}
	return slices.Collect(maps.Keys(all))
}

var quotes = []func(string) string{
	func(s string) string { return inJSON(s, true) },
	func(s string) string { return inJSON(s, false) },
	func(s string) string { return inside(strconv.Quote(s)) },
	func(s string) string { return inside(strconv.QuoteToASCII(s)) },
}

var shows = []func([]byte) string{
	func(b []byte) string { return fmt.Sprintf("%x", b) },
	func(b []byte) string { return fmt.Sprintf("%X", b) },
	func(b []byte) string { return fmt.Sprintf("% x", b) },
	func(b []byte) string { return inside(fmt.Sprintf("%d", b)) },
	func(b []byte) string { return strings.ReplaceAll(inside(fmt.Sprintf("%d", b)), " ", ",") },
}

func inJSON(s string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if err := e.Encode(s); err != nil {
		panic(err) // no string is beyond JSON
	}
	return inside(strings.TrimSpace(b.String()))
}

func inside(quoted string) string { return quoted[1 : len(quoted)-1] }

// within returns the digits that a text has in the base64 of something longer, of which so many bytes lie before it, modulo
// three. A digit of which some bits are another's is none of them.
func within(e *base64.Encoding, text string, before int) string {
	digits := e.EncodeToString(append(make([]byte, before), text...))
	return digits[(before*8+5)/6 : (before+len(text))*8/6]
}

// join takes the line ends out of a text, and what stands for them in a quoted one: a terminal, and the lines of a file,
// break what is too long. The race detector stays out, as of scan.
//
//go:norace
func join(text string) string {
	joined := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		end := i
		for end < len(text) && text[end] == '\\' {
			end++
		}
		switch quoted := end > i; {
		case quoted && end < len(text) && (text[end] == 'r' || text[end] == 'n'):
			i = end + 1
		case quoted:
			joined = append(joined, text[i:end]...)
			i = end
		case text[i] == '\r' || text[i] == '\n':
			i++
		default:
			joined = append(joined, text[i])
			i++
		}
	}
	return string(joined)
}
