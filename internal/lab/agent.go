package lab

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// StartAgent starts an ssh-agent(1) with keys, and returns its socket. It ends with the test.
func StartAgent(tb testing.TB, keys ...agent.AddedKey) (socket string) {
	tb.Helper()
	dir, err := os.MkdirTemp("", "agent") //nolint:usetesting // TempDir is too long for a socket
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	cmd := exec.Command("ssh-agent", "-D", "-a", socket)
	if err := cmd.Start(); err != nil {
		tb.Fatalf("%v: run scripts/install-test-deps", err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var conn net.Conn
	Eventually(tb, "the agent's socket", func() bool {
		conn, err = net.Dial("unix", socket)
		return err == nil
	})
	defer conn.Close()
	client := agent.NewClient(conn) // one alone: each reads all answers
	for _, k := range keys {
		if err := client.Add(k); err != nil {
			tb.Fatal(err)
		}
	}
	return socket
}

// Held returns the key in the form for an agent. certificate is the text of a .pub file; empty: the plain key.
func (k Key) Held(tb testing.TB, certificate string) agent.AddedKey {
	tb.Helper()
	held := agent.AddedKey{PrivateKey: k.private, Comment: "lab"}
	if certificate == "" {
		return held
	}
	pub, _, _, _, err := ssh.ParseAuthorizedKey([]byte(certificate))
	if err != nil {
		tb.Fatal(err)
	}
	held.Certificate = pub.(*ssh.Certificate)
	return held
}
