package lab

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
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/leaktest"
)

// A Key is a key pair of a host or a user.
type Key struct {
	ssh.Signer
	private crypto.PrivateKey
	PEM     string // as ssh-keygen(1) writes it, not encrypted
}

// NewKey makes a key of type "ed25519", "ecdsa" or "rsa".
func NewKey(tb testing.TB, typ string) Key {
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
	return Key{signer, private, leaktest.Key(tb, string(pem.EncodeToMemory(block)))}
}

// Encrypted returns the private key as ssh-keygen(1) writes it, encrypted.
func (k Key) Encrypted(tb testing.TB, passphrase string) string {
	tb.Helper()
	block, err := ssh.MarshalPrivateKeyWithPassphrase(k.private, "", []byte(passphrase))
	if err != nil {
		tb.Fatal(err)
	}
	return leaktest.Key(tb, string(pem.EncodeToMemory(block)))
}

// Write stores the private key in dir and returns its path.
func (k Key) Write(tb testing.TB, dir, name string) string {
	tb.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(k.PEM), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// Public is the public key as authorized_keys and known_hosts files hold it: type and base64, without a line end.
func (k Key) Public() string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k.PublicKey())))
}

// Fingerprint is the SHA-256 fingerprint of the public key, as ssh-keygen(1) shows it.
func (k Key) Fingerprint() string { return ssh.FingerprintSHA256(k.PublicKey()) }

// PrivateKeyLine returns a line from the middle of a private key in PEM, which must never appear in an output.
func PrivateKeyLine(pem string) string {
	lines := strings.Split(pem, "\n")
	return lines[len(lines)/2]
}

// Authorized returns the public half as a line of authorized_keys, or of a .pub file.
func (k Key) Authorized() string { return string(ssh.MarshalAuthorizedKey(k.PublicKey())) }

// Certify returns a certificate for key, in the format of a .pub file.
func (k Key) Certify(tb testing.TB, key Key, kind uint32, principal string, from, to time.Time) string {
	tb.Helper()
	c := &ssh.Certificate{
		Key: key.PublicKey(), CertType: kind, KeyId: "lab", ValidPrincipals: []string{principal},
		ValidAfter: uint64(from.Unix()), ValidBefore: uint64(to.Unix()),
		Permissions: ssh.Permissions{Extensions: map[string]string{"permit-pty": ""}},
	}
	if kind == ssh.HostCert {
		c.Permissions = ssh.Permissions{}
	}
	if err := c.SignCert(rand.Reader, k); err != nil {
		tb.Fatal(err)
	}
	return string(ssh.MarshalAuthorizedKey(c))
}
