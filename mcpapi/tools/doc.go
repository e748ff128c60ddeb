// Package tools has ptyctl's own tools. Each is declared in a file of its name (session.go), where a field is one line
// of a struct, and carried out in another (do_session.go).
//
//	srv := mcpapi.NewServer(mcpapi.Options{Sessions: manager}) // offers tools.Sets()
//
// They reach sessions through a toolset.Call alone, as the tools of others do.
package tools
