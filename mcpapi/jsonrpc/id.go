package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MaxNumericID is the longest number accepted as a request id, in bytes. It keeps ids within the range of the float64
// that mcp-go reads them into; the exact digits are kept by the transports.
const MaxNumericID = 64

// IDKey returns a map key for a request id: equal ids have equal keys, and 1 differs from "1". It reports false for an
// id that is neither a string nor a whole number.
func IDKey(id json.RawMessage) (key string, ok bool) {
	if len(id) == 0 {
		return "", false
	}
	if id[0] == '"' {
		var s string
		err := json.Unmarshal(id, &s)
		return `"` + s, err == nil
	}
	digits := bytes.TrimPrefix(id, []byte("-"))
	if len(id) > MaxNumericID || len(digits) == 0 || len(bytes.Trim(digits, "0123456789")) != 0 {
		return "", false
	}
	return string(id), true
}

// WrongID describes an id for which IDKey reports false, and the ids that are allowed.
func WrongID(id json.RawMessage) string {
	is := fmt.Sprintf("a fraction, an exponent, or longer than %d characters", MaxNumericID)
	switch id[0] {
	case '{':
		is = "an object"
	case '[':
		is = "an array"
	case 'n':
		is = "null, which JSON-RPC allows and MCP does not"
	case 't', 'f':
		is = "true or false"
	}
	return "id must be a string or a whole number, and here it is " + is +
		"; give each request an id of its own, such as 1, and a notification none"
}
