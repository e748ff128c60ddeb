// Package lab starts the parts that tests of the built program need: the program itself, the servers that it talks to,
// and the clients and people that talk to it. Everything that it starts listens on the loopback address, and ends with
// the test.
//
//	func TestMain(m *testing.M) { os.Exit(lab.Main(m, nil)) }
//
//	func TestExec(t *testing.T) {
//		s := lab.StartSSHD(t)
//		c := lab.HomeFor(t, []*lab.SSHD{s}).Connect(t)
//		id := c.Open(t, s)
//		r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"id"}`, id)
//		...
//	}
//
// The servers: StartSSHD is OpenSSH for the user that runs the tests; StartNamespace and StartShells are OpenSSH and
// Dropbear with users, passwords and shells of their own, in a namespace, which takes root; StartInetutils and the
// other starters of a TelnetServer are the Telnet servers of the system's packages; ServeSSH, from internal/sshserver,
// misbehaves on request; Listen answers as the test likes.
//
// The clients: a Home is one user of ptyctl, with a folder, a configuration, an audit log and an environment of its
// own. A Program is a ptyctl that it has started, a Client is the official SDK for Go at that program, a Conversation
// sends lines of text instead, and a Person sits at a terminal. An Operator uses the transports and the engine without
// the program.
//
// The following holds for every Program, and is checked when it ends:
//
//   - it ends with status 0 when its input ends, and leaves no process behind;
//   - each line that it wrote to stdout is one JSON-RPC message, although it logs at debug level;
//   - no secret that it was given is in its output, its log or its audit log, nor is any other test's (leaktest);
//   - the chain of its audit log is whole, and no line of it was lost;
//   - if the tests run under the race detector, so does it, and found nothing.
//
// Main builds the program. Packages share it, so that a run of all tests links it once.
//
// The lab looks at processes through proc(5), so it runs on Linux. Nothing is skipped: a test that lacks something
// says how to get it, and fails. scripts/install-test-deps installs all of it.
package lab
