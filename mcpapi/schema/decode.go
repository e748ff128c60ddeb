package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"ptyctl/internal/lazyregexp"
	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/term"
)

// Decode checks raw arguments against the tool's table, and returns them in the tool's struct. A null member counts
// as absent: some clients send null for members that the model left out.
func (t *Tool) Decode(raw json.RawMessage, actionName string) (any, error) {
	c := t.Checker(actionName)
	if err := c.valid(raw); err != nil {
		return nil, err
	}
	given, err := c.members("", raw)
	if err != nil {
		return nil, err
	}
	return c.Decode(given)
}

// valid refuses text that is not JSON. Arguments of a call are part of a valid message and need no check.
func (c *Checker) valid(raw json.RawMessage) error {
	if len(bytes.TrimLeft(raw, jsonrpc.Space)) == 0 || jsonrpc.Valid(raw) {
		return nil
	}
	return c.Invalid("", nil, "the arguments must be a JSON object")
}

// Decode is Table.decode of arguments that are split already.
func (c *Checker) Decode(given []jsonrpc.Member) (any, error) {
	in := reflect.New(c.t.args)
	for _, m := range given {
		if m.Name == "protocol" && m.Value[0] == '"' {
			c.Speaking(jsonrpc.Unquoted(m.Value))
		}
	}
	c.every = c.givesEvery(c.t.Fields, given)
	// A copy of the defaults: a value that the call gives replaces its own member alone.
	in.Elem().Set(c.t.defaults)
	if err := c.object("", c.t.Fields, given, in.Elem()); err != nil {
		return nil, err
	}
	return in.Interface(), nil
}

// named returns the name of the action that a call names; "" if it names none.
func (t *Tool) named(given []jsonrpc.Member) string {
	for _, m := range given {
		if m.Name != "action" || m.Value[0] != '"' {
			continue
		}
		name := jsonrpc.Unquoted(m.Value)
		for _, a := range t.Actions {
			if t.HasActions() && fold(a.Name) == fold(name) {
				return a.Name
			}
		}
	}
	return ""
}

// ActionOf returns the action that a call is for.
func (t *Tool) ActionOf(raw json.RawMessage) (Action, error) {
	if err := (&Checker{t: t}).valid(raw); err != nil {
		return Action{}, err
	}
	a, _, err := t.Split(raw)
	return a, err
}

// Split returns the action of a call and its arguments. They are valid JSON.
func (t *Tool) Split(raw json.RawMessage) (a Action, given []jsonrpc.Member, err error) {
	c := Checker{t: t}
	given, err = c.members("", raw)
	if err == nil && t.HasActions() {
		a, err = c.actionIn(given)
	} else if err == nil {
		a = t.Actions[0]
	}
	return a, given, err
}

// actionIn returns the action that the arguments name. A tool without actions has one unnamed action.
func (c *Checker) actionIn(given []jsonrpc.Member) (Action, error) {
	t := c.t
	name := ""
	for _, m := range given {
		if m.Name == "session_id" && m.Value[0] == '"' {
			c.About(jsonrpc.Unquoted(m.Value))
		}
		// The action is read before everything else, because it decides which of the other arguments exist.
		if m.Name == "action" && json.Unmarshal(m.Value, &name) != nil {
			return Action{}, c.Invalid(
				"action",
				t.actionNames(),
				"action must be a string: one of %s",
				oneOf(t.actionNames()),
			)
		}
	}
	if a, ok := t.Action(name); ok {
		return a, nil
	}
	for _, a := range t.Actions {
		if fold(a.Name) == fold(name) {
			return a, nil
		}
	}
	suits := ""
	if near := t.nearestAction(name); near != "" {
		c.action = near
	} else if c.action = t.suits(given); c.action != "" {
		suits = "; these arguments are those of " + c.action
	}
	// Missing and wrong are two errors: a model repairs them in different ways.
	if strings.TrimSpace(name) == "" {
		return Action{}, c.Invalid(
			"action",
			t.actionNames(),
			"action is missing; use one of %s%s",
			oneOf(t.actionNames()),
			suits,
		)
	}
	if why := t.Absent["action="+name]; why != "" {
		return Action{}, c.Invalid("action", t.actionNames(), "action %s is not offered here: %s; use one of %s", name, why,
			oneOf(t.actionNames()))
	}
	return Action{}, c.Invalid(
		"action",
		t.actionNames(),
		"action %q does not exist; use one of %s",
		Shorten(name),
		oneOf(t.actionNames()),
	)
}

// A Checker compares one call with the table.
type Checker struct {
	t      *Tool
	action string
	every  bool // the call gives every argument that the schema lists
	exact  bool // values must be as the schema shows them

	protocol string // that the call names, for the examples, as the next
	session  string
}

// Checker returns the checker for a call of an action.
func (t *Tool) Checker(action string) *Checker { return &Checker{t: t, action: action} }

// About has the errors show calls for that session, if it may be the id of one.
func (c *Checker) About(session string) *Checker {
	if len(session) <= 64 && strings.Trim(session, idLetters) == "" {
		c.session = session
	}
	return c
}

// idLetters are the characters of the ids that ptyctl gives.
const idLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_@"

// Exactly has values taken only in the form that the schema shows, as the contract of another program demands.
func (c *Checker) Exactly() *Checker {
	c.exact = true
	return c
}

