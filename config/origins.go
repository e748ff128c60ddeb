package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Origin returns the layer that set a key: "default", "FILE:LINE", the name of an
// environment variable, or a flag with its dashes. It returns "" for an unknown key.
func (c Config) Origin(key string) string {
	if o, ok := c.origin[key]; ok {
		return o
	}
	for _, k := range Keys() {
		if k.Path == key {
			return "default"
		}
	}
	return ""
}

// A Setting is the value of one key and its origin.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`  // as TOML; `"[redacted]"` for a secret that is set
	Origin string `json:"origin"` // see Config.Origin
	Header string `json:"-"`      // the line of the file that begins its table
}

// Settings returns every key with its value, in the order of [Keys], and then every field
// of the tables that may repeat. It never returns a secret.
func (c Config) Settings() []Setting {
	var list []Setting
	for _, k := range Keys() {
		table, _ := cutTable(k.Path)
		list = append(
			list,
			Setting{Key: k.Path, Value: tomlText(c.field(k.Path)), Origin: cmp.Or(c.origin[k.Path], "default"), Header: "[" + table + "]"},
		)
	}
	for _, t := range Tables() {
		for i, v := range c.field(t.Path).Seq2() {
			name := v.FieldByName("Name").String()
			if t.Named {
				name = bare(name)
			}
			place, header := t.place(name, int(i.Int())), t.headerOf(name)
			for _, f := range t.Fields {
				key := place + "." + f.Path
				list = append(
					list,
					Setting{
						Key:    key,
						Value:  tomlText(field(v, f.Path)),
						Origin: cmp.Or(c.origin[key], "default"),
						Header: header,
					},
				)
			}
		}
	}
	return list
}

// field returns the field of a key. Their names correspond: ssh.known_hosts_path is
// SSH.KnownHostsPath; the unit of a duration is part of the key's name only.
func (c Config) field(path string) reflect.Value { return field(reflect.ValueOf(c), path) }

// field returns the field of v for a path. Paths use lower case and underscores, Go names
// use capitals, so field compares the names without both.
func field(v reflect.Value, path string) reflect.Value {
	for name := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSuffix(path, "_ms"), "_", ""), ".") {
		v = fieldNamed(v, name)
	}
	return v
}

// fieldNamed returns the field of a struct. Type.FieldByNameFunc also looks into embedded structs, which takes ten times as
// long and is felt at the start of a program that shows all keys.
func fieldNamed(v reflect.Value, name string) reflect.Value {
	t := v.Type()
	for i := range t.NumField() {
		if f := t.Field(i); !f.Anonymous && strings.EqualFold(f.Name, name) {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

// same compares a field of two configurations.
func same(t Type, a, b reflect.Value) bool {
	if t == TypeSecret { // a Secret holds a pointer
		return a.Interface().(Secret).Reveal() == b.Interface().(Secret).Reveal()
	}
	return tomlText(a) == tomlText(b)
}

// sameEntries compares the entries of two configurations without their positions in the
// file.
func sameEntries(t Table, a, b reflect.Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		x, y := a.Index(i), b.Index(i)
		if x.FieldByName("Name").String() != y.FieldByName("Name").String() ||
			slices.ContainsFunc(
				t.Fields,
				func(f Key) bool { return !same(f.Type, field(x, f.Path), field(y, f.Path)) },
			) {
			return false
		}
	}
	return true
}

// entriesText returns entries as an array or a table of inline tables, without fields
// that have their defaults.
func entriesText(t Table, entries reflect.Value) string {
	texts := make([]string, entries.Len())
	for i := range texts {
		v := entries.Index(i)
		var fields []string
		for _, f := range t.Fields {
			if text := tomlText(field(v, f.Path)); text != f.Default {
				fields = append(fields, f.Path+" = "+text)
			}
		}
		texts[i] = "{" + strings.Join(fields, ", ") + "}"
		if t.Named {
			texts[i] = bare(v.FieldByName("Name").String()) + " = " + texts[i]
		}
	}
	text := strings.Join(texts, ", ")
	if t.Named {
		return "{" + text + "}"
	}
	return "[" + text + "]"
}

// tomlText returns the value of a field as TOML.
func tomlText(v reflect.Value) string {
	switch f := v.Interface().(type) {
	case time.Duration:
		return strconv.FormatInt(f.Milliseconds(), 10)
	case Secret:
		return tomlString(f.String())
	case []string:
		quoted := make([]string, len(f))
		for i, s := range f {
			quoted[i] = tomlString(s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	if v.Kind() == reflect.String {
		return tomlString(v.String())
	}
	return fmt.Sprint(v.Interface())
}

// tomlString quotes a string as TOML does.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
