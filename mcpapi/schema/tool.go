package schema

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/term"
)

// A Tool is the definition of one tool: its schema, checks and description are derived from it.
type Tool struct {
	Name    string
	Title   string
	About   string // its description, which a model reads before anything else
	Reading string // the same for a read-only caller; empty: no action only reads
	Actions []Action
	Hints   Hints

	// Absent has arguments that the tool does not take although a caller may know them, by their paths, and actions, by
	// action= and their names. The value says how to get each.
	Absent map[string]string

	// These are Declare's.
	Fields   []Field
	Output   []Field
	args     reflect.Type  // of the struct of arguments
	defaults reflect.Value // that struct, before a call has set anything

	Local bool // is about ptyctl's own machine: listed only for callers that may start programs there, see Options.Local
	Files bool // is about files of that machine: listed only if some are offered

	FarFiles bool // is about files of that machine and of other hosts: listed if some of either are
}

// An Action is one thing a tool does. A tool without actions has a single one, named "".
type Action struct {
	Name    string
	About   string // one line
	Plain   bool   // its name says as much: About is left out of the list of tools
	Example string // arguments of a correct call, as JSON
	Local   string // the same for a call with protocol local; empty: Example
	Reads   bool   // neither types nor changes anything

	Verb term.Verb // its name in the audit log; empty: Name
	Only Callers   // the callers that see it; empty: every caller
	Mark string    // as for an argument, see Tool.Without
}

// Callers are some of the callers of a server.
type Callers string

// The callers that are shown an action of their own. Another that knows it gets the tool's reason for a refusal.
const (
	Everyone  Callers = ""
	Clients   Callers = "clients"   // clients of a daemon, where sessions outlive them
	Operators Callers = "operators" // people at a command of ptyctl
)

// Hints are the tool's annotations.
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld bool }

// A Kind is a JSON type, in JSON Schema's words.
type Kind string

// The kinds.
const (
	KindString  Kind = "string"
	KindInteger Kind = "integer"
	KindBoolean Kind = "boolean"
	KindStrings Kind = "array" // of strings
	KindObject  Kind = "object"
	KindObjects Kind = "objects" // array of objects
	KindMap     Kind = "map"     // object of strings under arbitrary names

	kindUntyped Kind = "untyped" // a member of a result that may be null
)

// A Field is one argument, or one member of an object.
type Field struct {
	Name     string
	Kind     Kind
	About    string
	Enum     []string
	Fields   []Field  // of an object, or of each object in a list
	Actions  []string // that take it; empty: all
	Required []string // actions that need it; "*": all
	Min, Max int64    // of an integer, both zero: 0 and up; Max of a list of objects: its length
	NonEmpty bool
	Default  string   // if a call gives no value
	Words    string   // the argument that takes a list of words in place of this text
	Marks    []string // words of the tag is

	index     []int               // of the struct's field
	after     string              // the member of a result that it follows
	example   []jsonrpc.Member    // shown by an error, see example.go; nil: no example
	canonical func(string) string // the value that a text means; nil: the type has no Canonical
	hint      func(string) string // advice for a text that is not a value; nil: the type has no Hint
}

// Is reports whether the field has a mark.
func (f *Field) Is(mark string) bool { return slices.Contains(f.Marks, mark) }

// Takes reports whether the tool takes an argument of that name.
func (t *Tool) Takes(name string) bool {
	return slices.ContainsFunc(t.Fields, func(f Field) bool { return f.Name == name })
}

// Takes reports whether the action takes the field.
func (f *Field) Takes(action string) bool {
	return len(f.Actions) == 0 || slices.Contains(f.Actions, action)
}

// needs reports whether the action needs the field.
func (f *Field) needs(action string) bool {
	return slices.Contains(f.Required, "*") || slices.Contains(f.Required, action)
}

// Action returns the action with that name.
func (t *Tool) Action(name string) (Action, bool) {
	i := slices.IndexFunc(t.Actions, func(a Action) bool { return a.Name == name })
	if i < 0 {
		return Action{}, false
	}
	return t.Actions[i], true
}

// HasActions reports whether the tool takes the argument "action".
func (t *Tool) HasActions() bool { return t.Actions[0].Name != "" }

func (t *Tool) actionNames() []string {
	names := make([]string, len(t.Actions))
	for i, a := range t.Actions {
		names[i] = a.Name
	}
	return names
}

// FieldsOf returns the names of the fields an action takes, the needed ones first.
func (t *Tool) FieldsOf(action string) []string {
	var needed, optional []string
	if t.HasActions() {
		needed = append(needed, "action")
	}
	for i := range t.Fields {
		switch f := &t.Fields[i]; {
		case !f.Takes(action):
		case f.needs(action):
			needed = append(needed, f.Name)
		default:
			optional = append(optional, f.Name)
		}
	}
	return append(needed, optional...)
}

