package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"ptyctl/internal/releases"
)

// newKey has ssh-keygen make a key, encrypted if there is a passphrase.
func newKey(t *testing.T, kind, passphrase string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-f", file).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	return file
}

// startAgent serves an agent with a key on a socket.
func startAgent(t *testing.T, file, passphrase string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	private, err := ssh.ParseRawPrivateKey(text)
	if passphrase != "" {
		private, err = ssh.ParseRawPrivateKeyWithPassphrase(text, []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: private}); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "agent"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = agent.ServeAgent(ring, conn) // ends when the client has gone
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// TestSigned signs a folder with a file, and with an encrypted key in an agent, and has ssh-keygen and package releases
// check the signature.
func TestSigned(t *testing.T) {
	const passphrase = "words of the sums-1138"
	encrypted := newKey(t, "rsa", passphrase)
	plain := newKey(t, "ed25519", "")
	t.Setenv("SSH_AUTH_SOCK", startAgent(t, encrypted, passphrase))
	for _, c := range []struct{ given, public string }{{plain, plain + ".pub"}, {encrypted + ".pub", encrypted + ".pub"}} {
		dir := t.TempDir()
		for _, name := range []string{"a", "b/c"} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := run(t.Context(), []string{"-key", c.given}); err != nil {
			t.Errorf("a try of %s: %v", c.given, err)
		}
		if err := run(t.Context(), []string{"-key", c.given, dir}); err != nil {
			t.Fatalf("run with %s: %v", c.given, err)
		}
		public, err := os.ReadFile(c.public)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := releases.Keys(public)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := releases.Verify(filepath.Join(dir, "a"), "", keys); err != nil || r.Size != 2 {
			t.Errorf("Verify = %+v, %v", r, err)
		}
		signers := filepath.Join(t.TempDir(), "allowed_signers")
		if err := os.WriteFile(signers, append([]byte("release "), public...), 0o644); err != nil {
			t.Fatal(err)
		}
		sums, err := os.Open(filepath.Join(dir, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		defer sums.Close()
		cmd := exec.Command("ssh-keygen", "-Y", "verify", "-f", signers, "-I", "release", "-n", "ptyctl-release", "-s", filepath.Join(dir, "SHA256SUMS.sig"))
		cmd.Stdin = sums
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("ssh-keygen -Y verify: %v\n%s", err, out)
		}
		check := exec.Command("sha256sum", "-c", "--quiet", "SHA256SUMS")
		check.Dir = dir
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("sha256sum -c: %v\n%s", err, out)
		}
		// Made again without a key, the folder has no signature of another text.
		if err := run(t.Context(), []string{dir}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "SHA256SUMS.sig")); err == nil {
			t.Error("the signature is still there, which is of older sums")
		}
	}
}

func TestRefused(t *testing.T) {
	encrypted, plain, other := newKey(t, "ed25519", "words of the test-1138"), newKey(t, "ed25519", ""), newKey(t, "ed25519", "")
	socket := startAgent(t, other, "")
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no key\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, socket, want string
		args               []string
	}{
		{"an encrypted key", socket, "ssh-add", []string{"-key", encrypted, "."}},
		{"a public key without an agent", "", "SSH_AUTH_SOCK is not set", []string{"-key", plain + ".pub", "."}},
		{"a public key that the agent lacks", socket, "does not have the key SHA256:", []string{"-key", plain + ".pub", "."}},
		{"an agent that is gone", filepath.Join(t.TempDir(), "none"), "no such file", []string{"-key", plain + ".pub", "."}},
		{"no key", socket, "no public key", []string{"-key", text, "."}},
		{"an empty file", socket, "name a private key, or the .pub file", []string{"-key", os.DevNull, "."}},
		{"no file", socket, "no such file", []string{"-key", plain + "x", "."}},
		{"no folder", socket, "pass the folder", nil},
		{"an empty folder", socket, "has no file", []string{t.TempDir()}},
	} {
		t.Setenv("SSH_AUTH_SOCK", c.socket)
		if err := run(t.Context(), c.args); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "-1138") {
			t.Errorf("%s: run(%q) = %v, want an error with %q", c.name, c.args, err, c.want)
		}
	}
}
