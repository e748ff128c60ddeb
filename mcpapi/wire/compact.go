package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"ptyctl/mcpapi/jsonrpc"
)

// A Compacter is a result, or a part of one, that has a compact form: a value in which the fields at their ordinary
// values are zero. The encoder leaves them out.
type Compacter interface{ Compact() any }

// A member is one member of a JSON object.
type member struct {
	name  string
	value reflect.Value
}

// Compact returns the compact form of a result as JSON. A field that is zero is absent, unless it has the tag
// `compact:"keep"`. A pointer to a zero value is not zero.
func Compact(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := compact(&b, reflect.ValueOf(v)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func compact(b *bytes.Buffer, v reflect.Value) error {
	v = compacted(v)
	switch {
	case !v.IsValid():
		b.WriteString("null")
		return nil
	case v.Type() == content:
		v.Interface().(jsonrpc.Content).Quote(b)
		return nil
	case v.Type().Implements(marshaler):
		return encode(b, v.Interface())
	}
	switch v.Kind() {
	case reflect.Struct:
		b.WriteByte('{')
		for i, m := range members(v) {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := encode(b, m.name); err != nil {
				return err
			}
			b.WriteByte(':')
			if err := compact(b, m.value); err != nil {
				return err
			}
		}
		b.WriteByte('}')
		return nil
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Struct {
			break
		}
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := compact(b, v.Index(i)); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	}
	return encode(b, v.Interface())
}

var (
	compacter = reflect.TypeFor[Compacter]()
	marshaler = reflect.TypeFor[json.Marshaler]()
	content   = reflect.TypeFor[jsonrpc.Content]()
)

// compacted follows pointers and interfaces, and takes the compact form of a value that has one.
func compacted(v reflect.Value) reflect.Value {
	for v.IsValid() {
		switch nilable := v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface; {
		case nilable && v.IsNil():
			return reflect.Value{}
		case v.Type().Implements(compacter):
			// The compact form is of another type, or it would be taken without end.
			v = reflect.ValueOf(v.Interface().(Compacter).Compact())
		case nilable:
			v = v.Elem()
		default:
			return v
		}
	}
	return v
}

// members returns the members of a struct in the compact form, with the members of embedded structs in their place.
func members(v reflect.Value) (list []member) {
	for i := range v.NumField() {
		f, value := v.Type().Field(i), v.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			if value = compacted(value); value.IsValid() {
				list = append(list, members(value)...)
			}
		case !f.IsExported() || name == "-":
		case f.Tag.Get("compact") == "keep" || !empty(value):
			list = append(list, member{name, value})
		}
	}
	return list
}

// empty reports whether a field has no information.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}

// encode writes a value as JSON. A terminal's output is full of <, > and &; escaped, each would cost a model six
// characters.
func encode(b *bytes.Buffer, v any) error {
	if s, ok := v.(string); ok { // a large one, such as the content of a file, in a tenth of the time
		jsonrpc.Quote(b, s)
		return nil
	}
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the newline with which the encoder ends a value
	return nil
}
