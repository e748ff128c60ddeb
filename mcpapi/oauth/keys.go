package oauth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"slices"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"
)

// Bounds of a key set.
const (
	maxKeys = 100
	minBits = 2048 // of an RSA key
	maxBits = 8192 // one that is longer costs too much time for each request
)

// A key verifies signatures of one algorithm.
type key struct {
	id        string // "": no key id
	algorithm jose.SignatureAlgorithm
	public    any
}

// errNoKey is the error of a key set without a usable key.
var errNoKey = errors.New("the key set has no public key for RS256 (2048 bits or more), ES256 or EdDSA (Ed25519)")

// readKeys returns the usable keys of a JWK set (RFC 7517). Others in it are for other uses, and no mistake.
func readKeys(text []byte) ([]key, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, errors.New("the key set is no JSON object")
	}
	if len(set.Keys) > maxKeys {
		return nil, errors.New("the key set has too many keys")
	}
	var keys []key
	for _, one := range set.Keys {
		if k, ok := readKey(one); ok {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, errNoKey
	}
	return keys, nil
}

// readKey returns a key of a set if it can be used for signatures of access tokens.
func readKey(text []byte) (key, bool) {
	var said struct {
		Use string   `json:"use"`
		Ops []string `json:"key_ops"`
		Alg string   `json:"alg"`
	}
	var k jose.JSONWebKey
	if json.Unmarshal(text, &said) != nil || k.UnmarshalJSON(text) != nil || !k.Valid() {
		return key{}, false
	}
	algorithm := algorithmOf(k.Key)
	usable := algorithm != "" &&
		(said.Use == "" || said.Use == "sig") &&
		(said.Ops == nil || slices.Contains(said.Ops, "verify")) &&
		(said.Alg == "" || said.Alg == string(algorithm))
	return key{k.KeyID, algorithm, k.Key}, usable
}

// algorithmOf returns the one algorithm that a public key is used with here, or "". It returns "" also for a private
// key, which the key set has made public.
func algorithmOf(public any) jose.SignatureAlgorithm {
	switch p := public.(type) {
	case *rsa.PublicKey:
		if bits := p.N.BitLen(); bits >= minBits && bits <= maxBits {
			return jose.RS256
		}
	case *ecdsa.PublicKey:
		if p.Curve == elliptic.P256() {
			return jose.ES256
		}
	case ed25519.PublicKey:
		return jose.EdDSA
	}
	return ""
}

// suitable returns the keys that may have signed a token. known reports whether the set has the key id of the token.
func suitable(keys []key, id string, algorithm jose.SignatureAlgorithm) (found []key, known bool) {
	for _, k := range keys {
		if id == "" || k.id == id {
			known = true
			if k.algorithm == algorithm {
				found = append(found, k)
			}
		}
	}
	return found, known
}
