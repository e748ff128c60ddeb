// Command ptyctl gives AI agents, and the engineers who run them, real terminals over SSH, Telnet and on their
// own machine: it is an MCP server.
//
//	ptyctl mcp --transport stdio     what an MCP client starts
//	ptyctl daemon status|stop|reload  the process that keeps the sessions of ptyctl mcp --daemon
//	ptyctl config check|show         the errors in the configuration; the source of each value
//	ptyctl explain HOST              how a host would be reached
//	ptyctl setup [CLIENT]            an MCP client's own file, so that the client starts ptyctl
//	ptyctl doctor [HOST]             why something does not work, step by step
//	ptyctl demo                      the whole of it, shown on this machine
//	ptyctl profiles                  the device families that it knows
//	ptyctl audit verify              whether an audit log, or a recording that it knows, was tampered with
//	ptyctl recordings | replay       recordings of sessions: listed, searched, exported, shown
//	ptyctl tokens add|list|revoke    the tokens of the HTTP transport
//	ptyctl policy check -- COMMAND   the verdict of the operator's rules on a command
//	ptyctl policy test FILE          a comparison of the rules' verdicts with a file of expected ones
//	ptyctl version
//	ptyctl verify FILE               whether a file of a release is what the maintainer has signed
//	ptyctl sessions | status | tail | screenshot | watch | attach | bridge | answer | reopen | call
//	                       watch a running one, and step in
//	ptyctl fleet hosts EXPRESSION  the hosts that it means
//	ptyctl open | exec     a terminal or a command on a host, as an agent has it
//	ptyctl forward HOST TO connections to an address that a host reaches
//	ptyctl fleet run|diff  a command on many hosts
//
// As an MCP server it reads its configuration again on SIGHUP. It exits with status 0 when its client has closed the
// input or on a signal to stop, with 1 after a failure, and with 2 after a wrong command line; exec and open pass on
// the status of the remote command (failure.go). An answer that the client did not accept is a failure.
package main

import (
	"os"

	"ptyctl/internal/commands"
)

// release is set by the build of a release: -ldflags "-X main.release=v1.2.3".
var release string

func main() {
	os.Exit(commands.Main(commands.Program{Name: "ptyctl", Usage: "real terminals for AI agents, over MCP", Release: release}))
}
