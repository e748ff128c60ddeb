package jsonrpc

import (
	"bytes"
	"encoding/json"
)

// maxToken is the most bytes that an IDFinder keeps of a name or a value.
const maxToken = 1 << 10

// An IDFinder finds the id of a request that is too long to be kept: the answer that says so must have that id, or the
// client never stops waiting. The message is written to it in parts, and it keeps no more than one name and the id. The
// zero value is ready to use.
type IDFinder struct {
	depth   int  // of objects and arrays
	inText  bool // within a string
	escaped bool // after a backslash in it
	isValue bool // at depth 1: after a colon
	token   []byte
	name    string // of the member that is being read
	ids     int
	id      []byte
	request bool // the message has a method
}

// Write reads the next part of the message. It never fails.
func (f *IDFinder) Write(p []byte) (int, error) {
	for _, c := range p {
		f.next(c)
	}
	return len(p), nil
}

// ID returns the id of the request, as it was sent; nil if the message has none or several, is no request, or has an
// id that MCP does not allow.
func (f *IDFinder) ID() json.RawMessage {
	if _, ok := IDKey(f.id); !ok || f.ids != 1 || !f.request || !json.Valid(f.id) {
		return nil
	}
	return bytes.Clone(f.id)
}

func (f *IDFinder) next(c byte) {
	if f.inText {
		f.keep(c)
		switch {
		case f.escaped:
			f.escaped = false
		case c == '\\':
			f.escaped = true
		case c == '"':
			f.inText = false
		}
		return
	}
	switch c {
	case '"':
		f.inText = true
		f.keep(c)
	case '{', '[':
		f.keep(c) // so that it is part of no id
		f.depth++
		if f.depth == 1 {
			f.token = f.token[:0]
		}
	case '}', ']':
		if f.depth == 1 {
			f.endMember()
		}
		f.depth--
	case ':':
		if f.depth == 1 && !f.isValue {
			f.name = ""
			if len(f.token) >= 2 && f.token[0] == '"' && json.Valid(f.token) {
				f.name = Unquoted(f.token)
			}
			f.isValue, f.token = true, f.token[:0]
		}
	case ',':
		if f.depth == 1 {
			f.endMember()
		}
	case ' ', '\t', '\r', '\n':
	default:
		f.keep(c)
	}
}

// keep adds c to the token if that belongs to the message's own object.
func (f *IDFinder) keep(c byte) {
	if f.depth == 1 && len(f.token) <= maxToken {
		f.token = append(f.token, c)
	}
}

func (f *IDFinder) endMember() {
	switch {
	case !f.isValue:
	case f.name == "id":
		f.ids++
		f.id = append(f.id[:0], f.token...)
	case f.name == "method":
		f.request = true
	}
	f.isValue, f.token = false, f.token[:0]
}
