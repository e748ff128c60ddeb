package route

import (
	"bytes"
	"crypto/ecdh"
	"crypto/rand"
	"testing"
)

// TestSecrets: two nodes compute the same key, and no third one does; each direction, each name and each new key of a
// node has its own.
func TestSecrets(t *testing.T) {
	key := func() *ecdh.PrivateKey {
		k, err := ecdh.X25519().GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	a, b, c := key(), key(), key()
	of := func(s *secrets, entry, owner string, other *ecdh.PrivateKey) []byte {
		t.Helper()
		k, err := s.of(entry, owner, other.PublicKey().Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return k.key
	}
	atA, atB, atC := newSecrets(a, "a"), newSecrets(b, "b"), newSecrets(c, "c")
	call := of(atA, "a", "b", b)
	for range 2 { // the second time it is known
		if got := of(atB, "a", "b", a); !bytes.Equal(got, call) || len(call) != 32 {
			t.Errorf("a and b compute %x and %x", call, got)
		}
	}
	restarted := key()
	for what, other := range map[string][]byte{
		"the other direction":            of(atA, "b", "a", b),
		"another name":                   of(atA, "a", "b2", b),
		"a third node in b's name":       of(newSecrets(c, "b"), "a", "b", a),
		"a third node in a's name":       of(newSecrets(c, "a"), "a", "b", b),
		"a third node":                   of(atC, "c", "b", b),
		"b after a start with a new key": of(atA, "a", "b", restarted),
	} {
		if bytes.Equal(other, call) {
			t.Errorf("%s has the key of calls from a to b", what)
		}
	}
	if got := of(newSecrets(restarted, "b"), "a", "b", a); !bytes.Equal(got, of(atA, "a", "b", restarted)) {
		t.Error("after a start of b with a new key the two differ")
	}
	for what, public := range map[string][]byte{"no key": nil, "a short one": make([]byte, 31), "the point of order one": make([]byte, 32)} {
		if k, err := atA.of("a", "x", public); err == nil {
			t.Errorf("%s gives %x", what, k.key)
		}
	}
}
