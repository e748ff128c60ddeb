// Package integration tests the program as its users meet it: the built binary, started as an MCP client starts it,
// against the OpenSSH server that the system ships. It holds tests only.
//
//	scripts/install-test-deps                      # sshd, Node.js, ..., and a C compiler for the race detector
//	go test -race -count=1 ./integration
//
// Each test starts its own sshd on a free port of the loopback address, with a host key, a user key and a login
// environment of its own, and lets in the user that runs the tests, root or not; and its own ptyctl with a home folder
// of its own. Servers that misbehave, or ask for passwords, come from internal/sshserver.
//
// The tests of Telnet (telnet_*_test.go) start the Telnet servers of the system's packages likewise: each starter returns
// a telnetServer, which says how to reach it and how to log in.
//
// Others judge how it speaks MCP: the official conformance suite, the official clients for TypeScript and Go, and the
// Inspector. What is not in Go comes from npm (node/package-lock.json), and runs on a Node.js that comes with it.
//
// What holds for every ptyctl that a test has started, and is checked when it ends:
//
//   - it ends with status 0 when its input ends, and leaves no process behind;
//   - each line that it wrote to stdout is one JSON-RPC message, although it logs at debug level;
//   - no secret that it was given is in its output, its log or its audit log, nor is any other test's (package leaktest);
//   - the chain of its audit log is whole, and no line of it was lost;
//   - if the tests run under the race detector, so does it, and found nothing.
//
// The tests look at processes through proc(5), so they run on Linux. None of them skips: one that lacks something says
// how to get it, and fails.
package integration
