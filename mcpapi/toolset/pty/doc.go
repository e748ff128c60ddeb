// Package pty is the set of tools pty: the five tools by which models know the PTY MCP server and opencode-pty, over the
// sessions of ptyctl.
//
//	srv := mcpapi.NewServer(mcpapi.Options{
//		Sessions: manager, Toolsets: []string{"pty"}, More: []mcpapi.Toolset{pty.Toolset(pty.Options{})}, Local: []string{"stdio"},
//	})
//
// It keeps no terminal of its own: what pty_spawn starts is an ordinary local session, under the operator's rules, on
// record, and seen by all other tools. What it adds is their words and forms:
//
//	pty_spawn   spawn.go   a program on a terminal, under an id of eight hexadecimal digits
//	pty_read    read.go    numbered lines, page by page or by a pattern
//	pty_write   write.go   text with its escapes (\n, \x03) put right, see escape.go
//	pty_list    list.go    the programs, until they are cleaned up
//	pty_kill    kill.go    the end of one
//
// The results are text in the form of those servers, byte for byte where they document it. Where they show a program's
// output as it came, this shows clean text: docs/toolsets.md lists the differences.
package pty
