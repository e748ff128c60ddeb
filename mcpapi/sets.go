package mcpapi

import (
	"fmt"
	"slices"
	"strings"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/tools"
	"ptyctl/mcpapi/toolset"
)

// CheckToolsets refuses names that no set has, and sets that have a tool of the same name.
func CheckToolsets(names []string, more []toolset.Set) error {
	own := tools.Sets()
	all := slices.Concat(own, tools.Optional(), more)
	owner := make(map[string]string) // set, by tool
	for _, name := range names {
		i := slices.IndexFunc(all, func(s toolset.Set) bool { return s.Name == name })
		if i < 0 {
			known := make([]string, len(all))
			for i := range all {
				known[i] = all[i].Name
			}
			return fmt.Errorf(
				"there is no set of tools %q (server.toolsets, --toolsets); give one or more of %s, or none for %s",
				name,
				strings.Join(known, ", "),
				strings.Join(known[:len(own)], ", "),
			)
		}
		for _, t := range all[i].Tools {
			if other := owner[t.Name]; other != "" && other != name {
				return fmt.Errorf("the sets of tools %s and %s both have a tool %s (server.toolsets, --toolsets); "+
					"offer one of them, and the other from a second ptyctl", other, name, t.Name)
			}
			owner[t.Name] = name
		}
	}
	if len(names) > 0 && len(owner) == 0 {
		return fmt.Errorf("the set %s has no tools of its own: it adds to those of core (server.toolsets, --toolsets); "+
			"name core, too", strings.Join(names, ", "))
	}
	return nil
}

// setsOf returns the sets named, or this package's own, in the order of the tables.
func setsOf(names []string, more []toolset.Set) []toolset.Set {
	if len(names) == 0 {
		return tools.Sets()
	}
	unnamed := func(s toolset.Set) bool { return !slices.Contains(names, s.Name) }
	return slices.DeleteFunc(slices.Concat(tools.Sets(), tools.Optional(), more), unnamed)
}

// partOf is the table of a tool where these sets are offered. People at a command of ptyctl have the set for devices in
// any case.
func partOf(t *schema.Tool, sets []toolset.Set, who schema.Callers) *schema.Tool {
	return tools.Part(t, func(set string) bool {
		return set == tools.DeviceSet && who == schema.Operators ||
			slices.ContainsFunc(sets, func(s toolset.Set) bool { return s.Name == set })
	})
}

// Reference returns the reference of this program's own tools as a Markdown table.
func Reference() string {
	var tables []*schema.Tool
	for _, t := range tools.All() {
		tables = append(tables, partOf(t.Tool, nil, schema.Everyone))
	}
	return schema.Markdown(tables)
}
