// Package cliadvice has the words of the command line for the engine's errors: the next step of a person at a shell, by
// reason, in flags and commands of ptyctl. It is the counterpart of mcpapi/wire/advice.go, which speaks to agents.
//
//	text := cliadvice.Message(e) // "alice@web1: no host key is on record ...; ... give --host-key ask"
//
// Promises:
//   - No advice names a tool or an argument of a tool.
//   - Every flag and every command that an advice names exists.
package cliadvice
