// Package files has the tool for files, ptyctl_fs: it is declared in tool.go, where a field is one line of a struct, and
// carried out in do.go and do_copy.go.
//
//	srv := mcpapi.NewServer(mcpapi.Options{Sessions: manager}) // offers files.Tool if the manager has files
//
// It reaches files through a toolset.Call alone.
package files
