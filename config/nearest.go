package config

import (
	"slices"
	"strings"

	"ptyctl/internal/nearest"
)

// advise suggests how to correct an unknown key.
func (l *loader) advise(path string) string {
	var paths []string
	for _, r := range l.rows {
		paths = append(paths, r.Path)
	}
	// The most common mistake is the right name in the wrong table.
	_, name := cutTable(path)
	for _, p := range paths {
		if _, n := cutTable(p); n == name {
			return "did you mean " + p + "?"
		}
	}
	headers := slices.Clone(paths)
	for _, k := range l.kinds {
		paths, headers = append(paths, k.Path), append(headers, k.Header())
	}
	if i := similar(path, paths); i >= 0 {
		return "did you mean " + headers[i] + "?"
	}
	paths = paths[:len(l.rows)]
	table, _ := cutTable(path)
	var siblings []string
	for _, p := range paths {
		if t, n := cutTable(p); t == table {
			siblings = append(siblings, n)
		}
	}
	if len(siblings) == 0 {
		return "remove it, or put it in one of the tables " + strings.Join(l.tables(), ", ")
	}
	return "remove it, or use a key of [" + table + "]: " + strings.Join(siblings, ", ")
}

// adviseTable suggests how to correct an unknown table.
func (l *loader) adviseTable(path string) string {
	tables := l.tables()
	paths, headers := slices.Clone(tables), make([]string, len(tables))
	for i, t := range tables {
		headers[i] = "[" + t + "]"
	}
	parent, name := cutTable(path)
	for _, k := range l.kinds {
		p := k.Path
		if k.Named && parent != "" {
			p += "." + name
		}
		paths, headers = append(paths, p), append(headers, k.Header())
		tables = append(tables, k.Header())
	}
	if i := similar(path, paths); i >= 0 {
		return "did you mean " + headers[i] + "?"
	}
	return "remove it; the tables are " + strings.Join(tables, ", ")
}

// tables returns the tables that hold keys, in the order of the rows.
func (l *loader) tables() []string {
	var tables []string
	for _, r := range l.rows {
		if t, _ := cutTable(r.Path); !slices.Contains(tables, t) {
			tables = append(tables, t)
		}
	}
	return tables
}

// cutTable splits a path before its last part.
func cutTable(path string) (table, name string) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// similar returns the index of the candidate that is most similar to name, or -1 if none is similar.
func similar(name string, candidates []string) int {
	const longest = 80 // a longer name is no typing error and slow to compare
	if len(name) > longest {
		return -1
	}
	return nearest.In(candidates, name, max(2, len(name)/3), nearest.Words)
}
