package config

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// walk visits the expressions of one document.
type walk struct {
	*loader
	name   string
	doc    []byte
	parser unstable.Parser
	most   int // number of problems at which to stop

	entries []*opened // in the order of the file

	table   string // path of the current table; "" before the first header
	skipped bool   // the current table was refused, and its keys with it
}

// full reports whether there are so many problems that more would not help.
func (w *walk) full() bool { return len(w.problems) >= w.most }

// expression reads one header or one key with its value.
func (w *walk) expression(n *unstable.Node) {
	switch n.Kind {
	case unstable.Table, unstable.ArrayTable:
		w.header(n)
	case unstable.KeyValue:
		if !w.skipped {
			w.pair(w.table, n)
		}
	}
}

// header reads the line that begins a table.
func (w *walk) header(n *unstable.Node) {
	path, start, _ := w.key("", n.Key())
	w.table, w.skipped = path, true
	if k, _, _ := w.kindOf(path); k != nil {
		w.entryHeader(path, n.Kind == unstable.ArrayTable, start)
		return
	}
	where, _ := w.at(start)
	r, isKey := w.row(path)
	switch {
	case isKey:
		w.refuse(path, where, path+" is a table; give "+r.Form)
	case !w.isTable(path):
		w.fail(where, fmt.Sprintf("there is no table [%s]; %s", path, w.adviseTable(path)), nil)
	case n.Kind == unstable.ArrayTable:
		w.fail(where, fmt.Sprintf("[[%s]] would be a list of tables; write [%s]", path, path), nil)
	default:
		w.skipped = false
	}
}

// pair reads a key in the given table, with its value. A dotted key may belong to another
// table.
func (w *walk) pair(table string, n *unstable.Node) {
	path, start, end := w.key(table, n.Key())
	value := n.Value()
	if r, isKey := w.row(path); isKey {
		w.value(r, value, w.valueStart(end))
		return
	}
	if k, _, _ := w.kindOf(path); k != nil {
		w.entryPair(path, value, start, end)
		return
	}
	where, _ := w.at(start)
	for _, b := range bypassed {
		if b.path == path {
			w.warn(where, path+" "+b.why)
			return
		}
	}
	switch {
	case !w.isTable(path):
		w.fail(where, fmt.Sprintf("there is no key %s; %s", path, w.advise(path)), nil)
	case value.Kind == unstable.InlineTable:
		for it := value.Children(); it.Next() && !w.full(); {
			w.pair(path, it.Node())
		}
	default:
		w.fail(
			where,
			fmt.Sprintf(
				"%s is %s, but it is a table; write [%s] on a line of its own and its keys below",
				path,
				kindName(value.Kind),
				path,
			),
			nil,
		)
	}
}

// value stores the value of a known key, which begins at offset start, if it has the
// right TOML type.
func (w *walk) value(r row, v *unstable.Node, start int) {
	where, origin := w.at(start)
	if v.Kind != tomlKind(r.Type) {
		w.refuse(
			r.Path,
			where,
			fmt.Sprintf("%s is %s; give %s%s", r.Path, kindName(v.Kind), r.Form, quotes(r.Type, v.Kind)),
		)
		return
	}
	switch v.Kind {
	case unstable.Array:
		w.list(r, v, where, origin)
	case unstable.Integer:
		text := string(v.Data)
		// TOML also allows 0x10 and 1_000. A number that exceeds int64 stays text and is out of
		// bounds later.
		if n, err := strconv.ParseInt(text, 0, 64); err == nil {
			text = strconv.FormatInt(n, 10)
		}
		w.put(r, where, origin, []string{text})
	default:
		w.put(r, where, origin, []string{string(v.Data)})
	}
}

// list stores an array of strings. where is the position of its opening bracket.
func (w *walk) list(r row, v *unstable.Node, where, origin string) {
	var list []string
	for it := v.Children(); it.Next(); {
		e := it.Node()
		if e.Kind != unstable.String {
			if e.Raw.Length > 0 { // the parser gives arrays no range
				where, _ = w.at(int(e.Raw.Offset))
			}
			w.refuse(r.Path, where, fmt.Sprintf("%s holds %s; give %s", r.Path, kindName(e.Kind), r.Form))
			return
		}
		list = append(list, string(e.Data))
	}
	w.put(r, where, origin, list)
}

// isTable reports whether any key, with or without effect, is below path.
func (w *walk) isTable(path string) bool {
	below := path + "."
	for _, b := range bypassed {
		if strings.HasPrefix(b.path, below) {
			return true
		}
	}
	return slices.ContainsFunc(w.rows, func(r row) bool { return strings.HasPrefix(r.Path, below) }) ||
		slices.ContainsFunc(w.kinds, func(k kind) bool { return strings.HasPrefix(k.Path, below) })
}

// key joins a table and a dotted key to a path, and returns the offsets at which the
// dotted key begins and ends.
func (w *walk) key(table string, it unstable.Iterator) (path string, start, end int) {
	var b strings.Builder
	b.WriteString(table)
	start = -1
	for it.Next() {
		k := it.Node()
		if start < 0 {
			start = int(k.Raw.Offset)
		}
		end = int(k.Raw.Offset + k.Raw.Length)
		// No key has a path of this length; shorten it for the message.
		if b.Len() > 200 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(bare(string(k.Data)))
	}
	return b.String(), max(start, 0), end
}

// valueStart returns the offset of the value after a key that ends at offset end.
func (w *walk) valueStart(end int) int {
	rest := w.doc[end:]
	return end + len(rest) - len(bytes.TrimLeft(rest, " \t="))
}

// at converts an offset to FILE:LINE:COLUMN and to FILE:LINE.
func (w *walk) at(offset int) (where, origin string) {
	before := w.doc[:offset]
	origin = fmt.Sprintf("%s:%d", w.name, 1+bytes.Count(before, []byte{'\n'}))
	return fmt.Sprintf("%s:%d", origin, offset-bytes.LastIndexByte(before, '\n')), origin
}

// tomlKind returns the TOML syntax of a scalar of type t.
func tomlKind(t Type) unstable.Kind {
	switch t {
	case TypeInt, TypeDuration:
		return unstable.Integer
	case TypeBool:
		return unstable.Bool
	case TypeStrings:
		return unstable.Array
	}
	return unstable.String
}

// kindName returns the name of a TOML syntax for messages.
func kindName(k unstable.Kind) string {
	switch k {
	case unstable.String:
		return "a string"
	case unstable.Integer:
		return "an integer"
	case unstable.Float:
		return "a float"
	case unstable.Bool:
		return "a boolean"
	case unstable.Array:
		return "an array"
	case unstable.InlineTable:
		return "a table"
	}
	return "a date or time"
}

// quotes returns a hint if a value has quotes too many or too few.
func quotes(want Type, got unstable.Kind) string {
	switch {
	case got == unstable.String && tomlKind(want) != unstable.Array:
		return ", without quotes"
	case tomlKind(want) == unstable.String:
		return ", in quotes"
	}
	return ""
}
