package lab

import (
	"os"
	"testing"
)

// RuntimeDir makes a runtime folder with a short name: the path of a socket has little room.
func RuntimeDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "run") //nolint:usetesting // TempDir's name has the test's in it
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// ReadWrite is the configuration that lets those who are attached type.
const ReadWrite = "[server.control]\ncontrol_mode = 'readwrite'"

// PlainShell starts a shell that shows nothing but its prompt and the output of its commands.
func (c *Client) PlainShell(tb testing.TB, id string) {
	tb.Helper()
	c.Enter(tb, id, "stty -echo; exec env PS1='$ ' sh\r", `[\r\n]\$ $`)
	c.Enter(tb, id, "echo rea''dy\r", `ready\n\$ $`)
}
