package plan_test

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx"
	"ptyctl/term"
)

// TestCallersTrustStore checks the effect of a known_hosts file named by a
// caller: it adds to the operator's record and removes no revocation, and it is
// written only if the operator lets callers name files.
func TestCallersTrustStore(t *testing.T) {
	srv, err := sshserver.Listen(sshserver.Config{NoAuth: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	_, other, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	unrecorded, err := ssh.NewSignerFromKey(other)
	if err != nil {
		t.Fatal(err)
	}
	right := srv.KnownHostsLine() + "\n"
	name := strings.Fields(right)[0]
	wrong := name + " " + string(ssh.MarshalAuthorizedKey(unrecorded.PublicKey()))
	key := string(ssh.MarshalAuthorizedKey(srv.HostKey()))
	revokedList := file("revoked", key)
	for _, c := range []struct {
		name     string
		operator string // known_hosts
		config   string // ssh_config of the operator
		caller   string // known_hosts
		o        term.SSHOptions
		paths    []string
		want     term.Kind
	}{
		{name: "the caller adds", caller: right, want: ""},
		{name: "nobody knows", want: term.HostKeyUnknown},
		{name: "the operator knows", operator: right, want: ""},
		{name: "the operator contradicts", operator: wrong, want: term.HostKeyMismatch},
		{name: "the operator has revoked", operator: "@revoked * " + key, caller: right, want: term.HostKeyRevoked},
		{name: "revoked by the operator's list, no config", config: "RevokedHostKeys " + revokedList + "\n", caller: right, o: term.SSHOptions{NoConfig: true}, want: term.HostKeyRevoked},
		{name: "revoked by the operator's list, other config", config: "RevokedHostKeys " + revokedList + "\n", caller: right, o: term.SSHOptions{ConfigPath: file("empty", "")}, want: term.HostKeyRevoked},
		{name: "nothing is written", o: term.SSHOptions{HostKeyPolicy: "accept_new"}, want: term.HostKeyUnknown},
		{name: "written where the operator allows", o: term.SSHOptions{HostKeyPolicy: "accept_new"}, paths: []string{dir}, want: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := file("callers", c.caller)
			o := c.o
			o.KnownHostsPath = store
			client, err := sshx.Dial(
				t.Context(),
				term.Target{Host: "127.0.0.1", Port: srv.Port(), User: "u", SSH: o},
				sshx.Options{
					HomeDir: t.TempDir(), KnownHostsPath: file("operators", c.operator),
					ConfigPath: file("config", c.config), CallerPaths: c.paths, IdentityAgent: "none",
				},
				nil,
			)
			if err == nil {
				_ = client.Close()
			}
			if term.KindOf(err) != c.want {
				t.Errorf("%v, want %q", err, c.want)
			}
			text, readErr := os.ReadFile(store)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if written := string(text) != c.caller; written != (c.paths != nil) {
				t.Errorf("the caller's file was written: %t", written)
			}
		})
	}
}
