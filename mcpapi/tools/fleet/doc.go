// Package fleet has the tool for one command on many hosts, ptyctl_fleet: it is declared in tool.go, where a field is one
// line of a struct, and carried out in do.go. Its results are in out.go.
//
//	mcpapi.NewServer(mcpapi.Options{Toolsets: []string{"core", "fleet"}, Fleet: toolset.Fleet{Runs: runs}})
//
// It reaches runs and host names through a toolset.Call alone.
package fleet
