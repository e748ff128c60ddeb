package config

import (
	"fmt"
	"strings"
)

// Example returns a TOML file that sets every key to its default and explains it.
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
	return b.String()
}
