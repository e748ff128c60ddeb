package schema

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"ptyctl/mcpapi/jsonrpc"
)

// A tool's arguments are a struct, and each of its fields is one line: the argument's name, type, checks and text.
//
//	TimeoutMS int64 `json:"timeout_ms" min:"1" max:"1<<40" doc:"stops the command; default 60000"`
//
// The tags of an argument:
//
//	json     its name
//	doc      its description in the schema, with settings of the operator in braces (settings.go); the field's type may
//	         add to it with a method Doc() string
//	enum     the values that it may have, separated by spaces; or the field's type has a method Enum() []string
//	min, max the bounds of an integer; without them it is 0 or more, and fits 32 bits; of a list of objects, max is the
//	         number of objects that it may have
//	on       the actions that take it; without it, those of need, or all
//	need     the actions that need it; * for all
//	default  its value if a call gives none, which the schema shows
//	eg       a value for the examples of errors, see example.go
//	words    the argument that takes a list of words in place of this text
//	is       any of these words: filled (an empty string is none); given (an empty string is refused); derived
//	         (the tool itself finds the value that a call leaves out); number (a string that holds a number, and
//	         may be one); text (a string that may not be a number); firm (its first value counts, see blank);
//	         pairs (a list of NAME=value, which may be an object; of an object: the list of tools shows it as
//	         such a list); passing (the string is not kept after the call, so it may share the memory of the
//	         message); a mark of the tool's own, see Marked
//
// The schema has every argument, at every depth: an argument not shown to a client is refused. Tool.Absent says why.
//
// A type may have two methods: Canonical(text string) string returns the value that a text means. Hint(text string)
// string returns advice for a text that is not a value of the type, or for an empty one that is refused; "": no advice.
//
// The results of a tool are structs too, with the tags json, doc, is and after. The schema has the members with
// is:"listed", in the order of the struct; after moves a member behind the one that it names. One that may be null is
// nullable, too.

// Declare completes a tool's table from the struct A of its arguments and the structs of its results. It panics if they
// do not fit together: the program must not start with such a tool.
func Declare[A any](t Tool, results ...any) *Tool {
	// Reflection runs once for each tool, when the program starts; a call only follows the indexes found here.
	t.args = reflect.TypeFor[A]()
	t.Fields = argumentsOf(t.args)
	t.defaults = reflect.New(t.args).Elem()
	setDefaults(t.defaults, t.Fields)
	for _, r := range results {
		t.Output = addResults(t.Output, reflect.TypeOf(r))
	}
	t.Output = inOrder(t.Output)
	return &t
}

// argumentsOf returns the table of a struct of arguments.
func argumentsOf(s reflect.Type) (fields []Field) {
	for sf := range s.Fields() {
		if sf.Anonymous {
			for _, f := range argumentsOf(sf.Type) {
				f.index = append(slices.Clone(sf.Index), f.index...)
				fields = append(fields, f)
			}
			continue
		}
		tag := tagsOf(s, sf)
		f := Field{
			Name: tag.name(), About: tag.text("doc"), Enum: tag.words("enum"), index: sf.Index,
			Actions: tag.words("on"), Required: tag.words("need"), Min: tag.number("min"), Max: tag.number("max"),
			Default: tag.text("default"), Marks: tag.words("is"), Words: tag.text("words"),
		}
		f.NonEmpty = f.Is("filled")
		var err error
		if f.example, err = exampleIn(f.Name, tag.text("eg")); err != nil {
			tag.panic("%v", err)
		}
		// An argument that one action needs belongs to that action alone unless its tag says otherwise.
		if f.Actions == nil && !slices.Contains(f.Required, "*") {
			f.Actions = f.Required
		}
		of := sf.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if f.Kind = argumentKind(of); f.Kind == "" {
			tag.panic("arguments of type %v are not read", sf.Type)
		}
		switch f.Kind {
		case KindObject:
			f.Fields = argumentsOf(of)
		case KindObjects:
			if f.Fields = argumentsOf(of.Elem()); f.Max == 0 {
				tag.panic("a list of objects needs max: the number of objects that it may have")
			}
		}
		// Checked here, because it would fail only on machines with 32 bits.
		if of.Kind() == reflect.Int && f.Max > math.MaxInt32 {
			tag.panic("max is more than an int holds everywhere; use int64")
		}
		f.describe(reflect.Zero(of).Interface())
		fields = append(fields, f)
	}
	return fields
}

// describe adds the words and the values of an enumerated type to the field, and the field's default.
func (f *Field) describe(zero any) {
	if e, ok := zero.(interface{ Enum() []string }); ok {
		f.Enum = e.Enum()
	}
	if d, ok := zero.(interface{ Doc() string }); ok {
		f.About += d.Doc()
	}
	if c, ok := zero.(interface{ Canonical(text string) string }); ok {
		f.canonical = c.Canonical
	}
	if h, ok := zero.(interface{ Hint(text string) string }); ok {
		f.hint = h.Hint
	}
	if f.Default != "" {
		f.About = strings.TrimPrefix(f.About+"; default "+f.Default, "; ")
	}
}

