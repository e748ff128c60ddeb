package config

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"ptyctl/internal/lazyregexp"
)

// Type is the type of a key's value.
type Type string

// Values of Type. In the file each is the TOML type of that name; in the environment and
// in flags it is text.
const (
	TypeString   Type = "string"
	TypeEnum     Type = "enum"     // a string, one of Key.Values
	TypeInt      Type = "integer"  // decimal, except in TOML
	TypeBool     Type = "boolean"  // true or false; except in TOML also 1 or 0
	TypeDuration Type = "duration" // an integer, in milliseconds
	TypeStrings  Type = "list"     // an array of strings; a list with commas except in TOML
	TypeSecret   Type = "secret"   // a string that is never shown
)

// Key describes one key for command lines and reference pages.
type Key struct {
	Path     string   // table and name, for example "session.max_sessions"
	Type     Type     //
	Default  string   // as TOML, for example `100`, `"strict"` or `[]`
	Min, Max int64    // inclusive bounds of TypeInt, and of TypeDuration in milliseconds
	Values   []string // of a TypeEnum, or of the elements of a TypeStrings with a fixed set of them
	Form     string   // description of a valid value, to follow "give"
	Doc      string   // one sentence
	Env      string   // environment variable
	Flag     Flag     // command line flag, unless Flag.Name is ""

	// Only for fields of a Table.
	Required bool
	Example  string // as TOML; "" if the default is an example
}

// Flag is the command line flag of a key. The parser of the command line puts the text of
// the flag into [Source].Flags under the key's path.
type Flag struct {
	Name string // without dashes; "": the key has no flag

	// Value is the text for a flag without an argument: for example, --read-only means
	// server.read_only = true. If it is "", the flag takes the text as its argument.
	Value string
}

// Keys returns every key, grouped by table. The caller must not change them.
func Keys() []Key { return keys() }

// keys are made once: the command line asks for them for each command, which was 7 % of the time of a start.
var keys = sync.OnceValue(func() []Key {
	rows := table(new(Config), "")
	keys := make([]Key, len(rows))
	for i, r := range rows {
		keys[i] = r.Key
	}
	return keys
})

// row is a key bound to a field of a Config.
type row struct {
	Key

	// set parses text and stores it in the field. All types except TypeStrings get exactly
	// one element. If set fails, the field is unchanged, and the error continues a sentence
	// that begins with the key's path.
	set func(text []string) error

	place string // key in Config.origin if it is not the path, for example policy.credential[0].source
}

// newRow returns a row with the environment variable that follows from the path.
func newRow(k Key, set func(text []string) error) row {
	k.Env = envName(k.Path)
	return row{Key: k, set: set}
}

// envName returns the variable of a path: session.max_sessions has
// PTYCTL_SESSION_MAX_SESSIONS.
func envName(path string) string {
	return "PTYCTL_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// of declares a list with elements from the fixed set values. The user of the list checks its elements.
func (r row) of(values ...string) row {
	r.Values, r.Form = values, "a list of "+strings.Join(values, ", ")
	return r
}

// env replaces the environment variable that follows from the path.
func (r row) env(name string) row { r.Env = name; return r }

// flag adds a command line flag; see Flag for value.
func (r row) flag(name, value string) row { r.Flag = Flag{name, value}; return r }

// example sets the value shown by Example for a field of a Table.
func (r row) example(value string) row { r.Example = value; return r }

// required marks a field that must be present and not empty. form replaces its form.
func (r row) required(form, example string) row {
	r.Required, r.Form = true, form
	set := r.set
	r.set = func(text []string) error {
		if len(text) == 0 || text[0] == "" {
			return errors.New("is empty; give " + form)
		}
		return set(text)
	}
	return r.example(example)
}

// checked adds a check of texts that are not empty. The check's error must describe a
// valid value.
func (r row) checked(check func(text string) error) row {
	set := r.set
	r.set = func(text []string) error {
		if text[0] != "" {
			if err := check(text[0]); err != nil {
				return err
			}
		}
		return set(text)
	}
	return r
}

// origin returns the row's key in Config.origin.
func (r row) origin() string { return cmp.Or(r.place, r.Path) }

// split converts the text of an environment variable or a flag to the elements that set
// expects.
func (r row) split(text string) []string {
	if r.Type != TypeStrings {
		return []string{text}
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	list := strings.Split(text, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// instead returns an error for a wrong value with a description of a valid one.
func instead(text, form string) error {
	return fmt.Errorf("is %s; give %s", show(text), form)
}

// hasControl reports whether s has a control character, which no path or word should
// contain.
func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f })
}

// show quotes a value for a message and limits its length.
func show(value string) string { return showUpTo(60, value) }

func showUpTo(most int, value string) string {
	if r := []rune(value); len(r) > most {
		value = string(r[:most]) + "…"
	}
	return strconv.Quote(value)
}

// bareKey matches a name that TOML allows without quotes (TOML 1.0, "Keys"), up to 80
// characters.
var bareKey = lazyregexp.New(`^[A-Za-z0-9_-]{1,80}$`)

// bare returns a name without quotes if TOML allows that, and quoted otherwise: "a.b" is
// one name and not two.
func bare(name string) string {
	if bareKey.MatchString(name) {
		return name
	}
	return showUpTo(maxScope+1, name)
}
