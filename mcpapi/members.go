package mcpapi

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

const jsonSpace = " \t\r\n"

// A member is one name and value of a JSON object, in the order in which they were written.
type member struct {
	name  string
	value json.RawMessage
}

// split returns the members of an object. The text is known to be valid JSON, and so need only be cut: every call pays for
// this, and package encoding/json's tokens cost five times as much.
func split(object json.RawMessage) (members []member) {
	rest := object[1:]
	for {
		rest = bytes.TrimLeft(rest, jsonSpace+",")
		if rest[0] == '}' {
			return members
		}
		n := stringLength(rest)
		name := unquoted(rest[:n])
		rest = bytes.TrimLeft(rest[n:], jsonSpace+":")
		n = valueLength(rest)
		members = append(members, member{name, rest[:n:n]})
		rest = rest[n:]
	}
}

// elements returns the elements of an array, which is valid JSON too.
func elements(array json.RawMessage) (list []json.RawMessage) {
	rest := array[1:]
	for {
		rest = bytes.TrimLeft(rest, jsonSpace+",")
		if rest[0] == ']' {
			return list
		}
		n := valueLength(rest)
		list = append(list, rest[:n:n])
		rest = rest[n:]
	}
}

// unquoted returns what a JSON string says.
func unquoted(quoted json.RawMessage) (text string) {
	if inner := quoted[1 : len(quoted)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	_ = json.Unmarshal(quoted, &text) // it is valid
	return text
}

// stringLength returns the length of the JSON string that text begins with.
func stringLength(text json.RawMessage) int {
	for i := 1; ; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
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
		return bytes.IndexAny(text, jsonSpace+",}]")
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
