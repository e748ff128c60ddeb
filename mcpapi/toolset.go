package mcpapi

import (
	"fmt"
	"slices"
	"strings"
)

// A Toolset is a group of tools that an operator offers, or does not.
type Toolset struct {
	Name         string
	Tools        []*Tool
	Instructions string // for the model: how the tools work together

	// Fail is the form that failures take where the contract of the tools is that of another program. Nil: ours.
	Fail    func(error) Answer
	Failure any // the struct of that form, see Bind
}

// asks reports whether a call can have the person at the client asked. The contract of another program has no such
// results.
func (s *Toolset) asks() bool { return s.Fail == nil }

// failure is the struct of a failure.
func (s *Toolset) failure() any {
	if s.Fail == nil {
		return failure{}
	}
	return s.Failure
}

// ownSets are the sets of this package, which are offered unless others are named.
var ownSets = []Toolset{
	{Name: "core", Tools: []*Tool{sessionTool, execTool, ioTool, configTool}, Instructions: instructions},
	{Name: "local", Tools: []*Tool{runTool}},
	{Name: "fs", Tools: []*Tool{fsTool}},
	{Name: "health", Tools: []*Tool{healthTool}},
}

// CheckToolsets refuses names that no set has, and sets that have a tool of the same name.
func CheckToolsets(names []string, more []Toolset) error {
	all := slices.Concat(ownSets, more)
	owner := make(map[string]string) // set, by tool
	for _, name := range names {
		i := slices.IndexFunc(all, func(s Toolset) bool { return s.Name == name })
		if i < 0 {
			known := make([]string, len(all))
			for i := range all {
				known[i] = all[i].Name
			}
			return fmt.Errorf(
				"there is no set of tools %q (server.toolsets, --toolsets); give one or more of %s, or none for %s",
				name,
				strings.Join(known, ", "),
				strings.Join(known[:len(ownSets)], ", "),
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
	return nil
}

// setsOf returns the sets named, or this package's own, in the order of the tables.
func setsOf(names []string, more []Toolset) []Toolset {
	if len(names) == 0 {
		return ownSets
	}
	return slices.DeleteFunc(slices.Concat(ownSets, more), func(s Toolset) bool { return !slices.Contains(names, s.Name) })
}

// tools are this package's own.
func tools() (list []*Tool) {
	for _, s := range ownSets {
		list = append(list, s.Tools...)
	}
	return list
}
