package sshx_test

import (
	"crypto"
	"crypto/ed25519"
	_ "embed" // of a key
	"encoding/pem"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/leaktest"
)

// pemOf returns a private key in OpenSSH's format.
func pemOf(t *testing.T, key crypto.PrivateKey) string {
	t.Helper()
	b, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	return leaktest.Key(t, string(pem.EncodeToMemory(b)))
}

// newKey returns a new key and its PEM text.
func newKey(t *testing.T) (ssh.Signer, string) {
	t.Helper()
	key, s := rawKey(t)
	return s, pemOf(t, key)
}

//go:embed testdata/sealed_ed25519
var sealed []byte

// sealedKey returns a key and its PEM text, encrypted with the passphrase
// "sealed-1138". It was made by ssh-keygen -t ed25519 -a 1 to be fast: a key made
// here would need 16 rounds of bcrypt.
func sealedKey(t *testing.T) (ssh.Signer, string) {
	t.Helper()
	s, err := ssh.ParsePrivateKeyWithPassphrase(sealed, []byte("sealed-1138"))
	if err != nil {
		t.Fatal(err)
	}
	return s, leaktest.Key(t, string(sealed))
}

// signer returns a signer for a private key of package crypto.
func signer(t *testing.T, key any) ssh.Signer {
	t.Helper()
	s, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rawKey returns a new key in the form for an agent.
func rawKey(t *testing.T) (ed25519.PrivateKey, ssh.Signer) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key, signer(t, key)
}
