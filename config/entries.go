package config

// A Table describes a table of which the file may hold any number: a list, [[policy.credential]], or named ones,
// [forward.NAME]. Neither the environment nor a flag can add to them.
type Table struct {
	Path   string // of the list, such as "policy.credential", or what stands before the dot and the name
	Named  bool   // [Path.NAME], not [[Path]]
	Doc    string // one sentence
	Fields []Key  // Path is the field's name; Env and Flag are empty
}

// Header returns the line that begins such a table.
func (t Table) Header() string {
	if t.Named {
		return "[" + t.Path + ".NAME]"
	}
	return "[[" + t.Path + "]]"
}

// Tables returns every table of which the file may hold any number.
func Tables() []Table {
	var list []Table
	for _, k := range kinds(new(Config), "") {
		list = append(list, k.Table)
	}
	return list
}

// Entry is what every such table has besides its fields. Its struct embeds it.
type Entry struct {
	Name  string // NAME, or "" in a list
	Where string // FILE:LINE
}

func (e *Entry) entry() *Entry { return e }

// kind is a Table bound to a field of a Config.
type kind struct {
	Table

	// begin makes an entry with every field at its default. The rows write to it; add appends it to the field.
	begin func(Entry) (rows []row, add func())
}

// anEntry is a struct that embeds Entry.
type anEntry[T any] interface {
	*T
	entry() *Entry
}

// list declares [[path]]. fields declares the fields of one entry, as table declares keys.
func list[T any, P anEntry[T]](p *[]T, path, doc string, fields func(*T) []row) kind {
	return newKind[T, P](p, Table{Path: path, Doc: doc}, fields)
}

// named declares [path.NAME].
func named[T any, P anEntry[T]](p *[]T, path, doc string, fields func(*T) []row) kind {
	return newKind[T, P](p, Table{Path: path, Doc: doc, Named: true}, fields)
}

func newKind[T any, P anEntry[T]](p *[]T, t Table, fields func(*T) []row) kind {
	*p = nil
	for _, r := range fields(new(T)) {
		r.Env = "" // newRow has set it
		t.Fields = append(t.Fields, r.Key)
	}
	return kind{t, func(e Entry) ([]row, func()) {
		v := new(T)
		*P(v).entry() = e
		return fields(v), func() { *p = append(*p, *v) }
	}}
}
