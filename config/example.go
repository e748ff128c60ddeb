package config

import (
	"cmp"
	"fmt"
	"strings"
)

// Example returns a TOML file that sets every key to its default and explains it. Tables
// that may repeat are shown in comments.
func Example() string {
	var b strings.Builder
	b.WriteString(`# The configuration of ptyctl. Every key is shown with its default; keep only
# what you change. Environment variables count more than this file, and flags
# count more than both. Paths are absolute or begin with ~/.
`)
	current := ""
	for _, k := range Keys() {
		table, name := cutTable(k.Path)
		if table != current {
			fmt.Fprintf(&b, "\n[%s]\n", table)
			current = table
		} else {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "# %s\n# Give %s. Environment: %s.", k.Doc, k.Form, k.Env)
		if k.Flag.Name != "" {
			fmt.Fprintf(&b, " Flag: --%s.", k.Flag.Name)
		}
		fmt.Fprintf(&b, "\n%s = %s\n", name, k.Default)
	}
	for _, t := range Tables() {
		fmt.Fprintf(
			&b,
			"\n# %s\n# This table may be repeated; there is none by default.\n# %s\n",
			t.Doc,
			t.headerOf("example"),
		)
		for _, f := range t.Fields {
			fmt.Fprintf(&b, "#\n# # %s\n# # Give %s.\n# %s = %s\n", f.Doc, f.Form, f.Path, cmp.Or(f.Example, f.Default))
		}
	}
	return b.String()
}
