package auth

import (
	"errors"
	"strings"
	"testing"
)

// TestUnreadableKeys checks the messages for text that is not a usable private
// key.
func TestUnreadableKeys(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "empty",
		"  \n":                                "empty",
		"PuTTY-User-Key-File-3: ssh-ed25519":  "puttygen",
		"-----BEGIN ENCRYPTED PRIVATE KEY---": "PKCS#8",
		"-----BEGIN CERTIFICATE-----":         "certificate",
		"-----BEGIN PUBLIC KEY-----":          "public key",
		"ssh-ed25519 AAAA":                    "public key",
		"ecdsa-sha2-nistp256 AAAA":            "public key",
		"AAAA":                                "not a private key",
		"-----BEGIN DSA PRIVATE KEY-----":     "supported are",
	} {
		if got := unreadableKey([]byte(text), errors.New("why")); !strings.Contains(got, want) {
			t.Errorf("%q: %q lacks %q", text, got, want)
		}
	}
}