// aboutActions describes the actions, except for the plain ones, if there are others. The text is the description of
// the argument action: in the tool's own description, it would leave that argument without one.
func (t *Tool) aboutActions() string {
	said := slices.DeleteFunc(slices.Clone(t.Actions), func(a Action) bool { return a.Plain })
	if len(said) == 0 {
		said = t.Actions
	}
	texts := make([]string, len(said))
	for i, a := range said {
		texts[i] = a.Name + ": " + a.About
	}
	return strings.Join(texts, " ")
}

// For is the table as these callers see it. It is t itself if they see all of it.
func (t *Tool) For(who Callers) *Tool {
	hidden := func(a Action) bool { return a.Only != Everyone && a.Only != who }
	if !slices.ContainsFunc(t.Actions, hidden) {
		return t
	}
	return t.without(hidden, "it belongs to action %s, which only people at a command of ptyctl have")
}

// without is the table without some actions, and without the arguments that are theirs alone, which are refused; why
// says so, with the names of the actions for %s.
func (t *Tool) without(hidden func(Action) bool, why string) *Tool {
	r := *t
	r.Actions = slices.DeleteFunc(slices.Clone(t.Actions), hidden)
	r.Absent = maps.Clone(t.Absent)
	r.Fields = slices.DeleteFunc(slices.Clone(t.Fields), func(f Field) bool {
		gone := !slices.ContainsFunc(r.Actions, func(a Action) bool { return f.Takes(a.Name) })
		if gone {
			if r.Absent == nil {
				r.Absent = make(map[string]string)
			}
			r.Absent[f.Name] = fmt.Sprintf(why, strings.Join(f.Actions, ", "))
		}
		return gone
	})
	return &r
}

// OfSecrets is the mark of arguments that name one of the operator's secrets.
const OfSecrets = "secrets"

// The marks of forwarding, and of forwarding from a TCP port.
const (
	OfForward    = "forward"
	OfForwardTCP = "forward_tcp"
)

// Without is the table without the actions, and the arguments at every depth, that have a mark. They are refused; why
// says so. It is t itself if nothing has the mark.
func (t *Tool) Without(mark, why string) *Tool {
	if !slices.ContainsFunc(t.Actions, func(a Action) bool { return a.Mark == mark }) && !marked(t.Fields, mark) {
		return t
	}
	r := *t
	r.Absent = maps.Clone(t.Absent)
	if r.Absent == nil {
		r.Absent = make(map[string]string)
	}
	r.Actions = slices.DeleteFunc(slices.Clone(t.Actions), func(a Action) bool {
		if a.Mark == mark {
			r.Absent["action="+a.Name] = why
		}
		return a.Mark == mark
	})
	gone := func(name string) bool { _, left := r.Action(name); return name != "*" && !left }
	var drop func(path string, fields []Field) []Field
	drop = func(path string, fields []Field) []Field {
		kept := make([]Field, 0, len(fields))
		for _, f := range fields {
			if at := join(path, f.Name); f.Is(mark) {
				r.Absent[at] = why
			} else {
				f.Actions = slices.DeleteFunc(slices.Clone(f.Actions), gone)
				f.Required = slices.DeleteFunc(slices.Clone(f.Required), gone)
				f.Fields = drop(at, f.Fields)
				kept = append(kept, f)
			}
		}
		return kept
	}
	r.Fields = drop("", t.Fields)
	return &r
}

// marked reports whether one of the fields has a mark, at any depth.
func marked(fields []Field, mark string) bool {
	return slices.ContainsFunc(fields, func(f Field) bool { return f.Is(mark) || marked(f.Fields, mark) })
}

// ForReading returns the table for a read-only caller; nil: such a caller does not see the tool.
func (t *Tool) ForReading() *Tool {
	types := func(a Action) bool { return !a.Reads }
	// A tool without any action left is not listed at all: a model would try it in vain.
	if !slices.ContainsFunc(t.Actions, func(a Action) bool { return a.Reads }) {
		return nil
	}
	r := t.without(types, "it belongs to action %s, and this caller may only read (role read, or server.read_only)")
	r.About = t.Reading
	// Many clients call a read-only tool without asking a person, and this one only reads.
	r.Hints = Hints{ReadOnly: true, Idempotent: true, OpenWorld: t.Hints.OpenWorld}
	return r
}

// Marked returns the name of the first argument with a mark that a call gives, or "". in is the struct of arguments.
func (t *Tool) Marked(in any, mark string) string {
	values := reflect.ValueOf(in).Elem()
	for i := range t.Fields {
		if f := &t.Fields[i]; f.Is(mark) && !values.FieldByIndex(f.index).IsZero() {
			return f.Name
		}
	}
	return ""
}
