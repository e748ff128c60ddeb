package schema

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ptyctl/mcpapi/jsonrpc"
)

// Models write values in other forms than the schema shows: a number as a string, a list as one word, a zero for every
// argument that they do not want. A form that can mean one value alone is read as that value. This file has all such
// forms; the checks of value.go see every other value unchanged. The schemas do not show these forms.

// meant returns the value that raw means, in the field's own JSON type, or raw itself.
func (f *Field) meant(raw json.RawMessage) json.RawMessage {
	switch first := raw[0]; {
	case first == '"' && f.Kind != KindString:
		return f.unquoted(raw)
	case f.Kind == KindString && (first == '-' || first >= '0' && first <= '9'):
		return f.digits(raw)
	case f.Kind == KindBoolean && (string(raw) == "0" || string(raw) == "1"):
		return boolean(raw[0] == '1')
	case f.Kind == KindStrings && first == '{' && f.Is("pairs"):
		return pairs(raw)
	case f.Kind == KindObjects && first == '{': // a list of one
		return json.RawMessage("[" + string(raw) + "]")
	case f.Kind == KindMap && first == '{':
		return texts(raw)
	}
	return raw
}

// Whole returns the whole number that the arguments of a call have under a name, in any form that the tool takes; 0 if
// there is none.
func (t *Tool) Whole(arguments json.RawMessage, name string) (n int64) {
	_, given, _ := t.Split(arguments)
	f := fieldNamed(t.Fields, name)
	for _, m := range given {
		if m.Name == name && f != nil && f.Kind == KindInteger {
			n, _ = integer(f.meant(m.Value))
		}
	}
	return n
}

// unquoted reads the JSON string that represents a value of another type.
func (f *Field) unquoted(raw json.RawMessage) json.RawMessage {
	text := strings.TrimSpace(jsonrpc.Unquoted(raw))
	word := strings.ToLower(text)
	switch {
	case text == "":
	case f.Kind == KindBoolean && (word == "true" || word == "false"):
		return json.RawMessage(word)
	case f.Kind == KindInteger && strings.Trim(text, "0123456789.-eE") == "" && json.Valid([]byte(text)):
		return json.RawMessage(text)
	case f.Kind == KindInteger && strings.HasSuffix(f.Name, "_ms"):
		// With its unit, a duration can mean one number alone.
		if d, err := time.ParseDuration(word); err == nil && d%time.Millisecond == 0 {
			return json.RawMessage(strconv.FormatInt(d.Milliseconds(), 10))
		}
	// A nested value that was encoded twice.
	case text[0] == '{' && f.Kind != KindInteger && f.Kind != KindBoolean && json.Valid([]byte(text)):
		return f.meant(json.RawMessage(text))
	case text[0] == '[' && (f.Kind == KindStrings || f.Kind == KindObjects || f.Is("pairs")) && json.Valid([]byte(text)):
		return json.RawMessage(text)
	// One word is a list of one. More may be several elements, or one with spaces in it.
	case (f.Kind == KindStrings || f.Is("pairs")) && !strings.ContainsAny(text, " \t\r\n"):
		return json.RawMessage("[" + string(quoted(text)) + "]")
	}
	return raw
}

// digits returns a whole number as a string of its digits. A field with the mark text takes no number: the digits of
// permissions, for example, are octal, and the digits of a JSON number decimal.
func (f *Field) digits(raw json.RawMessage) json.RawMessage {
	whole := strings.Trim(string(raw), "-0123456789") == ""
	if f.Is("number") && !whole { // 5.0, from clients that write every number as a float
		n, ok := integer(raw)
		if !ok {
			return raw
		}
		raw, whole = json.RawMessage(strconv.FormatInt(n, 10)), true
	}
	if !whole || f.Is("text") {
		return raw
	}
	return quoted(string(raw))
}

// pairs returns an object of names and values as a list of NAME=value.
func pairs(object json.RawMessage) json.RawMessage {
	var list []string
	seen := make(map[string]bool)
	for _, m := range jsonrpc.Split(object) {
		if string(m.Value) == "null" {
			continue
		}
		value, ok := scalar(m.Value)
		if !ok || seen[m.Name] || strings.Contains(m.Name, "=") {
			return object
		}
		seen[m.Name] = true
		list = append(list, string(quoted(m.Name+"="+value)))
	}
	return json.RawMessage("[" + strings.Join(list, ",") + "]")
}

