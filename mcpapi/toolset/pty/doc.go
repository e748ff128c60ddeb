// Package pty offers the tool set "pty": the five tools of the PTY MCP server and of
// opencode-pty, which many models know, on the sessions of ptyctl.
//
//	srv := mcpapi.NewServer(mcpapi.Options{
//		Sessions: manager,
//		Toolsets: []string{"pty"},
//		More:     []toolset.Set{pty.Toolset(pty.Options{})},
//		Local:    []string{"stdio"},
//	})
//
// The package keeps no terminals of its own. pty_spawn opens an ordinary local session:
// the operator's rules apply to it, the audit log records it, and all other tools see it.
// The package adds the names and the output format of those servers:
//
//	pty_spawn   spawn.go   start a program on a terminal; its id ends in eight hexadecimal digits
//	pty_read    read.go    return numbered lines, by window or by pattern
//	pty_write   write.go   type text after its escapes (\n, \x03) are replaced, see escape.go
//	pty_list    list.go    list the programs that are not cleaned up yet
//	pty_kill    kill.go    end a program
//
// Results are text in the format of those servers, byte for byte where they document it.
// The output of programs is an exception: those servers show it unchanged, this package
// shows clean text. docs/toolsets.md lists the differences.
package pty
