package sshtest

import (
	"crypto"
	"crypto/ed25519"
	_ "embed" // of a key
	"encoding/pem"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/leaktest"
)

// PEMOf returns a private key in OpenSSH's format.
func PEMOf(t *testing.T, key crypto.PrivateKey) string {
	t.Helper()
	b, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	return leaktest.Key(t, string(pem.EncodeToMemory(b)))
}

// NewKey returns a new key and its PEM text.
func NewKey(t *testing.T) (ssh.Signer, string) {
	t.Helper()
	key, s := RawKey(t)
	return s, PEMOf(t, key)
}

//go:embed testdata/sealed_ed25519
var sealed []byte

// SealedKey returns a key and its PEM text, encrypted with the passphrase
// "sealed-1138". It was made by ssh-keygen -t ed25519 -a 1 to be fast: a key made
// here would need 16 rounds of bcrypt.
func SealedKey(t *testing.T) (ssh.Signer, string) {
	t.Helper()
	s, err := ssh.ParsePrivateKeyWithPassphrase(sealed, []byte("sealed-1138"))
	if err != nil {
		t.Fatal(err)
	}
	return s, leaktest.Key(t, string(sealed))
}

// Signer returns a signer for a private key of package crypto.
func Signer(t *testing.T, key any) ssh.Signer {
	t.Helper()
	s, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// RawKey returns a new key in the form for an agent.
func RawKey(t *testing.T) (ed25519.PrivateKey, ssh.Signer) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key, Signer(t, key)
}
