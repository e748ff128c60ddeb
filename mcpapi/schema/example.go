package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ptyctl/mcpapi/jsonrpc"
)

// An error about an argument shows a correct call of the same action that gives this argument. The call combines the
// action's own example with the argument's example, which has the members that go with it: the tag
//
//	eg:"'context':2,'match':'error'"
//
// is a list of JSON members in single quotes, where null takes a member out of the action's example. A member name that
// begins with an action and a slash is for that action alone.

// exampleOf returns the arguments of a correct call, with the argument at path if an example is known.
func (c *Checker) exampleOf(path string) string {
	a, ok := c.t.Action(c.action)
	if !ok { // an example of some action is better than none
		a = c.t.Actions[0]
	}
	if a.Example == "" {
		return ""
	}
	steps := strings.Split(path, ".")
	f := fieldNamed(c.t.Fields, steps[0])
	text := a.Example
	if a.Local != "" && (c.protocol == "local" || c.protocol == "" && f != nil && f.Is("local")) {
		text = a.Local
	}
	example := jsonrpc.Split(json.RawMessage(text))
	if c.protocol == "telnet" && f != nil && f.Takes(a.Name) && text == a.Example {
		example = put(example, "protocol", quoted(c.protocol))
	}
	if f != nil && f.Takes(a.Name) && !c.elsewhere(f) {
		example = c.giving(c.t.Fields, example, steps, a.Name)
	}
	if text = string(written(example)); c.session != "" {
		text = sessionExample.ReplaceAllLiteralString(text, `"session_id":"`+c.session+`"`)
	}
	return text
}

// elsewhere reports whether f is for a protocol other than the call's, so that the call must leave it out.
func (c *Checker) elsewhere(f *Field) bool {
	i := slices.IndexFunc(f.example, func(m jsonrpc.Member) bool { return m.Name == "protocol" })
	return c.protocol != "" && (i >= 0 && string(f.example[i].Value) != string(quoted(c.protocol)) ||
		c.protocol == "local" && f.Is("far") || c.protocol != "local" && f.Is("local"))
}

// giving returns the members of an object with the one at a path, and those that go with it. Members that the action
// does not take are left out.
func (c *Checker) giving(fields []Field, object []jsonrpc.Member, path []string, action string) []jsonrpc.Member {
	name, element, _ := strings.Cut(path[0], "[")
	f := fieldNamed(fields, name)
	if f == nil || f.example == nil {
		return object
	}
	at := slices.IndexFunc(object, func(m jsonrpc.Member) bool { return m.Name == name })
	if at < 0 || len(path) > 1 { // the rest of the object is right
		for _, m := range f.example {
			only, name, ok := strings.Cut(m.Name, "/")
			if ok && only != action {
				continue
			}
			if ok {
				m.Name = name
			}
			if other := fieldNamed(fields, m.Name); other == nil || other.Takes(action) {
				object = put(object, m.Name, m.Value)
			}
		}
	}
	if len(path) == 1 {
		return object
	}
	at = slices.IndexFunc(object, func(m jsonrpc.Member) bool { return m.Name == name })
	value := &object[at].Value
	switch {
	case f.Is("pairs"): // shown as a list of NAME=value
		if inner := fieldNamed(f.Fields, path[1]); inner != nil && inner.example != nil {
			*value = pairsWith(*value, inner)
		}
	case f.Kind == KindObject:
		*value = written(c.giving(f.Fields, jsonrpc.Split(*value), path[1:], action))
	case f.Kind == KindObjects && element != "":
		first := jsonrpc.Elements(*value)[0]
		*value = slices.Concat([]byte("["), written(c.giving(f.Fields, jsonrpc.Split(first), path[1:], action)), []byte("]"))
	}
	return object
}

// pairsWith returns a list of NAME=value with the pair of f before the others.
func pairsWith(value json.RawMessage, f *Field) json.RawMessage {
	pairs := []string{f.Name + "=" + plain(f.example[0].Value)}
	for _, pair := range jsonrpc.Elements(value) {
		if text := plain(pair); !strings.HasPrefix(text, f.Name+"=") {
			pairs = append(pairs, text)
		}
	}
	var b bytes.Buffer
	list(&b, pairs)
	return b.Bytes()
}

// plain returns the text of a JSON string, or any other value unchanged.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return string(value)
	}
	return text
}

// fieldNamed returns the field with that name, or nil. The index of an element, as in on[2], is no part of it.
func fieldNamed(fields []Field, name string) *Field {
	name, _, _ = strings.Cut(name, "[")
	if i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name }); i >= 0 {
		return &fields[i]
	}
	return nil
}

// put sets a member of an object, or removes it if value is null.
func put(object []jsonrpc.Member, name string, value json.RawMessage) []jsonrpc.Member {
	object = slices.Clone(object)
	i := slices.IndexFunc(object, func(m jsonrpc.Member) bool { return m.Name == name })
	switch {
	case string(value) == "null" && i >= 0:
		return slices.Delete(object, i, i+1)
	case string(value) == "null":
	case i >= 0:
		object[i].Value = value
	default:
		object = append(object, jsonrpc.Member{Name: name, Value: value})
	}
	return object
}

// written returns an object as JSON.
func written(object []jsonrpc.Member) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range object {
		if i > 0 {
			b.WriteByte(',')
		}
		jsonrpc.Quote(&b, m.Name)
		b.WriteByte(':')
		b.Write(m.Value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// exampleIn reads the tag eg of the argument with that name.
func exampleIn(name, tag string) ([]jsonrpc.Member, error) {
	if tag == "" {
		return nil, nil
	}
	object := json.RawMessage("{" + strings.ReplaceAll(tag, "'", `"`) + "}")
	if !json.Valid(object) {
		return nil, fmt.Errorf("the example is no list of members: %s", object)
	}
	members := jsonrpc.Split(object)
	if members[0].Name != name {
		return nil, fmt.Errorf("the example begins with %q, not with the argument itself", members[0].Name)
	}
	return members, nil
}
