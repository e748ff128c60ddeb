package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"ptyctl/internal/lazyregexp"
)

// yamlFormat is YAML, with each server in a mapping of its own.
type yamlFormat struct{}

// parseYAML returns the root mapping, or nil of a text without any value.
func parseYAML(text []byte) (*yaml.Node, error) {
	// YAML 1.1 counts these as line ends, too (section 4.2).
	if bytes.ContainsAny(bytes.ReplaceAll(text, []byte("\r\n"), nil), "\r\u0085\u2028\u2029") {
		return nil, byHand("it has line ends that are neither LF nor CR LF")
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("it is not YAML: %w", err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, byHand("it has more than one YAML document")
	}
	root := doc.Content[0]
	switch {
	case root.Kind == yaml.ScalarNode && root.Tag == "!!null":
		return nil, nil
	case root.Kind != yaml.MappingNode:
		return nil, errors.New("it is YAML, but no mapping")
	}
	return root, nil
}

// entryOf returns the key and the value of a name in a mapping, or nil, and the line after it, counted from 0; last is
// the line after the mapping.
func entryOf(m *yaml.Node, name string, last int) (key, value *yaml.Node, next int) {
	for i := 0; m != nil && i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value != name {
			continue
		}
		next = last
		if i+2 < len(m.Content) {
			next = m.Content[i+2].Line - 1
		}
		return m.Content[i], m.Content[i+1], next
	}
	return nil, nil, 0
}

// keyLine is the line of a key without a value, or with an empty one.
var keyLine = lazyregexp.New(`^(\x{FEFF}?["']?\w+["']?[ \t]*:)[ \t]*(?:\{[ \t]*\}|null|Null|NULL|~)?([ \t]+#[^\r\n]*)?[ \t]*\r?\n?$`)

// keyOf returns the parts of such a line before and after the value; false for any other line.
func keyOf(line string) (start, comment string, ok bool) {
	m := keyLine.FindStringSubmatch(line)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

func (yamlFormat) read(text []byte, path []string, name string) (*written, error) {
	in, err := parseYAML(text)
	if err != nil {
		return nil, err
	}
	for _, key := range append(append([]string{}, path...), name) {
		if _, in, _ = entryOf(in, key, 0); in == nil {
			return nil, nil
		}
	}
	var w written
	if err := in.Decode(&w); err != nil {
		return &written{}, nil //nolint:nilerr // an entry, though of no use
	}
	return &w, nil
}

func (yamlFormat) others(text []byte, path []string, name string) (any, error) {
	all := map[string]any{}
	if err := yaml.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("it is not YAML: %w", err)
	}
	without(all, path, name)
	return all, nil
}

// block returns a value as the lines of a block with an indent.
func block(value any, indent, end string) (string, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(value), enc.Close()); err != nil {
		return "", err
	}
	var out strings.Builder
	for line := range strings.Lines(b.String()) {
		out.WriteString(indent + strings.TrimSuffix(line, "\n") + end)
	}
	return out.String(), nil
}

func (yamlFormat) put(text []byte, path []string, name string, value any) ([]byte, error) {
	root, err := parseYAML(text)
	if err != nil {
		return nil, err
	}
	l, end := split(text), lineEnd(text)
	if root != nil && root.Style&yaml.FlowStyle != 0 {
		return nil, byHand("its mapping is written between braces")
	}
	key, servers, next := entryOf(root, path[0], len(l))
	if key == nil {
		body, err := block(value, "    ", end)
		out := string(text)
		if out != "" && !strings.HasSuffix(out, "\n") {
			out += end
		}
		return []byte(out + path[0] + ":" + end + "  " + name + ":" + end + body), err
	}
	empty := len(servers.Content) == 0
	switch {
	case servers.Kind == yaml.AliasNode || servers.Anchor != "" || servers.Kind != yaml.MappingNode && servers.Tag != "!!null",
		servers.Style&yaml.FlowStyle != 0 && !empty:
		return nil, byHand("%q is not written as a block", path[0])
	case empty:
		body, err := block(value, "    ", end)
		from := key.Line - 1
		start, comment, ok := keyOf(l[from])
		if !ok || l.end(from, next) != from+1 {
			return nil, byHand("%q is not on a line of its own", path[0])
		}
		return l.replaced(from, from+1, start+comment+end+"  "+name+":"+end+body), err
	}
	indent := strings.Repeat(" ", servers.Content[0].Column-1)
	entry, fields, after := entryOf(servers, name, next)
	if entry == nil {
		body, err := block(value, indent+"  ", end)
		at := l.end(key.Line-1, next)
		added := indent + name + ":" + end + body
		if !strings.HasSuffix(l[at-1], "\n") {
			added = end + added
		}
		return l.replaced(at, at, added), err
	}
	if fields.Kind != yaml.MappingNode || fields.Style&yaml.FlowStyle != 0 || len(fields.Content) == 0 {
		body, err := block(value, indent+"  ", end)
		return l.replaced(entry.Line-1, l.end(entry.Line-1, after), indent+name+":"+end+body), err
	}
	return yamlFields(text, append(append([]string{}, path...), name), value)
}

// yamlFields changes fields of an existing entry, and keeps the others.
func yamlFields(text []byte, path []string, value any) ([]byte, error) {
	var want yaml.Node
	if err := want.Encode(value); err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(want.Content); i += 2 {
		field := want.Content[i]
		in, err := parseYAML(text)
		if err != nil {
			return nil, err
		}
		l, end := split(text), lineEnd(text)
		next := len(l)
		for _, key := range path {
			_, in, next = entryOf(in, key, next)
		}
		key, _, after := entryOf(in, field.Value, next)
		if key != nil && !starts(field.Value) {
			continue
		}
		body, err := block(&yaml.Node{Kind: yaml.MappingNode, Content: want.Content[i : i+2]}, strings.Repeat(" ", in.Content[0].Column-1), end)
		if err != nil {
			return nil, err
		}
		from, to := in.Content[0].Line-1, in.Content[0].Line-1
		if key != nil {
			from, to = key.Line-1, l.end(key.Line-1, after)
		}
		text = l.replaced(from, to, body)
	}
	return text, nil
}

func (yamlFormat) drop(text []byte, path []string, name string) ([]byte, error) {
	root, err := parseYAML(text)
	if err != nil {
		return nil, err
	}
	l := split(text)
	key, servers, next := entryOf(root, path[0], len(l))
	entry, _, after := entryOf(servers, name, next)
	switch {
	case root.Style&yaml.FlowStyle != 0 || servers.Style&yaml.FlowStyle != 0:
		return nil, byHand("%q is not written as a block", path[0])
	case len(servers.Content) == 2:
		start, comment, ok := keyOf(l[key.Line-1])
		if !ok {
			return nil, byHand("%q is not on a line of its own", path[0])
		}
		// Comments before the entry stay.
		return l.replaced(key.Line-1, l.end(key.Line-1, next), start+" {}"+comment+lineEnd(text)+strings.Join(l[key.Line:entry.Line-1], "")), nil
	}
	return l.replaced(entry.Line-1, l.end(entry.Line-1, after), ""), nil
}
