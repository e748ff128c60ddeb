package auth_test

import (
	"crypto/ed25519"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx"
	"ptyctl/term"
)

// TestAddKeysToAgent checks that the file key of a login is added to the agent if
// the configuration says so, and only then.
func TestAddKeysToAgent(t *testing.T) {
	pub, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "id")
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	srv, err := sshserver.Listen(sshserver.Config{AuthorizedKeys: []ssh.PublicKey{key}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	for setting, want := range map[string]int{"no": 0, "yes": 1, "ask": 0, "caller": 0} { // without a person to say yes
		socket := serveAgent(t)
		config := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(config, []byte("AddKeysToAgent "+setting+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		target := term.Target{Host: "127.0.0.1", Port: srv.Port(), User: "u", SSH: term.SSHOptions{
			HostKeyPolicy: "accept_new", ExtraArgs: []string{"-i", file, "-o", "IdentityAgent=" + socket},
		}}
		if setting == "caller" { // a caller must not change the operator's agent
			target.SSH.NoConfig, target.SSH.ExtraArgs = true, append(target.SSH.ExtraArgs, "-o", "AddKeysToAgent=yes")
		}
		c, err := sshx.Dial(t.Context(), target, sshx.Options{HomeDir: t.TempDir(), ConfigPath: config}, nil)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := agent.NewClient(conn).List()
		if err != nil || len(keys) != want {
			t.Errorf("AddKeysToAgent %s: the agent has %d keys, %v", setting, len(keys), err)
		}
		_, _ = conn.Close(), c.Close()
	}
}
