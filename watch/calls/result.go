package calls

import (
	"bytes"
	"slices"
	"strings"

	"ptyctl/mcpapi/jsonrpc"
)

// A Part is a member of a result that is a JSON object. Any other result is one Part without a name.
type Part struct {
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
}

// mostParts is how many parts of a result are kept.
const mostParts = 16

// partsOf takes a result apart.
func partsOf(text string) []Part {
	object := jsonrpc.Bytes(text)
	if !strings.HasPrefix(text, "{") || !jsonrpc.Valid(object) {
		return []Part{{Text: jsonrpc.Excerpt(text)}}
	}
	members := jsonrpc.Split(object)
	parts := make([]Part, min(len(members), mostParts))
	for i := range parts {
		m := members[i]
		parts[i] = Part{Name: cut(m.Name, 80)}
		switch inner := bytes.Trim(m.Value, `"`); {
		// The content of a file in base64 has no escapes, and need not be copied.
		case m.Value[0] != '"', bytes.IndexByte(inner, '\\') < 0:
			parts[i].Text = jsonrpc.Excerpt(inner)
		default:
			parts[i].Text = jsonrpc.Excerpt(jsonrpc.Unquoted(m.Value))
		}
	}
	return parts
}

// Tail returns the last part of the result that is more than a number, cut to its last n bytes.
func (x *Entry) Tail(n int) []Part {
	for _, p := range slices.Backward(x.Result) {

		if p.Text == "" {
			continue
		}
		switch p.Name {
		case "stdout", "stderr", "chunk", "message", "":
			if len(p.Text) > n {
				p.Text = strings.ToValidUTF8(p.Text[len(p.Text)-n:], "")
			}
			return []Part{p}
		}
	}
	return nil
}

// size is how much memory parts take, about.
func size(parts []Part) (n int) {
	for _, p := range parts {
		n += len(p.Name) + len(p.Text) + 32
	}
	return n
}
