package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonFormat is JSON with comments and trailing commas, as editors have it.
type jsonFormat struct{}

// byteOrderMark may begin a file that an editor of Windows has written.
var byteOrderMark = []byte("\xef\xbb\xbf")

// parseJSON returns the root, of a text that holds anything.
func parseJSON(text []byte) (hujson.Value, error) {
	if depth(text) > maxDepth { // the parser calls itself for each level
		return hujson.Value{}, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	v, err := hujson.Parse(bytes.Clone(text)) // Standardize changes its argument
	if err != nil {
		return v, fmt.Errorf("it is not JSON: %w", err)
	}
	if _, ok := v.Value.(*hujson.Object); !ok {
		return v, errors.New("it is JSON, but no object")
	}
	return v, nil
}

// maxDepth is how deep a file may be nested.
const maxDepth = 1000

// depth returns how deep a text is nested, or more: brackets in comments count, too.
func depth(text []byte) (deepest int) {
	now, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// member returns the member of an object by its name, or nil. A duplicate name is an error.
func member(o *hujson.Object, name string) (found *hujson.ObjectMember, err error) {
	for i := range o.Members {
		literal, ok := o.Members[i].Name.Value.(hujson.Literal)
		if !ok || literal.String() != name {
			continue
		}
		if found != nil {
			return nil, byHand("%q is there twice", name)
		}
		found = &o.Members[i]
	}
	return found, nil
}

// descend follows the path as far as there are objects. rest is the remaining path.
func descend(root *hujson.Value, path []string) (in *hujson.Value, rest []string, err error) {
	in = root
	for i, key := range path {
		m, err := member(in.Value.(*hujson.Object), key)
		if err != nil {
			return nil, nil, err
		}
		if m == nil {
			return in, path[i:], nil
		}
		if _, ok := m.Value.Value.(*hujson.Object); !ok {
			return nil, nil, byHand("%q is no object", key)
		}
		in = &m.Value
	}
	return in, nil, nil
}

func (jsonFormat) read(text []byte, path []string, name string) (*written, error) {
	text = bytes.TrimPrefix(text, byteOrderMark)
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	root, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	in, rest, err := descend(&root, path)
	if err != nil || len(rest) > 0 {
		return nil, err
	}
	m, err := member(in.Value.(*hujson.Object), name)
	if err != nil || m == nil {
		return nil, err
	}
	entry := m.Value.Clone()
	entry.Standardize()
	if o, ok := entry.Value.(*hujson.Object); ok {
		o.Members = slices.DeleteFunc(o.Members, func(f hujson.ObjectMember) bool {
			l, ok := f.Name.Value.(hujson.Literal)
			return !ok || !isField(l.String())
		})
		entry.Standardize()
	}
	var w written
	if err := json.Unmarshal(entry.Pack(), &w); err != nil {
		return &written{}, nil //nolint:nilerr // an entry, though of no use
	}
	return &w, nil
}

func (jsonFormat) others(text []byte, path []string, name string) (any, error) {
	text = bytes.TrimPrefix(text, byteOrderMark)
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{}, nil
	}
	root, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	root.Standardize()
	d := json.NewDecoder(bytes.NewReader(root.Pack()))
	d.UseNumber()
	var all any
	if err := d.Decode(&all); err != nil {
		return nil, err
	}
	without(all, path, name)
	return all, nil
}

func (jsonFormat) put(text []byte, path []string, name string, value any) ([]byte, error) {
	body, marked := bytes.CutPrefix(text, byteOrderMark)
	if marked {
		out, err := jsonFormat{}.put(body, path, name, value)
		return append(bytes.Clone(byteOrderMark), out...), err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	root, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	in, rest, err := descend(&root, path)
	if err != nil {
		return nil, err
	}
	unit, end := unitOf(text, &root), lineEnd(text)
	o := in.Value.(*hujson.Object)
	if len(rest) == 0 {
		m, err := member(o, name)
		if err != nil {
			return nil, err
		}
		if m != nil {
			if _, ok := m.Value.Value.(*hujson.Object); ok {
				return jsonFormat{}.update(text, append(slices.Clone(path), name), m, value)
			}
			v, err := marshalJSON(value, "", "", end)
			return splice(text, m.Value.StartOffset, m.Value.EndOffset, v), err
		}
	}
	return insert(text, in, append(rest, name), value, unit, end)
}

// update changes an existing entry, and keeps all other text that a person has written into it.
func (f jsonFormat) update(text []byte, path []string, entry *hujson.ObjectMember, value any) ([]byte, error) {
	v, err := marshalJSON(value, "", "", "\n")
	if err != nil {
		return nil, err
	}
	fields, err := parseJSON([]byte(v))
	if err != nil {
		return nil, err
	}
	for _, field := range fields.Value.(*hujson.Object).Members {
		name := field.Name.Value.(hujson.Literal).String()
		there, err := member(entry.Value.Value.(*hujson.Object), name)
		if err != nil {
			return nil, err
		}
		if there != nil && !starts(name) {
			continue
		}
		if there != nil && sameJSON(there.Value, field.Value) {
			continue
		}
		if text, err = f.put(text, path, name, json.RawMessage(field.Value.Pack())); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// sameJSON reports whether two values are written differently at most in their blanks.
func sameJSON(a, b hujson.Value) bool {
	a, b = a.Clone(), b.Clone()
	a.Minimize()
	b.Minimize()
	return bytes.Equal(a.Pack(), b.Pack())
}

// unitOf returns the blanks by which a text indents one level.
func unitOf(text []byte, root *hujson.Value) string {
	if o := root.Value.(*hujson.Object); len(o.Members) > 0 {
		if unit := indentOf(text, o.Members[0].Name.StartOffset); unit != "" && len(unit) <= 8 {
			return unit
		}
	}
	return "  "
}

// insert adds a member to the object in: value, in as many objects as there are further names.
func insert(text []byte, in *hujson.Value, names []string, value any, unit, end string) ([]byte, error) {
	o := in.Value.(*hujson.Object)
	oneLine := len(o.Members) > 0 && !bytes.Contains(text[in.StartOffset:in.EndOffset], []byte("\n"))
	outer := indentOf(text, in.StartOffset)
	inner := outer + unit
	if n := len(o.Members); n > 0 && !oneLine {
		inner = indentOf(text, o.Members[n-1].Name.StartOffset)
	}
	if oneLine {
		unit, inner = "", ""
	}
	added, err := nested(names, value, inner, unit, end)
	if err != nil {
		return nil, err
	}
	if len(o.Members) == 0 {
		at := in.EndOffset - 1 // before the brace, behind comments
		if len(bytes.TrimSpace(o.AfterExtra)) == 0 {
			return splice(text, in.StartOffset+1, at, end+inner+added+end+outer), nil
		}
		from := in.StartOffset + 1 + len(bytes.TrimRight(o.AfterExtra, " \t\r\n"))
		return splice(text, from, at, end+inner+added+end+outer), nil
	}
	last := o.Members[len(o.Members)-1].Value
	at, behind, comma := last.EndOffset, o.AfterExtra, ""
	if last.AfterExtra != nil { // a comma follows
		at, comma = last.EndOffset+len(last.AfterExtra)+1, ","
	}
	if oneLine {
		if comma != "" {
			return splice(text, at, at, " "+added+comma), nil
		}
		return splice(text, at, at, ", "+added), nil
	}
	// A comment behind the last member stays on its line.
	from := at
	if line, _, ok := bytes.Cut(behind, []byte("\n")); ok && isComment(line) {
		from = at + len(bytes.TrimRight(line, " \t\r"))
	}
	out := splice(text, from, from, end+inner+added+comma)
	if comma == "" {
		out = splice(out, at, at, ",")
	}
	return out, nil
}

// isComment reports whether a part of a line is only a comment.
func isComment(line []byte) bool {
	line = bytes.TrimSpace(line)
	return bytes.HasPrefix(line, []byte("//")) || bytes.HasPrefix(line, []byte("/*")) && bytes.HasSuffix(line, []byte("*/"))
}

// nested returns `"name": value`, with an object around the value for each name but the first.
func nested(names []string, value any, indent, unit, end string) (string, error) {
	var open, closing string
	for i, name := range names[:len(names)-1] {
		if unit == "" {
			open += strconv.Quote(name) + ": {"
			closing += "}"
			continue
		}
		open += strconv.Quote(name) + ": {" + end + indent + strings.Repeat(unit, i+1)
		closing = end + indent + strings.Repeat(unit, i) + "}" + closing
	}
	v, err := marshalJSON(value, indent+strings.Repeat(unit, len(names)-1), unit, end)
	return open + strconv.Quote(names[len(names)-1]) + ": " + v + closing, err
}

func (jsonFormat) drop(text []byte, path []string, name string) ([]byte, error) {
	if body, marked := bytes.CutPrefix(text, byteOrderMark); marked {
		out, err := jsonFormat{}.drop(body, path, name)
		return append(bytes.Clone(byteOrderMark), out...), err
	}
	root, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	in, rest, err := descend(&root, path)
	if err != nil || len(rest) > 0 {
		return nil, err
	}
	o := in.Value.(*hujson.Object)
	at, before := 0, 0
	for i := range o.Members {
		if l, ok := o.Members[i].Name.Value.(hujson.Literal); ok && l.String() == name {
			at = i
		}
	}
	m := o.Members[at]
	// The blanks before the name, back to the line before, go with it.
	from := m.Name.StartOffset - (len(m.Name.BeforeExtra) - len(bytes.TrimRight(m.Name.BeforeExtra, " \t\r\n")))
	if line, _, ok := bytes.Cut(m.Name.BeforeExtra, []byte("\n")); ok && isComment(line) {
		from = min(m.Name.StartOffset, max(from, m.Name.StartOffset-len(m.Name.BeforeExtra)+len(line)))
	}
	to := m.Value.EndOffset
	switch {
	case at < len(o.Members)-1:
		to += len(m.Value.AfterExtra) + 1 // with the comma
	case m.Value.AfterExtra != nil:
		to += len(m.Value.AfterExtra) + 1
	case at > 0: // the comma behind the member before
		prev := o.Members[at-1].Value
		before = prev.EndOffset + len(prev.AfterExtra)
	case len(bytes.TrimSpace(m.Name.BeforeExtra)) == 0 && len(bytes.TrimSpace(o.AfterExtra)) == 0:
		return splice(text, in.StartOffset, in.EndOffset, "{}"), nil
	}
	out := splice(text, from, to, "")
	if before > 0 {
		out = splice(out, before, before+1, "")
	}
	return out, nil
}

// UnmarshalJSON reads a text or a list of texts.
func (w *words) UnmarshalJSON(p []byte) error {
	if len(p) > 0 && p[0] == '[' {
		return json.Unmarshal(p, (*[]string)(w))
	}
	var one string
	if err := json.Unmarshal(p, &one); err != nil {
		return err
	}
	*w = words{one}
	return nil
}

// UnmarshalText reads one text.
func (w *words) UnmarshalText(p []byte) error {
	*w = words{string(p)}
	return nil
}
