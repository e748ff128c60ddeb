package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"ptyctl/mcpapi/jsonrpc"
)

// value checks one value against its field, and sets the struct's field. A pointer field is allocated, so that the
// tool can tell an absent value from a zero one.
func (c *Checker) value(path string, f *Field, raw json.RawMessage, into reflect.Value) error {
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	given := raw
	if !c.exact {
		raw = f.meant(raw)
		if f.Kind != KindString {
			if err := cmp.Or(c.whole(path, f, given), c.whole(path, f, raw)); err != nil {
				return err
			}
		}
	}
	wrong := func(want string) error {
		return c.Invalid(path, nil, "%s must be %s, not %s", path, want, typeOf(raw))
	}
	switch f.Kind {
	case KindString:
		switch {
		case raw[0] != '"' && f.Words != "":
			return wrong("one string (" + f.Words + " takes words)")
		case raw[0] != '"':
			return wrong("a string")
		}
		unquoted := jsonrpc.Unquoted
		if f.Is("passing") {
			unquoted = jsonrpc.UnquotedShared
		}
		text := unquoted(raw)
		// In a long text its escapes are many, and the character that half a pair becomes is rare.
		if !c.exact && strings.Contains(text, "\ufffd") {
			if err := c.whole(path, f, given); err != nil {
				return err
			}
		}
		text, err := c.text(path, f, text)
		if err != nil {
			return err
		}
		into.SetString(text)
	case KindInteger:
		n, ok := integer(raw)
		// A number that is no whole one is reported with its bounds below.
		if !ok && typeOf(raw) != "a number" {
			return wrong("a whole number")
		}
		if err := c.bounds(path, f, n, ok); err != nil {
			return err
		}
		setNumber(into, n)
	case KindBoolean:
		if s := string(raw); s != "true" && s != "false" {
			return wrong("true or false")
		}
		into.SetBool(raw[0] == 't')
	case KindStrings:
		if raw[0] != '[' {
			return wrong("an array of strings")
		}
		list, err := c.strings(path, raw)
		if err != nil {
			return err
		}
		into.Set(reflect.ValueOf(list))
	case KindMap:
		byName, err := c.byName(path, raw)
		if err != nil {
			return err
		}
		into.Set(reflect.ValueOf(byName))
	case KindObject:
		if raw[0] != '{' && f.Is("pairs") {
			var ok bool
			if raw, ok = members(raw); !ok {
				return c.Invalid(path, c.allowed(f.Fields, path), "%s must be a list of NAME=value, such as %s=%d",
					path, f.Fields[0].Name, max(f.Fields[0].Min, 1))
			}
		}
		given, err := c.members(path, raw)
		if err != nil {
			return err
		}
		return c.object(path, f.Fields, given, into)
	case KindObjects:
		if raw[0] != '[' {
			return wrong("an array of objects")
		}
		return c.objects(path, f, raw, into)
	}
	return nil
}

// whole refuses text with half of a surrogate pair, which would become U+FFFD and be typed, or written to a file, so. The
// contracts of other programs have that character.
func (c *Checker) whole(path string, f *Field, raw json.RawMessage) error {
	if raw[0] != '"' && (f.Kind == KindObject || f.Kind == KindObjects) { // their values are checked by themselves
		return nil
	}
	half := jsonrpc.HalfPair(raw)
	if half == "" {
		return nil
	}
	return c.Invalid(path, nil, `%s has %s, which is half of a surrogate pair and no character; send both halves, such as `+
		`\ud83d\ude00, or the character itself`, path, half)
}

// objects reads an array of objects. An error names the element, for example steps[1].key.
func (c *Checker) objects(path string, f *Field, raw json.RawMessage, into reflect.Value) error {
	items := jsonrpc.Elements(raw)
	if int64(len(items)) > f.Max {
		return c.Invalid(path, nil, "%s has %d objects; it may have at most %d", path, len(items), f.Max)
	}
	list := reflect.MakeSlice(into.Type(), len(items), len(items))
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", path, i)
		if item = Object(item); item[0] != '{' {
			return c.Invalid(at, nil, "%s must be an object, not %s", at, typeOf(item))
		}
		given, err := c.members(at, item)
		if err != nil {
			return err
		}
		one := *c
		one.every = c.every || c.givesEvery(f.Fields, given)
		if err := one.object(at, f.Fields, given, list.Index(i)); err != nil {
			return err
		}
	}
	into.Set(list)
	return nil
}

