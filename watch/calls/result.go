package calls

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Part is a member of a result that is a JSON object, or all of another one, then without a name.
type Part struct {
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
}

// How much of a result is kept, in bytes.
const (
	mostHead  = 1500 // of the beginning of a text
	mostTail  = 500  // of its end
	mostParts = 16
)

// partsOf takes a result apart.
func partsOf(text string) []Part {
	dec := json.NewDecoder(strings.NewReader(text))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return []Part{{Text: shortened(text)}}
	}
	var parts []Part
	for dec.More() && len(parts) < mostParts {
		name, err := dec.Token()
		if err != nil {
			return []Part{{Text: shortened(text)}}
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return []Part{{Text: shortened(text)}}
		}
		value := string(raw)
		if raw[0] == '"' {
			_ = json.Unmarshal(raw, &value)
		}
		parts = append(parts, Part{Name: cut(fmt.Sprint(name), 80), Text: shortened(value)})
	}
	return parts
}

// shortened leaves out the middle of a text that is too long.
func shortened(s string) string {
	if len(s) <= mostHead+mostTail+100 {
		return strings.ToValidUTF8(s, "�")
	}
	head, tail := cut(s, mostHead), s[len(s)-mostTail:]
	return fmt.Sprintf("%s\n[… %d bytes …]\n%s", strings.ToValidUTF8(head, "�"), len(s)-len(head)-len(tail),
		strings.ToValidUTF8(tail, ""))
}

// Tail returns the last part of the result that is more than a number, cut to its last n bytes.
func (x *Entry) Tail(n int) []Part {
	for i := len(x.Result) - 1; i >= 0; i-- {
		p := x.Result[i]
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
