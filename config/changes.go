package config

import (
	"slices"
	"strings"
)

// A Change is a key with different values in two configurations.
type Change struct {
	Key      string
	Old, New string // formatted as in Setting
	Live     bool   // a running server can apply it
}

// Changes returns the keys that have other values in next. A changed secret is a change,
// too, although both values are shown as "[redacted]".
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

// live are the tables that a running server can change: the rules, tokens and groups at once, the rest for
// sessions opened afterwards. All others configure objects that are built at the start: buffers, limits,
// listeners, the list of tools.
var live = []string{"ssh", "telnet", "serial", "policy", "logging", "secret", "groups"}

// liveKeys are those of other tables.
var liveKeys = []string{
	"server.http.auth_token", "server.http.tokens", "server.http.tokens_file", "fleet.inventories", "fleet.genders",
}

// Live reports whether a running server applies a new value of the key.
func (k Key) Live() bool { return isLive(k.Path) }

// Live reports whether a running server applies new entries of the table.
func (t Table) Live() bool { return isLive(t.Path) }

// isLive reports whether a path is one of the live tables or below one.
func isLive(path string) bool {
	table, _, _ := strings.Cut(path, ".")
	return slices.Contains(live, table) || slices.Contains(liveKeys, path)
}
