package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/segmentio/asm/ascii"
)

// deepest is how deep Valid follows objects and arrays in each other: each takes memory of the stack. It leaves deeper
// texts to json.Valid.
const deepest = 64

// The functions below return these in place of the index behind a value.
const (
	wrong = -1 - iota // no valid value
	deep              // deepest is exceeded
)

// Valid reports whether text is valid JSON, as json.Valid does. That calls a function for each byte and takes three to
// ten times as long (BenchmarkValid).
func Valid(text []byte) bool {
	i := afterValue(text, afterSpace(text, 0), 0)
	if i == deep {
		return json.Valid(text)
	}
	return i >= 0 && afterSpace(text, i) == len(text)
}

// Deepest is the most objects and arrays in each other that Valid takes, and package encoding/json.
const Deepest = 10_000

// TooDeepText says so to the sender of a message.
var TooDeepText = fmt.Sprintf("the JSON of the message is nested too deeply: at most %d objects and arrays may be in "+
	"each other; send them flatter, or as a text", Deepest)

// TooDeep reports whether text is not valid because it has more objects and arrays in each other than Deepest.
func TooDeep(text []byte) bool {
	var value json.RawMessage
	fault, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(text, &value))
	if !ok {
		return false
	}
	depth := 0
	for i := 0; i < int(fault.Offset); i++ { // all before the fault is valid
		switch text[i] {
		case '"':
			if i = afterString(text, i) - 1; i < 0 {
				return false
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
	}
	return depth > Deepest
}

// at returns a byte of text, and 0 behind its end, which JSON does not have outside of strings.
func at(text []byte, i int) byte {
	if i < len(text) {
		return text[i]
	}
	return 0
}

// afterSpace returns the index behind the white space at i.
func afterSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t') {
		i++
	}
	return i
}

// afterValue returns the index behind the value at i, which is nested in depth objects and arrays; or wrong or deep.
func afterValue(text []byte, i, depth int) int {
	switch at(text, i) {
	case '"':
		return afterString(text, i)
	case '{':
		return afterObject(text, i, depth+1)
	case '[':
		return afterArray(text, i, depth+1)
	case 't':
		return afterWord(text, i, "true")
	case 'f':
		return afterWord(text, i, "false")
	case 'n':
		return afterWord(text, i, "null")
	default:
		return afterNumber(text, i)
	}
}

func afterObject(text []byte, i, depth int) int {
	if depth > deepest {
		return deep
	}
	if i = afterSpace(text, i+1); at(text, i) == '}' {
		return i + 1
	}
	for {
		if at(text, i) != '"' {
			return wrong
		}
		if i = afterString(text, i); i < 0 {
			return i
		}
		if i = afterSpace(text, i); at(text, i) != ':' {
			return wrong
		}
		if i = afterValue(text, afterSpace(text, i+1), depth); i < 0 {
			return i
		}
		i = afterSpace(text, i)
		switch at(text, i) {
		case ',':
			i = afterSpace(text, i+1)
		case '}':
			return i + 1
		default:
			return wrong
		}
	}
}

func afterArray(text []byte, i, depth int) int {
	if depth > deepest {
		return deep
	}
	if i = afterSpace(text, i+1); at(text, i) == ']' {
		return i + 1
	}
	for {
		if i = afterValue(text, i, depth); i < 0 {
			return i
		}
		i = afterSpace(text, i)
		switch at(text, i) {
		case ',':
			i = afterSpace(text, i+1)
		case ']':
			return i + 1
		default:
			return wrong
		}
	}
}

// afterString returns the index behind the string with its first quote at i.
func afterString(text []byte, i int) int {
	i++
	if n := plainLength(text[i:]); n > 0 {
		return i + n + 1
	}
	for {
		i += special(text[i:])
		switch at(text, i) {
		case '"':
			return i + 1
		case '\\':
			switch c := at(text, i+1); {
			case simple(c) != 0:
				i += 2
			case c == 'u' && isHex(at(text, i+2)) && isHex(at(text, i+3)) && isHex(at(text, i+4)) && isHex(at(text, i+5)):
				i += len(`\u0000`)
			default:
				return wrong
			}
		default: // a control character, or the end
			return wrong
		}
	}
}

// plainLong is the length from which on plainLength looks at a string: it takes several passes.
const plainLong = 1 << 10

// plainLength returns the length of the string of printable ASCII without escapes whose first quote is the byte before
// text; or 0 if it is short, or is not known to be such a string. A file in base64 is one. Vector instructions read it
// three times in 85 to 105 us a MiB, where one pass of find takes 200 to 310 (BenchmarkText/Valid/base64).
func plainLength(text []byte) int {
	n := bytes.IndexByte(text, '"')
	if n < plainLong || bytes.IndexByte(text[:n], '\\') >= 0 || !ascii.ValidPrint(text[:n]) {
		return 0
	}
	return n
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

func afterWord(text []byte, i int, word string) int {
	if len(text)-i < len(word) || string(text[i:i+len(word)]) != word {
		return wrong
	}
	return i + len(word)
}

func afterNumber(text []byte, i int) int {
	if at(text, i) == '-' {
		i++
	}
	if at(text, i) == '0' {
		i++
	} else if i = afterDigits(text, i); i < 0 {
		return i
	}
	if at(text, i) == '.' {
		if i = afterDigits(text, i+1); i < 0 {
			return i
		}
	}
	if c := at(text, i); c != 'e' && c != 'E' {
		return i
	}
	if c := at(text, i+1); c == '+' || c == '-' {
		i++
	}
	return afterDigits(text, i+1)
}

// afterDigits returns the index behind one digit or more.
func afterDigits(text []byte, i int) int {
	began := i
	for c := at(text, i); c >= '0' && c <= '9'; c = at(text, i) {
		i++
	}
	if i == began {
		return wrong
	}
	return i
}
