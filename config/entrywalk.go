package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// An opened entry has begun in the file. Later lines may still set its fields, so it is
// added to the Config only at the end.
type opened struct {
	kind  *kind
	name  string
	where string // with the column
	rows  []row
	add   func()
	seen  map[string]bool // fields in the file, including those with refused values
}

// open begins an entry.
func (w *walk) open(k *kind, name string, offset int) {
	where, origin := w.at(offset)
	e := &opened{kind: k, name: name, where: where, seen: make(map[string]bool)}
	e.rows, e.add = k.begin(Entry{Name: plain(name), Where: origin})
	for i := range e.rows {
		r := &e.rows[i]
		r.place = k.place(name, w.count(k)) + "." + r.Path
		r.Path = strings.TrimSuffix(k.Path+"."+name, ".") + "." + r.Path
	}
	w.entries = append(w.entries, e)
}

// place returns the key of an entry in Config.origin, for example "policy.credential[0]".
func (t Table) place(name string, index int) string {
	if t.Named {
		return t.Path + "." + name
	}
	return fmt.Sprintf("%s[%d]", t.Path, index)
}

// count returns the number of entries of a kind so far.
func (w *walk) count(k *kind) (n int) {
	for _, e := range w.entries {
		if e.kind == k {
			n++
		}
	}
	return n
}

// entry returns the entry with that name, or the newest of an array, or nil.
func (w *walk) entry(k *kind, name string) *opened {
	for _, e := range slices.Backward(w.entries) {
		if e.kind == k && e.name == name {
			return e
		}
	}
	return nil
}

// finish adds the entries to the configuration after the whole file was read, and reports
// missing required fields.
func (w *walk) finish() {
	for _, e := range w.entries {
		for i, f := range e.kind.Fields {
			if f.Required && !e.seen[f.Path] && !w.full() {
				w.refuse(
					e.rows[i].Path,
					e.where,
					fmt.Sprintf("%s has no %s; give %s", e.kind.headerOf(e.name), f.Path, f.Form),
				)
			}
		}
		e.add()
	}
}

// kindOf returns the kind to which a path belongs, and the names of the entry and the
// field if the path has them.
func (l *loader) kindOf(path string) (k *kind, name, field string) {
	for i := range l.kinds {
		k := &l.kinds[i]
		rest, below := strings.CutPrefix(path, k.Path+".")
		switch {
		case path == k.Path:
			return k, "", ""
		case below && k.Named && strings.HasPrefix(rest, `"`): // a quoted name, which may contain dots
			name, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return k, rest, ""
			}
			return k, name, strings.TrimPrefix(rest[len(name):], ".")
		case below && k.Named:
			name, field, _ := strings.Cut(rest, ".")
			return k, name, field
		case below:
			return k, "", rest
		}
	}
	return nil, "", ""
}

// entryHeader reads a header that belongs to a kind.
func (w *walk) entryHeader(path string, isList bool, offset int) {
	where, _ := w.at(offset)
	k, name, field := w.kindOf(path)
	switch {
	case field != "":
		w.fail(where, fmt.Sprintf("there is no table [%s]; %s", path, k.adviseField(field)), nil)
	case !isList && !k.Named:
		w.fail(where, fmt.Sprintf("[%s] would be a single table; write %s", path, k.Header()), nil)
	case isList && k.Named:
		w.fail(where, fmt.Sprintf("[[%s]] would be a list of tables; write %s", path, k.headerOf(name)), nil)
	case name == "" && k.Named:
		w.skipped = false // [forward], with entries as inline tables, or in their short form
	default:
		w.skipped = !w.begin(k, name, offset)
	}
}

// begin ensures that the named entry exists, or adds one to an array. It reports whether
// the name is valid.
func (w *walk) begin(k *kind, name string, offset int) bool {
	valid, form := bareKey.MatchString, "up to 80 letters, digits, _ and -"
	if k.valid != nil {
		valid, form = k.valid, k.nameForm
	}
	if k.Named && !valid(plain(name)) {
		where, _ := w.at(offset)
		w.fail(where, fmt.Sprintf("%s is not a valid name for %s; use %s", name, k.Header(), form), nil)
		return false
	}
	if !k.Named || w.entry(k, name) == nil {
		w.open(k, name, offset)
	}
	return true
}

