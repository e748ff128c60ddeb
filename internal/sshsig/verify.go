package sshsig

import (
	"bytes"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Errors of Verify that callers tell apart.
var (
	// ErrOtherKey means that the signature was made by a key that the caller does not trust.
	ErrOtherKey = errors.New("signed by another key")
	// ErrMismatch means that the message is not the one that was signed.
	ErrMismatch = errors.New("the signature does not match")
)

// leastRSA is the length in bits of the shortest RSA key that is accepted.
const leastRSA = 2048

// Verify checks the armored signature of a message in a namespace, and returns the key of keys that has made it.
func Verify(text []byte, namespace string, message []byte, keys []ssh.PublicKey) (ssh.PublicKey, error) {
	b, err := decode(text)
	if err != nil {
		return nil, err
	}
	key, err := ssh.ParsePublicKey(b.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("the key in the SSH signature cannot be read: %w", err)
	}
	if err := usable(key); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(keys, func(k ssh.PublicKey) bool { return bytes.Equal(k.Marshal(), key.Marshal()) }) {
		return nil, fmt.Errorf("%w: by %s, want %s", ErrOtherKey, describe(key), describeAll(keys))
	}
	if b.Namespace != namespace {
		return nil, fmt.Errorf("it is signed for the namespace %q, want %q", b.Namespace, namespace)
	}
	var signature ssh.Signature
	if err := ssh.Unmarshal(b.Signature, &signature); err != nil {
		return nil, fmt.Errorf("the SSH signature is damaged: %w", err)
	}
	if err := allowed(key, &signature); err != nil {
		return nil, err
	}
	data, err := b.signedData(message)
	if err != nil {
		return nil, err
	}
	if err := key.Verify(data, &signature); err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrMismatch, err)
	}
	return key, nil
}

// usable refuses keys that PROTOCOL.sshsig or OpenSSH's defaults do not take.
func usable(key ssh.PublicKey) error {
	switch key.Type() {
	case ssh.KeyAlgoED25519, ssh.KeyAlgoSKED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKECDSA256:
		return nil
	case ssh.KeyAlgoRSA:
		c, ok := key.(ssh.CryptoPublicKey)
		if !ok {
			return errors.New("the RSA key cannot be read")
		}
		if k, ok := c.CryptoPublicKey().(*rsa.PublicKey); !ok || k.N.BitLen() < leastRSA {
			return fmt.Errorf("the RSA key %s is too short: want %d bits", ssh.FingerprintSHA256(key), leastRSA)
		}
		return nil
	}
	return fmt.Errorf("keys of type %s are not taken: want ed25519, ECDSA, RSA or a security key's", key.Type())
}

// userPresent is the flag of a security key that a person has touched it (PROTOCOL.u2f).
const userPresent = 1

// allowed refuses ssh-rsa, which hashes with SHA-1, and signatures of a security key without a touch.
func allowed(key ssh.PublicKey, s *ssh.Signature) error {
	if key.Type() == ssh.KeyAlgoRSA && s.Format != ssh.KeyAlgoRSASHA512 && s.Format != ssh.KeyAlgoRSASHA256 {
		return fmt.Errorf("the RSA key has signed as %s: want rsa-sha2-512 or rsa-sha2-256", s.Format)
	}
	if strings.HasPrefix(key.Type(), "sk-") && (len(s.Rest) == 0 || s.Rest[0]&userPresent == 0) {
		return errors.New("the security key has signed without a touch")
	}
	return nil
}

func describe(key ssh.PublicKey) string { return key.Type() + " " + ssh.FingerprintSHA256(key) }

func describeAll(keys []ssh.PublicKey) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = describe(k)
	}
	return strings.Join(names, " or ")
}
