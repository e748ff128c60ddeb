package jsonrpc

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
)

// Space has the white space of JSON (RFC 8259, section 2).
const Space = " \t\r\n"

// A Member is one name and value of a JSON object, in the order in which they were written.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Split returns the members of an object in their order. The text must be valid JSON, because Split only cuts it:
// every call pays for this, and the tokens of package encoding/json cost five times as much. Values share the
// object's memory.
func Split(object json.RawMessage) (members []Member) {
	for name, value := range Each(object) {
		members = append(members, Member{Unquoted(name), value})
	}
	return members
}

// Each yields the members of an object as Split returns them, but with names as they were written, in quotes: it takes
// no memory.
func Each(object json.RawMessage) iter.Seq2[json.RawMessage, json.RawMessage] {
	return func(yield func(name, value json.RawMessage) bool) {
		rest := object[1:]
		for {
			rest = after(rest, ',')
			if rest[0] == '}' {
				return
			}
			n := stringLength(rest)
			name := rest[:n:n]
			rest = after(rest[n:], ':')
			n = valueLength(rest)
			if !yield(name, rest[:n:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

// Elements returns the elements of an array. The text must be valid JSON, as for Split.
func Elements(array json.RawMessage) []json.RawMessage { return slices.Collect(eachElement(array)) }

// eachElement yields the elements of an array, which may be too many to keep.
func eachElement(array json.RawMessage) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		rest := array[1:]
		for {
			rest = after(rest, ',')
			if rest[0] == ']' {
				return
			}
			n := valueLength(rest)
			if !yield(rest[:n:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

// after returns text without the white space and the bytes c that it begins with, as bytes.TrimLeft does in five times
// the time.
func after(text json.RawMessage, c byte) json.RawMessage {
	for i, b := range text {
		if b != ' ' && b != '\t' && b != '\r' && b != '\n' && b != c {
			return text[i:]
		}
	}
	return nil
}

// from returns text from the first byte on that can follow a number.
func from(text json.RawMessage) json.RawMessage {
	for i, b := range text {
		if b == ',' || b == '}' || b == ']' || b == ' ' || b == '\t' || b == '\r' || b == '\n' {
			return text[i:]
		}
	}
	return nil
}

// Length returns the length of the value that text begins with, which is an object, an array or a string. The text must be
// valid JSON up to its end, as for Split.
func Length(text json.RawMessage) int { return valueLength(text) }

// stringLength returns the length of the JSON string that text begins with.
func stringLength(text json.RawMessage) int {
	for i := 1; ; i++ {
		i += bytes.IndexByte(text[i:], '"')
		// An even number of backslashes before a quote is of others.
		n := 0
		for i-1-n > 0 && text[i-1-n] == '\\' {
			n++
		}
		if n%2 == 0 {
			return i + 1
		}
	}
}

// valueLength returns the length of the JSON value that text begins with.
func valueLength(text json.RawMessage) int {
	switch text[0] {
	case '"':
		return stringLength(text)
	case '{', '[':
	default: // a number, true, false or null, which something follows
		return len(text) - len(from(text))
	}
	depth := 0
	for i := 0; ; i++ {
		switch text[i] {
		case '"':
			i += stringLength(text[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}
