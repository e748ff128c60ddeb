// Package servers measures other MCP servers for SSH beside ptyctl, each at the same OpenSSH server: docs/comparison.md
// has the table. The test has the tag servers, because it installs those servers: task bench:servers runs it.
package servers
