package config

// A Table describes a table that the file may repeat: an array of tables, for example
// [[policy.credential]], or named tables, for example [forward.NAME]. The environment and
// flags cannot add entries.
type Table struct {
	Path   string // for example "policy.credential"; of named tables, the part before the name
	Named  bool   // [Path.NAME], not [[Path]]
	Short  string // of named tables, the field that NAME = VALUE sets in [Path]; "": none
	Doc    string // one sentence
	Fields []Key  // Path is the field's name; Env and Flag are empty
}

// Header returns the line that begins an entry in the file.
func (t Table) Header() string {
	if t.Named {
		return "[" + t.Path + ".NAME]"
	}
	return "[[" + t.Path + "]]"
}

// Tables returns all tables that the file may repeat.
func Tables() []Table {
	var list []Table
	for _, k := range kinds(new(Config), "") {
		list = append(list, k.Table)
	}
	return list
}

// Entry is embedded in the struct of every such table.
type Entry struct {
	Name  string // NAME; "" in an array
	Where string // FILE:LINE
}

// entry gives generic code access to the embedded Entry.
func (e *Entry) entry() *Entry { return e }

// kind is a Table bound to a field of a Config.
type kind struct {
	Table

	// begin makes an entry with every field at its default, and rows that write to it. add
	// appends the entry to the field of the Config.
	begin func(Entry) (rows []row, add func())

	// For named tables with quoted names: valid reports whether a name is valid, and nameForm describes valid names.
	// nil: the names are bare keys.
	valid    func(name string) bool
	nameForm string
}

// anEntry is a pointer to a struct that embeds Entry.
type anEntry[T any] interface {
	*T
	entry() *Entry
}

// list declares [[path]]. fields declares the fields of one entry.
func list[T any, P anEntry[T]](p *[]T, path, doc string, fields func(*T) []row) kind {
	return newKind[T, P](p, Table{Path: path, Doc: doc}, fields)
}

// named declares [path.NAME].
func named[T any, P anEntry[T]](p *[]T, path, doc string, fields func(*T) []row) kind {
	return newKind[T, P](p, Table{Path: path, Doc: doc, Named: true}, fields)
}

// short allows NAME = VALUE in the table [Path], instead of a table of its own with that one field.
func (k kind) short(field string) kind { k.Short = field; return k }

// quoted allows names that need quotes in TOML.
func (k kind) quoted(valid func(name string) bool, form string) kind {
	k.valid, k.nameForm = valid, form
	return k
}

// newKind binds a table to the field p. Entries are created through it, so the loader
// needs no reflection.
func newKind[T any, P anEntry[T]](p *[]T, t Table, fields func(*T) []row) kind {
	*p = nil
	for _, r := range fields(new(T)) {
		r.Env = "" // newRow has set it
		t.Fields = append(t.Fields, r.Key)
	}
	return kind{Table: t, begin: func(e Entry) ([]row, func()) {
		v := new(T)
		*P(v).entry() = e
		return fields(v), func() { *p = append(*p, *v) }
	}}
}