// text checks a string: one of the enumerated values, and not blank if the field must be filled.
func (c *Checker) text(path string, f *Field, s string) (string, error) {
	given := s
	if !c.exact {
		s = f.named(s)
	}
	if len(f.Enum) > 0 && !slices.Contains(f.Enum, s) {
		if f.hint != nil {
			if hint := f.hint(given); hint != "" {
				return "", c.Invalid(path, f.Enum, "%s %q does not exist: %s", path, Shorten(given), hint)
			}
		}
		return "", c.Invalid(path, f.Enum, "%s %q does not exist; use one of %s", path, Shorten(given), oneOf(f.Enum))
	}
	if f.NonEmpty && strings.TrimSpace(s) == "" {
		do := "leave it out, or give a value"
		if f.needs(c.action) {
			do = "give a value"
		}
		if f.hint != nil {
			do = cmp.Or(f.hint(""), do)
		}
		return "", c.Invalid(path, nil, "%s is empty; %s", path, do)
	}
	return s, nil
}

// bounds checks the range of a number; ok is false if it is not a whole number.
func (c *Checker) bounds(path string, f *Field, n int64, ok bool) error {
	// No field is unbounded: an int may have 32 bits, and no argument needs more without saying so.
	limit := f.Max
	if limit == 0 {
		limit = math.MaxInt32
	}
	switch {
	case !ok:
		return c.Invalid(path, nil, "%s must be a whole number between %d and %d", path, f.Min, limit)
	case n < f.Min || n > limit:
		return c.Invalid(path, nil, "%s is %d; it must be between %d and %d", path, n, f.Min, limit)
	}
	return nil
}

// strings reads an array of strings. An error names the element, for example env[1].
func (c *Checker) strings(path string, raw json.RawMessage) ([]string, error) {
	items := jsonrpc.Elements(raw)
	list := make([]string, len(items))
	for i, item := range items {
		if item[0] != '"' {
			return nil, c.Invalid(
				fmt.Sprintf("%s[%d]", path, i),
				nil,
				"%s[%d] must be a string, not %s",
				path,
				i,
				typeOf(item),
			)
		}
		list[i] = jsonrpc.Unquoted(item)
	}
	return list, nil
}

// byName reads an object of strings under arbitrary names.
func (c *Checker) byName(path string, raw json.RawMessage) (map[string]string, error) {
	given, err := c.members(path, raw)
	if err != nil {
		return nil, err
	}
	values := make(map[string]string, len(given))
	for _, m := range given {
		if m.Value[0] != '"' {
			name := join(path, Shorten(m.Name))
			return nil, c.Invalid(name, nil, "%s must be a string, not %s", name, typeOf(m.Value))
		}
		values[m.Name] = jsonrpc.Unquoted(m.Value)
	}
	return values, nil
}

// setNumber sets an integer field of any size; bounds has checked the range.
func setNumber(into reflect.Value, n int64) {
	if into.CanUint() {
		into.SetUint(uint64(n))
		return
	}
	into.SetInt(n)
}

// integer reads a whole number. It also accepts 5.0: some clients write every number as a float.
func integer(raw json.RawMessage) (int64, bool) {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	x, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		return 0, false
	}
	return int64(x), true
}

// typeOf names the type of a JSON value for a message. It must not show the value itself, which may be a secret.
func typeOf(raw json.RawMessage) string {
	switch raw[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

// Shorten cuts a caller's text to a length that fits a message.
func Shorten(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// oneOf lists names for a message.
func oneOf(names []string) string { return strings.Join(names, ", ") }

// join returns the path of a member, for example "auth.password".
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
