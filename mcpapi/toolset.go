package mcpapi

import "slices"

// A toolset is a group of tools that an operator offers, or does not.
type toolset struct {
	name  string
	tools []*tool
}

var toolsets = []toolset{
	{"core", []*tool{&sessionTool, &execTool, &ioTool, &configTool}},
	{"local", []*tool{&runTool}},
	{"fs", []*tool{&fsTool}},
	{"health", []*tool{&healthTool}},
}

// Toolsets are the names that Options.Toolsets may hold.
func Toolsets() []string {
	names := make([]string, len(toolsets))
	for i, s := range toolsets {
		names[i] = s.name
	}
	return names
}

// toolsOf returns the tools of the sets named, or of all, in the order of the table.
func toolsOf(names []string) []*tool {
	var list []*tool
	for _, s := range toolsets {
		if len(names) == 0 || slices.Contains(names, s.name) {
			list = append(list, s.tools...)
		}
	}
	return list
}

// tools are all tools.
func tools() []*tool { return toolsOf(nil) }