// Speaking has the errors show calls with that protocol.
func (c *Checker) Speaking(protocol string) *Checker {
	c.protocol = strings.ToLower(protocol)
	return c
}

// Fields returns the names of the arguments that the action takes, the needed ones first.
func (c *Checker) Fields() []string { return c.t.FieldsOf(c.action) }

// sessionExample is the session of an example.
var sessionExample = lazyregexp.New(`"session_id":"[^"]*"`)

// Invalid returns an INVALID_ARGUMENT that names the field and shows a correct call, so that a model can repair its
// call without another look at the schema.
func (c *Checker) Invalid(field string, allowed []string, format string, args ...any) error {
	example := c.exampleOf(field)
	return &term.Error{
		Kind: term.InvalidArgument, Msg: fmt.Sprintf(format, args...) + "; a correct call: " + c.t.Name + " " + example,
		Facts: term.Facts{term.ArgumentFault{Field: term.Field(field), Allowed: allowed, Example: example}},
	}
}

// members splits a valid JSON value into its members. It refuses a value that is not an object, and names that occur
// twice.
func (c *Checker) members(path string, raw json.RawMessage) ([]jsonrpc.Member, error) {
	what := "the arguments"
	if path != "" {
		what = path
	}
	// Clients differ in how they call a tool without arguments: with {}, with null or without the member.
	if len(bytes.TrimLeft(raw, jsonrpc.Space)) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if raw = Object(bytes.TrimLeft(raw, jsonrpc.Space)); raw[0] != '{' {
		return nil, c.Invalid(path, nil, "%s must be a JSON object", what)
	}
	out := jsonrpc.Split(raw)
	// JSON leaves open which of two members counts. A rule could judge one and the tool use the other, so
	// neither does.
	seen := make(map[string]bool, len(out))
	for _, m := range out {
		if seen[m.Name] {
			if path == "" && c.action == "" { // the example is of the action that the call names
				c.action = c.t.named(out)
			}
			name := join(path, Shorten(m.Name))
			return nil, c.Invalid(name, nil, "%s is given twice; give it once", name)
		}
		seen[m.Name] = true
	}
	return out, nil
}

// object checks the members of one object against its fields, and sets the fields of the struct. Required members are
// checked last, so that a misspelled name is reported rather than the member that it leaves missing.
func (c *Checker) object(path string, fields []Field, given []jsonrpc.Member, into reflect.Value) error {
	has := make([]bool, len(fields))
	for _, m := range given {
		// Absent, for clients that write every member of the schema.
		if string(m.Value) == "null" {
			continue
		}
		if path == "" && m.Name == "action" && c.t.HasActions() {
			continue // known already
		}
		i, err := c.find(path, fields, m)
		if err != nil {
			return err
		}
		if i < 0 {
			continue
		}
		f := c.words(fields, &fields[i], m.Value)
		to := into.FieldByIndex(f.index)
		if c.unset(f, m.Value, to.Kind()) {
			continue
		}
		has[i] = true
		if err := c.value(join(path, m.Name), f, m.Value, to); err != nil {
			return err
		}
	}
	for i := range fields {
		if f := &fields[i]; path == "" && f.needs(c.action) && !has[i] && !f.Is("derived") {
			return c.Invalid(f.Name, c.allowed(fields, path), "%s is missing%s", f.Name, c.forAction())
		}
	}
	return nil
}

// inList is the index of an object in a list, in a path.
var inList = lazyregexp.New(`\[\d+\]`)

// find returns the index of the field that a member is for, if the action takes it, and -1 for a member of another
// action that says nothing. Otherwise its error says whether the field is unknown or belongs to another action, and
// lists the fields that this action takes.
func (c *Checker) find(path string, fields []Field, m jsonrpc.Member) (int, error) {
	name := m.Name
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
	switch {
	case i >= 0 && fields[i].Takes(c.action):
		return i, nil
	case i >= 0 && !c.exact && c.idle(&fields[i], m.Value):
		return -1, nil
	}
	// The message lists them, because a model that guessed a name needs the right one and not another guess.
	allowed := c.allowed(fields, path)
	if why := c.t.Absent[join(inList.ReplaceAllString(path, ""), name)]; i < 0 && why != "" {
		other := cmp.Or(c.otherwise(path, fields, name), "leave it out")
		name = join(path, name)
		return 0, c.Invalid(name, allowed, "field %q is not taken here: %s; %s", name, why, strings.TrimSuffix(other, "; "))
	}
	if i < 0 {
		instead := c.instead(path, fields, name)
		name = join(path, Shorten(name))
		return 0, c.Invalid(
			name,
			allowed,
			"unknown field %q%s; %sit takes %s",
			name,
			c.forAction(),
			instead,
			cmp.Or(strings.Join(allowed, ", "), "none"),
		)
	}
	return 0, c.Invalid(
		name,
		allowed,
		"field %q belongs to action %s, not to %s, %swhich takes %s",
		name,
		strings.Join(fields[i].Actions, ", "),
		c.action,
		c.otherwise(path, fields, name),
		strings.Join(allowed, ", "),
	)
}

// allowed returns the names that the object at path may have.
func (c *Checker) allowed(fields []Field, path string) []string {
	if path == "" {
		return c.t.FieldsOf(c.action)
	}
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].Name
	}
	return names
}

// forAction names the action in an error, or the tool if it has no actions.
func (c *Checker) forAction() string {
	if c.action == "" {
		return " for " + c.t.Name
	}
	return " for action " + c.action
}
