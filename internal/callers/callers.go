// Package callers compares who may call over HTTP at the nodes of a cluster, without their knowing each other's tokens.
//
//	d := callers.Digest(group, callers.Of(cfg.Server.HTTP, tokens))
package callers

import (
	"cmp"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"ptyctl/config"
	"ptyctl/mcpapi/httpserve"
)

// A table lists who may call over HTTP. All nodes of a cluster should have the same table. The place of a token in a
// file does not count, nor whether the file has its value or its hash.
type table struct {
	Format int // of this table, raised when the meaning of a field changes

	Isolate  bool
	Issuer   string
	Audience string
	Scopes   []scope
	Tokens   []token
}

type scope struct{ Name, Role string }

type token struct {
	Name             string
	Digest           []byte
	ReadOnly, Person bool
	Expires          int64 // Unix seconds; 0: never
}

// rounds is how often the table is hashed to make its digest: a guess at all tokens costs as much, 0.02 s.
const rounds = 100_000

// Digest returns a digest of who may call over HTTP: PBKDF2 (RFC 8018) with HMAC-SHA-256, 16 bytes in hex. The whole
// table is the key, and the group of nodes the salt. So two nodes have the same digest if they have the same table. A
// reader of the digest learns nothing else: only a reader who knows all other tokens can guess one, and only slowly.
func Digest(group string, who []byte) string {
	key, err := pbkdf2.Key(sha256.New, string(who), []byte("ptyctl callers 1\x00"+group), rounds, 16)
	if err != nil { // only a hash or a length that FIPS 140 does not allow
		panic(err)
	}
	return hex.EncodeToString(key)
}

// Of returns who may call over HTTP, as text that is the same for the same callers. It has the hashes of tokens.
func Of(o config.HTTP, tokens []httpserve.Token) []byte {
	t := table{Format: 1, Isolate: o.Isolate, Issuer: o.OAuth.Issuer, Audience: o.OAuth.Audience}
	for _, r := range o.OAuth.Roles {
		t.Scopes = append(t.Scopes, scope{r.Name, r.Role})
	}
	for _, k := range tokens {
		c := token{Name: k.Name, Digest: k.Digest[:], ReadOnly: k.ReadOnly, Person: k.Person}
		if !k.Expires.IsZero() {
			c.Expires = k.Expires.Truncate(time.Second).Unix()
		}
		t.Tokens = append(t.Tokens, c)
	}
	slices.SortFunc(t.Scopes, func(a, b scope) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(t.Tokens, func(a, b token) int { return cmp.Compare(a.Name, b.Name) })
	text, _ := json.Marshal(t) // of texts and numbers
	return text
}
