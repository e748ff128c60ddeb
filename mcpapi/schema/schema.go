package schema

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"ptyctl/mcpapi/jsonrpc"
)

// The schemas are written by hand, in the small dialect that every client takes: flat objects, one scalar type
// a node, items on every array; no $ref, no combinators, no unions, no boolean schemas. Several clients drop a
// tool, or a whole server, over each of those. Members are written in the table's order, so that the list of
// tools is the same bytes every time.

// InputSchema is the JSON Schema of a tool's arguments.
func (t *Tool) InputSchema() json.RawMessage {
	fields := t.Fields
	if t.HasActions() {
		action := Field{
			Name: "action", Kind: KindString, Enum: t.actionNames(), Required: []string{"*"}, About: t.aboutActions(),
		}
		fields = append([]Field{action}, fields...)
	}
	return objectSchema(fields, true)
}

// OutputSchema is the JSON Schema of a tool's results, failures included: some clients check failures too, so no
// member is required. A member that may be null has no type. It leaves out members with names that need no explanation, to
// keep the tool list short.
func (t *Tool) OutputSchema(failure any) json.RawMessage {
	members := t.Output
	if failure != nil {
		members = addResults(slices.Clone(members), reflect.TypeOf(failure))
	}
	return objectSchema(members, false)
}

// objectSchema writes the JSON Schema of an object of arguments (input) or results. It is written by hand: a schema
// library would cost time at each start.
func objectSchema(fields []Field, input bool) json.RawMessage {
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	var required []string
	for i := range fields {
		f := &fields[i]
		if i > 0 {
			b.WriteByte(',')
		}
		jsonrpc.Quote(&b, f.Name)
		b.WriteByte(':')
		f.schema(&b, input)
		if slices.Contains(f.Required, "*") {
			required = append(required, f.Name)
		}
	}
	b.WriteByte('}')
	if len(required) > 0 {
		b.WriteString(`,"required":`)
		list(&b, required)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// schema writes the JSON Schema of one field.
func (f *Field) schema(b *bytes.Buffer, input bool) {
	kind := f.Kind
	// A rare object costs a model less context as a list of words: no member needs its own schema.
	if kind == KindObject && f.Is("pairs") {
		kind = KindStrings
	}
	switch kind {
	case KindObject:
		b.WriteString(`{"type":"object"`)
		if len(f.Fields) > 0 {
			inner := objectSchema(f.Fields, input)
			b.Truncate(b.Len() - len(`{"type":"object"`))
			b.Write(inner[:len(inner)-1])
		}
	case KindStrings:
		b.WriteString(`{"type":"array","items":{"type":"string"}`)
	case KindObjects:
		b.WriteString(`{"type":"array","items":{"type":"object"}`)
		if len(f.Fields) > 0 {
			b.Truncate(b.Len() - len(`{"type":"object"}`))
			b.Write(objectSchema(f.Fields, input))
		}
	case KindMap:
		b.WriteString(`{"type":"object"`)
	case kindUntyped:
		b.WriteString(`{"description":`)
		jsonrpc.Quote(b, f.About)
		b.WriteByte('}')
		return
	default:
		b.WriteString(`{"type":"` + string(f.Kind) + `"`)
	}
	if len(f.Enum) > 0 {
		b.WriteString(`,"enum":`)
		list(b, f.Enum)
	}
	if f.About != "" {
		b.WriteString(`,"description":`)
		jsonrpc.Quote(b, f.About)
	}
	b.WriteByte('}')
}

// list writes a JSON array of strings.
func list(b *bytes.Buffer, items []string) {
	b.WriteByte('[')
	for i, s := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		jsonrpc.Quote(b, s)
	}
	b.WriteByte(']')
}
