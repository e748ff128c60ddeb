// Package demo shows ptyctl at work on this machine: an SSH server inside this process, and this program as its own MCP
// server, called through an MCP client.
//
//	err := demo.Run(ctx, os.Stdout, "v1.2.3")
//
// Promises:
//   - Every step checks its result, and the first that is not as expected is the error.
//   - It needs no network, no configuration and no key, and leaves no file behind.
//   - Its password is random and never printed.
package demo
