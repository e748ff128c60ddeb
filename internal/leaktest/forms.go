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

// depth is how often a text may be quoted: for example, a terminal's text is a JSON
// string in a tool's result, which is one in the message, which a log may quote.
const depth = 3

// forms returns the texts that reveal a secret: the secret itself, and its quoted and
// encoded forms.
func forms(secret string) []string {
	// The quotes are applied to each other's results, in every order.
	all := map[string]bool{secret: true}
	for range depth {
		for _, text := range slices.Collect(maps.Keys(all)) {
			for _, quote := range quotes {
				all[quote(text)] = true
			}
		}
	}
	// Bytes are encoded only once, in any of the quoted forms.
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

// quotes are the ways in which a text is quoted, without the quotation marks.
var quotes = []func(string) string{
	func(s string) string { return inJSON(s, true) },
	func(s string) string { return inJSON(s, false) },
	func(s string) string { return inside(strconv.Quote(s)) },
	func(s string) string { return inside(strconv.QuoteToASCII(s)) },
}

// shows are the ways in which bytes are printed.
var shows = []func([]byte) string{
	func(b []byte) string { return fmt.Sprintf("%x", b) },
	func(b []byte) string { return fmt.Sprintf("%X", b) },
	func(b []byte) string { return fmt.Sprintf("% x", b) },
	func(b []byte) string { return inside(fmt.Sprintf("%d", b)) },
	func(b []byte) string { return strings.ReplaceAll(inside(fmt.Sprintf("%d", b)), " ", ",") },
}

// inJSON returns the text of a JSON string, with or without escaping for HTML.
func inJSON(s string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if err := e.Encode(s); err != nil {
		panic(err) // no string is beyond JSON
	}
	return inside(strings.TrimSpace(b.String()))
}

// inside removes the first and the last character.
func inside(quoted string) string { return quoted[1 : len(quoted)-1] }

// within returns the base64 digits of a text inside a longer one; before is the number of
// bytes before it, modulo three. It omits digits that also encode bits of the neighbours.
func within(e *base64.Encoding, text string, before int) string {
	digits := e.EncodeToString(append(make([]byte, before), text...))
	return digits[(before*8+5)/6 : (before+len(text))*8/6]
}

// join removes line ends from a text, and their escapes from a quoted one, because terminals
// and file formats break long lines. Like scan it runs without the race detector.
//
// #go:norace
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