// entryPair reads a key that belongs to a kind. The key occupies the offsets start to
// end.
func (w *walk) entryPair(path string, value *unstable.Node, start, end int) {
	where, _ := w.at(start)
	k, name, field := w.kindOf(path)
	switch {
	case field == "" && !k.Named:
		w.inlineList(k, value, start)
		return
	case field == "" && name != "" && k.Short != "" && value.Kind != unstable.InlineTable:
		if w.begin(k, name, start) {
			e := w.entry(k, name)
			i := slices.IndexFunc(k.Fields, func(f Key) bool { return f.Path == k.Short })
			e.seen[k.Short] = true
			w.value(e.rows[i], value, w.valueStart(end))
		}
		return
	case field == "" && value.Kind != unstable.InlineTable:
		w.fail(
			where,
			fmt.Sprintf(
				"%s is %s, but it is a table; write %s on a line of its own and its fields below",
				path,
				kindName(value.Kind),
				k.headerOf(name),
			),
			nil,
		)
		return
	case name != "" && !w.begin(k, name, start):
		return
	case field == "":
		for it := value.Children(); it.Next() && !w.full(); {
			w.pair(path, it.Node())
		}
		return
	}
	e := w.entry(k, name)
	if e == nil {
		w.fail(
			where,
			fmt.Sprintf(
				"%s is a field of a list of tables; write %s on a line of its own and %s below",
				path,
				k.Header(),
				field,
			),
			nil,
		)
		return
	}
	i := slices.IndexFunc(k.Fields, func(f Key) bool { return f.Path == field })
	if i < 0 {
		w.fail(where, fmt.Sprintf("there is no key %s; %s", path, k.adviseField(field)), nil)
		return
	}
	e.seen[field] = true
	w.value(e.rows[i], value, w.valueStart(end))
}

// inlineList reads an array of tables written as an array of inline tables.
func (w *walk) inlineList(k *kind, value *unstable.Node, start int) {
	where, _ := w.at(start)
	if value.Kind != unstable.Array {
		w.fail(
			where,
			fmt.Sprintf(
				"%s is %s, but it is a list of tables; write %s on a line of its own and its fields below",
				k.Path,
				kindName(value.Kind),
				k.Header(),
			),
			nil,
		)
		return
	}
	for it := value.Children(); it.Next() && !w.full(); {
		table := it.Node()
		if table.Kind != unstable.InlineTable {
			w.fail(
				where,
				fmt.Sprintf(
					"%s holds %s, but it is a list of tables; write %s on a line of its own and its fields below",
					k.Path,
					kindName(table.Kind),
					k.Header(),
				),
				nil,
			)
			return
		}
		pairs := table.Children()
		offset := start
		if first := table.Child(); first != nil && first.Valid() { // the parser gives tables no range
			_, offset, _ = w.key("", first.Key())
		}
		w.begin(k, "", offset)
		for pairs.Next() && !w.full() {
			w.pair(k.Path, pairs.Node())
		}
	}
}

// plain returns a name without the quotes that it has in a path.
func plain(name string) string {
	if text, err := strconv.Unquote(name); err == nil {
		return text
	}
	return name
}

// headerOf returns the line that begins the table of one entry.
func (t Table) headerOf(name string) string {
	return strings.Replace(t.Header(), "NAME", cmp.Or(name, "NAME"), 1)
}

// adviseField suggests how to correct an unknown field.
func (t Table) adviseField(field string) string {
	names := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		names[i] = f.Path
	}
	if i := similar(field, names); i >= 0 {
		return "did you mean " + names[i] + "?"
	}
	return "remove it, or use a field of " + t.Header() + ": " + strings.Join(names, ", ")
}
