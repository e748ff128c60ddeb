package mcpapi

import (
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// A tool is the table from which everything about one tool is derived.
type tool struct {
	name    string
	title   string
	about   string // first paragraph of the description
	reading string // the same for a caller that may only read; empty: none of its actions only read
	actions []action
	fields  []field
	output  []field
	hints   hints
}

// An action is one thing a tool does. A tool without actions has a single one, named "".
type action struct {
	name    string
	about   string // one line
	example string // arguments of a correct call, as JSON
	reads   bool   // types nothing and changes nothing
	later   string // not built yet: what to do instead
}

// hints are the tool's annotations.
type hints struct{ readOnly, destructive, idempotent, openWorld bool }

// A kind is a JSON type, in JSON Schema's words.
type kind string

const (
	kindString  kind = "string"
	kindInteger kind = "integer"
	kindBoolean kind = "boolean"
	kindStrings kind = "array" // of strings
	kindObject  kind = "object"
	kindObjects kind = "objects" // array of objects; output only
)

// A field is one argument, or one member of an object.
type field struct {
	name     string
	kind     kind
	about    string
	enum     []string
	later    map[string]string // values that are not built yet: what to do instead
	fields   []field           // of an object
	actions  []string          // that take it; empty: all
	required []string          // actions that need it; "*": all
	min, max int64             // of an integer; both zero: 0 and up
	nonEmpty bool
	unlisted bool // left out of the schema, to keep the list of tools short: another one shows it, or it is plain
}

// takes reports whether the action takes the field.
func (f *field) takes(action string) bool {
	return len(f.actions) == 0 || slices.Contains(f.actions, action)
}

// needs reports whether the action needs the field.
func (f *field) needs(action string) bool {
	return slices.Contains(f.required, "*") || slices.Contains(f.required, action)
}

// action returns the action with that name.
func (t *tool) action(name string) (action, bool) {
	i := slices.IndexFunc(t.actions, func(a action) bool { return a.name == name })
	if i < 0 {
		return action{}, false
	}
	return t.actions[i], true
}

// hasActions reports whether the tool takes the argument "action".
func (t *tool) hasActions() bool { return t.actions[0].name != "" }

func (t *tool) actionNames() []string {
	names := make([]string, len(t.actions))
	for i, a := range t.actions {
		names[i] = a.name
	}
	return names
}

// fieldsOf returns the names of the fields an action takes, the needed ones first.
func (t *tool) fieldsOf(action string) []string {
	var needed, optional []string
	if t.hasActions() {
		needed = append(needed, "action")
	}
	for i := range t.fields {
		switch f := &t.fields[i]; {
		case !f.takes(action):
		case f.needs(action):
			needed = append(needed, f.name)
		default:
			optional = append(optional, f.name)
		}
	}
	return append(needed, optional...)
}

// description is the text that a model reads before anything else.
func (t *tool) description() string {
	var b strings.Builder
	b.WriteString(t.about)
	if t.hasActions() {
		for _, a := range t.actions {
			b.WriteString("\n- " + a.name + ": " + a.about)
		}
	}
	return b.String()
}

// annotations are the hints that differ from what the protocol takes for granted: not read-only, destructive, not
// idempotent, dealing with an open world.
func (t *tool) annotations() mcp.ToolAnnotation {
	a := mcp.ToolAnnotation{Title: t.title}
	if t.hints.readOnly {
		a.ReadOnlyHint = new(true)
	}
	if !t.hints.destructive {
		a.DestructiveHint = new(false)
	}
	if t.hints.idempotent {
		a.IdempotentHint = new(true)
	}
	if !t.hints.openWorld {
		a.OpenWorldHint = new(false)
	}
	return a
}
