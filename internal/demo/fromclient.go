package demo

import "io"

// FromClient prints how a person tries the demonstration from a client.
func FromClient(out io.Writer) error {
	_, err := io.WriteString(out, `From an MCP client, for example Claude Code, Codex or Cursor:

  ptyctl setup claude-code            shows the change of its file, and writes it after a yes
  ptyctl setup --check claude-code    starts what the client will start

Start the client again, and ask it, with a host that your ssh_config knows:

  Use ptyctl to run "uptime" on HOST, and tell me its exit code.
  Open a terminal on HOST, start top, and tell me what uses the processor. Then leave it.
  Run "sleep 90; echo done" on HOST without starting it twice, and tell me when it has ended.
  Log in to HOST; if it asks for a code, ask me.

While it works, in another window:

  ptyctl sessions                     the open sessions
  ptyctl watch                        all terminals in a browser
`)
	return err
}
