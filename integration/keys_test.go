package integration

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/leaktest"
)

// A key is a key pair of a host or a user.
type key struct {
	ssh.Signer
	private crypto.PrivateKey
	pem     string // as ssh-keygen(1) writes it, not encrypted
}

// newKey makes a key of type "ed25519", "ecdsa" or "rsa".
func newKey(tb testing.TB, typ string) key {
	tb.Helper()
	var private crypto.PrivateKey
	var err error
	switch typ {
	case "ed25519":
		_, private, err = ed25519.GenerateKey(nil)
	case "ecdsa":
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "rsa":
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	default:
		tb.Fatalf("newKey does not know the type %q", typ)
	}
	if err != nil {
		tb.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		tb.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		tb.Fatal(err)
	}
	return key{signer, private, leaktest.Key(tb, string(pem.EncodeToMemory(block)))}
}

// encrypted returns the private key as ssh-keygen(1) writes it, encrypted.
func (k key) encrypted(tb testing.TB, passphrase string) string {
	tb.Helper()
	block, err := ssh.MarshalPrivateKeyWithPassphrase(k.private, "", []byte(passphrase))
	if err != nil {
		tb.Fatal(err)
	}
	return leaktest.Key(tb, string(pem.EncodeToMemory(block)))
}

// write stores the private key in dir and returns its path.
func (k key) write(tb testing.TB, dir, name string) string {
	tb.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(k.pem), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// public is the public key as authorized_keys and known_hosts files hold it: type and base64, without a line end.
func (k key) public() string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k.PublicKey())))
}

func (k key) fingerprint() string { return ssh.FingerprintSHA256(k.PublicKey()) }

// secret returns a line from the middle of a private key in PEM: what must never be seen again.
func secret(pem string) string {
	lines := strings.Split(pem, "\n")
	return lines[len(lines)/2]
}