// members returns a list of NAME=value as an object, in which a whole number is one. ok is false if list is something
// else.
func members(list json.RawMessage) (object json.RawMessage, ok bool) {
	if list[0] != '[' {
		return list, false
	}
	var texts []string
	for _, item := range jsonrpc.Elements(list) {
		if item[0] != '"' {
			return list, false
		}
		name, value, ok := strings.Cut(jsonrpc.Unquoted(item), "=")
		if !ok {
			return list, false
		}
		text := json.RawMessage(value)
		if _, whole := integer(text); !whole || !json.Valid(text) {
			text = quoted(value)
		}
		texts = append(texts, string(quoted(name))+":"+string(text))
	}
	return json.RawMessage("{" + strings.Join(texts, ",") + "}"), true
}

// texts returns the object with whole numbers and booleans as strings.
func texts(object json.RawMessage) json.RawMessage {
	var members []string
	for _, m := range jsonrpc.Split(object) {
		value := m.Value
		if text, ok := scalar(value); ok {
			value = quoted(text)
		}
		members = append(members, string(quoted(m.Name))+":"+string(value))
	}
	return json.RawMessage("{" + strings.Join(members, ",") + "}")
}

// scalar returns the text of a string, a whole number or a boolean.
func scalar(raw json.RawMessage) (text string, ok bool) {
	switch s := string(raw); {
	case raw[0] == '"':
		return jsonrpc.Unquoted(raw), true
	case s == "true" || s == "false" || strings.Trim(s, "-0123456789") == "":
		return s, true
	}
	return "", false
}

// operators are words that a shell reads as more than words.
var operators = []string{"|", "||", "&&", ";", "&", ">", ">>", "<", "<<", "2>", "2>&1", "&>"}

// words returns the field that takes a list of words in place of the text of f, or f. A list that only a shell can read
// stays with f, which refuses it.
func (c *Checker) words(fields []Field, f *Field, raw json.RawMessage) *Field {
	if f.Words == "" || raw[0] != '[' || c.exact {
		return f
	}
	for n, word := range jsonrpc.Elements(raw) {
		text := ""
		if word[0] == '"' {
			text = jsonrpc.Unquoted(word)
		}
		if text == "" || slices.Contains(operators, text) || n == 0 && strings.ContainsAny(text, " \t\n") {
			return f
		}
	}
	i := slices.IndexFunc(fields, func(other Field) bool { return other.Name == f.Words })
	return &fields[i]
}

// named returns the enumerated value that a text means: the one that differs from it only in case, - and _, or the one
// that the field's type knows by that name.
func (f *Field) named(text string) string {
	if f.canonical != nil {
		text = f.canonical(text)
	}
	if len(f.Enum) == 0 || slices.Contains(f.Enum, text) {
		return text
	}
	for _, value := range f.Enum {
		if fold(value) == fold(text) {
			return value
		}
	}
	return text
}

// fold returns a name without case and separators: names that differ only in these are the same.
func fold(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(strings.ToLower(name))
}

// unset reports whether raw says that the argument is not given: null, and a zero value that no call can mean. Some
// clients give every argument of the schema.
func (c *Checker) unset(f *Field, raw json.RawMessage, into reflect.Kind) bool {
	switch {
	case string(raw) == "null":
		return true
	case c.exact || !zero(raw) && (!c.every || !c.blank(f, raw)), f.Kind == KindString && raw[0] != '"': // 0 is a value
		return false
	case c.every && !f.needs(c.action):
		return f.Kind != KindString || into != reflect.Pointer // an empty text differs from no text
	case f.needs(c.action) || f.Is("given"):
		return false
	}
	switch f.Kind {
	case KindString:
		return f.NonEmpty || len(f.Enum) > 0
	case KindInteger:
		return raw[0] == '"' || f.Min > 0
	case KindStrings, KindObjects:
		return raw[0] == '"' || into != reflect.Pointer // an empty list may differ from no list
	}
	return raw[0] == '"' // of another type
}

