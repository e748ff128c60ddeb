package mcpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ptyctl/term"
)

// decode checks raw arguments against the tool's table and unmarshals them into args, a pointer to the action's
// struct. A member that is null counts as absent: some clients send null for what they leave out.
func (t *Tool) decode(raw json.RawMessage, actionName string, args any) error {
	c := checker{t: t, action: actionName}
	given, err := c.members("", raw)
	if err != nil {
		return err
	}
	return c.decode(given, args)
}

// decode is tool.decode of arguments that are split already.
func (c *checker) decode(given []member, args any) error {
	clean, err := c.object("", c.t.Fields, given)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(clean, args); err != nil {
		return fmt.Errorf("%s: the table and the struct of action %q disagree: %w", c.t.Name, c.action, err)
	}
	return nil
}

// actionField is the argument that names the action, of a tool that has some.
func (t *Tool) actionField() *Field {
	return &Field{Name: "action", Kind: KindString, Enum: t.actionNames(), Required: everyAction}
}

// actionOf finds out which action a call is for.
func (t *Tool) actionOf(raw json.RawMessage) (Action, error) {
	a, _, err := t.split(raw)
	return a, err
}

// split finds out which action a call is for, and what its arguments are.
func (t *Tool) split(raw json.RawMessage) (a Action, given []member, err error) {
	c := checker{t: t}
	given, err = c.members("", raw)
	if err == nil && t.hasActions() {
		a, err = c.actionIn(given)
	} else if err == nil {
		a = t.Actions[0]
	}
	return a, given, err
}

// actionIn finds out which action arguments are for.
func (c *checker) actionIn(given []member) (Action, error) {
	t := c.t
	name := ""
	for _, m := range given {
		if m.name == "action" && json.Unmarshal(m.value, &name) != nil {
			return Action{}, c.invalid("action", t.actionNames(), "action must be a string: one of %s", oneOf(t.actionNames()))
		}
	}
	if a, ok := t.action(name); ok {
		return a, nil
	}
	if name == "" {
		return Action{}, c.invalid("action", t.actionNames(), "action is missing; use one of %s", oneOf(t.actionNames()))
	}
	return Action{}, c.invalid(
		"action",
		t.actionNames(),
		"action %q does not exist; use one of %s",
		shorten(name),
		oneOf(t.actionNames()),
	)
}

// A checker compares one call with the table.
type checker struct {
	t      *Tool
	action string
}

// invalid is an INVALID_ARGUMENT that names the field and shows a call that is right.
func (c *checker) invalid(field string, allowed []string, format string, args ...any) error {
	example := c.t.Actions[0].Example
	if a, ok := c.t.action(c.action); ok {
		example = a.Example
	}
	return &term.Error{
		Kind: term.InvalidArgument, Msg: fmt.Sprintf(format, args...) + "; a correct call: " + c.t.Name + " " + example,
		Details: &term.Details{Field: field, Allowed: allowed, Example: example},
	}
}

// members splits an object, refusing what is none, and names that occur twice.
func (c *checker) members(path string, raw json.RawMessage) ([]member, error) {
	what := "the arguments"
	if path != "" {
		what = path
	}
	if len(bytes.TrimLeft(raw, jsonSpace)) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if raw = bytes.TrimLeft(raw, jsonSpace); raw[0] != '{' || !json.Valid(raw) {
		return nil, c.invalid(path, nil, "%s must be a JSON object", what)
	}
	out := split(raw)
	seen := make(map[string]bool, len(out))
	for _, m := range out {
		if seen[m.name] {
			name := join(path, shorten(m.name))
			return nil, c.invalid(name, nil, "%s is given twice; give it once", name)
		}
		seen[m.name] = true
	}
	return out, nil
}

// object checks the members of one object against its fields, and returns it without its nulls and with its numbers in the
// form that the structs take.
func (c *checker) object(path string, fields []Field, given []member) (json.RawMessage, error) {
	var clean bytes.Buffer
	clean.WriteByte('{')
	has := make([]bool, len(fields))
	for _, m := range given {
		if string(m.value) == "null" {
			continue
		}
		var f *Field
		if path == "" && m.name == "action" && c.t.hasActions() {
			f = c.t.actionField()
		} else {
			i, err := c.find(path, fields, m.name)
			if err != nil {
				return nil, err
			}
			f, has[i] = &fields[i], true
		}
		value, err := c.value(join(path, m.name), f, m.value)
		if err != nil {
			return nil, err
		}
		if clean.Len() > 1 {
			clean.WriteByte(',')
		}
		quote(&clean, m.name)
		clean.WriteByte(':')
		clean.Write(value)
	}
	for i := range fields {
		if f := &fields[i]; path == "" && f.needs(c.action) && !has[i] {
			return nil, c.invalid(f.Name, c.allowed(fields, path), "%s is missing%s", f.Name, c.forAction())
		}
	}
	clean.WriteByte('}')
	return clean.Bytes(), nil
}

