package mcpapi

import (
	"bytes"
	"encoding/json"
	"slices"
)

// The schemas are written by hand, in the small dialect that every client takes: flat objects, one scalar type
// a node, items on every array; no $ref, no combinators, no unions, no boolean schemas. Several clients drop a
// tool, or a whole server, over each of those. Members are written in the table's order, so that the list of
// tools is the same bytes every time.

// inputSchema is the JSON Schema of a tool's arguments.
func (t *tool) inputSchema() json.RawMessage {
	fields := t.fields
	if t.hasActions() {
		fields = append([]field{{name: "action", kind: kindString, enum: t.actionNames(), required: everyAction}}, fields...)
	}
	return objectSchema(fields, true)
}

// outputSchema is the JSON Schema of a tool's results, failures included: some clients check those too. It
// requires nothing, for that reason, and leaves out the members that may be null, and some whose name says it all.
func (t *tool) outputSchema() json.RawMessage {
	return objectSchema(append(slices.Clone(t.output), errorFields...), false)
}

// errorFields are the members of a failure.
var errorFields = []field{
	{name: "error_code", kind: kindString},
	{name: "message", kind: kindString},
	{name: "retryable", kind: kindBoolean},
	{name: "details", kind: kindObject},
}

func objectSchema(fields []field, input bool) json.RawMessage {
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	var required []string
	first := true
	for i := range fields {
		f := &fields[i]
		if f.unlisted {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		quote(&b, f.name)
		b.WriteByte(':')
		f.schema(&b, input)
		if slices.Contains(f.required, "*") {
			required = append(required, f.name)
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

func (f *field) schema(b *bytes.Buffer, input bool) {
	switch f.kind {
	case kindObject:
		b.WriteString(`{"type":"object"`)
		if len(f.fields) > 0 {
			inner := objectSchema(f.fields, input)
			b.Truncate(b.Len() - len(`{"type":"object"`))
			b.Write(inner[:len(inner)-1])
		}
	case kindStrings:
		b.WriteString(`{"type":"array","items":{"type":"string"}`)
	case kindObjects:
		b.WriteString(`{"type":"array","items":{"type":"object"}`)
	default:
		b.WriteString(`{"type":"` + string(f.kind) + `"`)
	}
	if len(f.enum) > 0 {
		b.WriteString(`,"enum":`)
		list(b, f.enum)
	}
	if f.about != "" {
		b.WriteString(`,"description":`)
		quote(b, f.about)
	}
	b.WriteByte('}')
}

func quote(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)       // a string always encodes
	b.Truncate(b.Len() - 1) // the line end
}

func list(b *bytes.Buffer, items []string) {
	b.WriteByte('[')
	for i, s := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		quote(b, s)
	}
	b.WriteByte(']')
}