// zero reports whether raw is an empty or blank string, 0, false or null, an empty list, or an object of such values.
func zero(raw json.RawMessage) bool {
	switch raw[0] {
	case '"':
		return blankText(raw)
	case '[':
		return len(jsonrpc.Elements(raw)) == 0
	case '{':
		return !slices.ContainsFunc(jsonrpc.Split(raw), func(m jsonrpc.Member) bool { return !zero(m.Value) })
	case 'f', 'n':
		return true
	}
	return strings.Trim(string(raw), "-0.") == ""
}

// blankText reports whether a JSON string is empty or blank. It decodes the string only if that begins with a character
// that may or may not be white space: the content of a file is as long as a message may be.
func blankText(quoted json.RawMessage) bool {
	rest := quoted[1:]
	for {
		switch c := rest[0]; {
		case c == ' ':
			rest = rest[1:]
		case c == '\\' && bytes.IndexByte([]byte("nrt"), rest[1]) >= 0:
			rest = rest[2:]
		case c == '\\' || c >= utf8.RuneSelf:
			return strings.TrimSpace(jsonrpc.Unquoted(quoted)) == ""
		default:
			return c == '"'
		}
	}
}

// blank reports whether raw means nothing, from a client that gives every argument: it is a zero value, the first value
// of an enumeration, or an object of such values. The mark firm is for an argument with a first value that is not its
// default and must count, unless the call is about a protocol other than SSH, which does not use it.
func (c *Checker) blank(f *Field, raw json.RawMessage) bool {
	switch {
	case zero(raw):
		return true
	case len(f.Enum) > 0:
		return (!f.Is("firm") || c.protocol != "" && c.protocol != "ssh") && raw[0] == '"' && jsonrpc.Unquoted(raw) == f.Enum[0]
	case raw[0] != '{':
		return false
	}
	return !slices.ContainsFunc(jsonrpc.Split(raw), func(m jsonrpc.Member) bool {
		inner := fieldNamed(f.Fields, m.Name)
		return inner == nil || !c.blank(inner, m.Value)
	})
}

// idle reports whether raw means nothing as an argument that the action does not take. Where every argument is given,
// an enumerated one needs some value.
func (c *Checker) idle(f *Field, raw json.RawMessage) bool {
	if zero(raw) {
		return true
	}
	if !c.every || raw[0] != '{' {
		return c.every && len(f.Enum) > 0
	}
	return !slices.ContainsFunc(jsonrpc.Split(raw), func(m jsonrpc.Member) bool {
		inner := fieldNamed(f.Fields, m.Name)
		return inner == nil || !c.idle(inner, m.Value)
	})
}

// givesEvery reports whether an object has every field, and most of the fields that its call does not need with values
// that say nothing. Such a client has no way to leave one out.
func (c *Checker) givesEvery(fields []Field, given []jsonrpc.Member) bool {
	values := make(map[string]json.RawMessage, len(given))
	for _, m := range given {
		values[m.Name] = m.Value
	}
	blank, free := 0, 0
	for i := range fields {
		f := &fields[i]
		value, has := values[f.Name]
		switch {
		case !has:
			return false
		case f.needs(c.action):
			continue
		case c.blank(f, value):
			blank++
		}
		free++
	}
	return blank > free/2
}

// Object returns the text of an object that was encoded as a JSON string, or raw.
func Object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || raw[0] != '"' {
		return raw
	}
	text := bytes.Trim([]byte(jsonrpc.Unquoted(raw)), jsonrpc.Space)
	if len(text) == 0 || text[0] != '{' || !json.Valid(text) {
		return raw
	}
	return text
}

// quoted returns text as a JSON string.
func quoted(text string) json.RawMessage {
	var b bytes.Buffer
	jsonrpc.Quote(&b, text)
	return b.Bytes()
}

// boolean returns b in JSON.
func boolean(b bool) json.RawMessage {
	if b {
		return json.RawMessage("true")
	}
	return json.RawMessage("false")
}