// argumentKind returns the wire kind of an argument's type, or "" if no argument may have that type.
func argumentKind(t reflect.Type) Kind {
	switch t.Kind() {
	case reflect.String:
		return KindString
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return KindInteger
	case reflect.Bool:
		return KindBoolean
	case reflect.Slice:
		switch t.Elem().Kind() {
		case reflect.String:
			return KindStrings
		case reflect.Struct:
			return KindObjects
		}
	case reflect.Map:
		if t == reflect.TypeFor[map[string]string]() {
			return KindMap
		}
	case reflect.Struct:
		return KindObject
	}
	return ""
}

// setDefaults sets the fields of a struct to their default values.
func setDefaults(s reflect.Value, fields []Field) {
	for i := range fields {
		f := &fields[i]
		if f.Default == "" {
			continue
		}
		n, err := strconv.ParseInt(f.Default, 10, 64)
		if err != nil || f.Kind != KindInteger {
			panic(fmt.Sprintf("%v: the default of %s is no integer", s.Type(), f.Name))
		}
		setNumber(s.FieldByIndex(f.index), n)
	}
}

// addResults adds the listed members of a struct to the table of a tool's results.
func addResults(fields []Field, s reflect.Type) []Field {
	if s.Kind() == reflect.Pointer {
		s = s.Elem()
	}
	for sf := range s.Fields() {
		if sf.Anonymous {
			fields = addResults(fields, sf.Type)
			continue
		}
		tag := tagsOf(s, sf)
		if !slices.Contains(tag.words("is"), "listed") {
			continue
		}
		f := Field{Name: tag.name(), About: tag.text("doc"), Kind: resultKind(sf.Type), after: tag.text("after")}
		// A schema with a union of types makes some clients drop the tool.
		switch null := sf.Type.Kind() == reflect.Pointer && !strings.Contains(tag.text("json"), ",omit"); {
		case slices.Contains(tag.words("is"), "nullable"):
			f.About, f.Kind = string(f.Kind)+" or null", kindUntyped
		case null:
			tag.panic("it may be null, which a type cannot say; list it as nullable")
		}
		// Two results of a tool share a member: one line of the schema serves both.
		if slices.ContainsFunc(fields, func(old Field) bool { return old.Name == f.Name }) {
			continue
		}
		if f.Kind == KindObject && sf.Type.Kind() != reflect.Interface {
			f.Fields = addResults(nil, sf.Type)
		}
		fields = append(fields, f)
	}
	return fields
}

// inOrder moves each member that names another behind that one.
func inOrder(fields []Field) []Field {
	for _, f := range slices.Clone(fields) {
		if f.after == "" {
			continue
		}
		// The order is the one that a reader wants, not that of the Go fields.
		fields = slices.DeleteFunc(fields, func(old Field) bool { return old.Name == f.Name })
		at := slices.IndexFunc(fields, func(old Field) bool { return old.Name == f.after })
		if at < 0 {
			panic(fmt.Sprintf("the result's member %s is to follow %s, which is not listed", f.Name, f.after))
		}
		fields = slices.Insert(fields, at+1, f)
	}
	return fields
}

// resultKind returns the wire kind of a result's type.
func resultKind(t reflect.Type) Kind {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8, // base64
		t == reflect.TypeFor[jsonrpc.Content]():
		return KindString
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.String: // of structs, or of pointers to them
		return KindObjects
	case t.Kind() == reflect.Interface:
		return KindObject
	}
	return argumentKind(t)
}

// tags are the tags of one field of a struct.
type tags struct {
	of    reflect.Type
	field reflect.StructField
}

func tagsOf(s reflect.Type, f reflect.StructField) tags { return tags{s, f} }

func (t tags) text(key string) string { return t.field.Tag.Get(key) }

// name is the wire name of the field.
func (t tags) name() string {
	name, _, _ := strings.Cut(t.text("json"), ",")
	if name == "" {
		t.panic("it has no name on the wire; give it the tag json")
	}
	return name
}

// words returns a tag that holds a list, nil if the tag is absent.
func (t tags) words(key string) []string {
	if text := t.text(key); text != "" {
		return strings.Fields(text)
	}
	return nil
}

// number returns a tag that holds an integer or 1<<N, 0 if the tag is absent.
func (t tags) number(key string) int64 {
	text := t.text(key)
	if text == "" {
		return 0
	}
	digits, shifted := strings.CutPrefix(text, "1<<")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		t.panic("%s is no integer", key)
	}
	if shifted {
		return 1 << n
	}
	return n
}

// panic reports a wrong declaration. That is a bug of this program, so it must not start.
func (t tags) panic(format string, args ...any) {
	panic(fmt.Sprintf("%v.%s: %s", t.of, t.field.Name, fmt.Sprintf(format, args...)))
}