// find returns the index of the field that a member is, if the action takes it.
func (c *checker) find(path string, fields []Field, name string) (int, error) {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
	if i >= 0 && fields[i].takes(c.action) {
		return i, nil
	}
	allowed := c.allowed(fields, path)
	if i < 0 {
		name = join(path, shorten(name))
		return 0, c.invalid(
			name,
			allowed,
			"unknown field %q%s; it takes %s",
			name,
			c.forAction(),
			cmp.Or(strings.Join(allowed, ", "), "none"),
		)
	}
	return 0, c.invalid(
		name,
		allowed,
		"field %q belongs to action %s, not to %s, which takes %s",
		name,
		strings.Join(fields[i].Actions, ", "),
		c.action,
		strings.Join(allowed, ", "),
	)
}

// allowed returns the names that may stand at path.
func (c *checker) allowed(fields []Field, path string) []string {
	if path == "" {
		return c.t.fieldsOf(c.action)
	}
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].Name
	}
	return names
}

func (c *checker) forAction() string {
	if c.action == "" {
		return " for " + c.t.Name
	}
	return " for action " + c.action
}

// value checks one value, and returns it in the form that the structs take.
func (c *checker) value(path string, f *Field, raw json.RawMessage) (json.RawMessage, error) {
	wrong := func(want string) error {
		return c.invalid(path, nil, "%s must be %s, not %s", path, want, typeOf(raw))
	}
	switch f.Kind {
	case KindString:
		var s string
		if json.Unmarshal(raw, &s) != nil || raw[0] != '"' {
			return nil, wrong("a string")
		}
		if len(f.Enum) > 0 && !slices.Contains(f.Enum, s) {
			return nil, c.invalid(path, f.Enum, "%s %q does not exist; use one of %s", path, shorten(s), oneOf(f.Enum))
		}
		if f.NonEmpty && strings.TrimSpace(s) == "" {
			return nil, c.invalid(path, nil, "%s is empty; leave it out, or give a value", path)
		}
		if instead, ok := f.Later[s]; ok {
			return nil, notBuilt(path, path+" "+strconv.Quote(s), instead)
		}
	case KindInteger:
		limit := f.Max
		if limit == 0 {
			limit = math.MaxInt32
		}
		n, ok := integer(raw)
		switch {
		case !ok && typeOf(raw) == "a number":
			return nil, c.invalid(path, nil, "%s must be a whole number between %d and %d", path, f.Min, limit)
		case !ok:
			return nil, wrong("a whole number")
		case n < f.Min || n > limit:
			return nil, c.invalid(path, nil, "%s is %d; it must be between %d and %d", path, n, f.Min, limit)
		}
		return json.RawMessage(strconv.FormatInt(n, 10)), nil
	case KindBoolean:
		if s := string(raw); s != "true" && s != "false" {
			return nil, wrong("true or false")
		}
	case KindStrings:
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			return nil, wrong("an array of strings")
		}
		for i, item := range items {
			if item[0] != '"' {
				return nil, c.invalid(fmt.Sprintf("%s[%d]", path, i), nil, "%s[%d] must be a string, not %s", path, i, typeOf(item))
			}
		}
	case KindMap:
		given, err := c.members(path, raw)
		if err != nil {
			return nil, err
		}
		for _, m := range given {
			if m.value[0] != '"' {
				name := join(path, shorten(m.name))
				return nil, c.invalid(name, nil, "%s must be a string, not %s", name, typeOf(m.value))
			}
		}
	case KindObject:
		given, err := c.members(path, raw)
		if err != nil {
			return nil, err
		}
		return c.object(path, f.Fields, given)
	}
	return raw, nil
}

// notBuilt is the answer to what the contract has and this version has not.
func notBuilt(field, what, instead string) error {
	return &term.Error{
		Kind:    term.Unsupported,
		Msg:     what + " is not supported: " + instead,
		Details: &term.Details{Field: field},
	}
}

// integer reads a whole number, also where a client writes it as 5.0.
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

// typeOf names the type of a JSON value for a message; the value itself may be a secret.
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

// shorten cuts what a caller sent to a length that is fit for a message.
func shorten(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

func oneOf(names []string) string { return strings.Join(names, ", ") }

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
