package config

import (
	"slices"
	"strings"
)

// A Change is a key whose value differs between two configurations.
type Change struct {
	Key      string
	Old, New string // as in Setting
	Live     bool   // a running server can take it over
}

// Changes compares c with the configuration that is to follow it. A secret that is another one is a change like any
// other, though both are shown alike.
func (c Config) Changes(next Config) []Change {
	var changes []Change
	for _, k := range Keys() {
		old, new := c.field(k.Path), next.field(k.Path)
		if !same(k.Type, old, new) {
			changes = append(changes, Change{k.Path, tomlText(old), tomlText(new), k.Live()})
		}
	}
	for _, t := range Tables() {
		old, new := c.field(t.Path), next.field(t.Path)
		if !sameEntries(t, old, new) {
			changes = append(changes, Change{t.Path, entriesText(t, old), entriesText(t, new), t.Live()})
		}
	}
	return changes
}

// live are the tables that a running server takes over, for sessions opened from then on. Everything else is part of what
// was built when it started: buffers, limits, listeners, the list of tools.
var live = []string{"ssh", "telnet", "logging"}

// Live reports whether a running server takes over a new value of the key.
func (k Key) Live() bool { return isLive(k.Path) }

// Live reports whether a running server takes over such tables.
func (t Table) Live() bool { return isLive(t.Path) }

func isLive(path string) bool {
	table, _, _ := strings.Cut(path, ".")
	return slices.Contains(live, table)
}
