package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"ptyctl/internal/lazyregexp"
)

// A Token is a bearer token of the HTTP transport.
type Token struct {
	Name     string // for the audit log; not a secret
	ReadOnly bool   // the role is read or watch, not write or operate
	Person   bool   // the role is watch or operate: it opens the watch page, and is no token of an agent
	Value    Secret // empty if Digest is set
	Digest   *[sha256.Size]byte
	Expires  time.Time // zero: never
}

// Role returns the role as it is written.
func (t *Token) Role() string {
	switch {
	case t.Person && t.ReadOnly:
		return "watch"
	case t.Person:
		return "operate"
	case t.ReadOnly:
		return "read"
	}
	return "write"
}

// minToken is the least length of a token. A random token of this length cannot be
// guessed.
const minToken = 16

// tokenForm describes a valid token in messages.
const tokenForm = "NAME:ROLE:VALUE or NAME:ROLE:sha256:HEX[:EXPIRES], where the role is read or write, or of a person " +
	"watch or operate (`ptyctl tokens add NAME` makes one)"

// hashed begins a token's SHA-256 in place of the value.
const hashed = "sha256:"

// Forms of the parts of a token.
var (
	tokenName  = lazyregexp.New(`^[A-Za-z0-9._-]{1,64}$`)
	tokenValue = lazyregexp.New(`^[A-Za-z0-9._~+/-]+=*$`) // RFC 6750, section 2.1
)

// ParseTokens parses tokens in the form NAME:ROLE:VALUE or NAME:ROLE:sha256:HEX[:EXPIRES], separated by spaces or lines.
// HEX is the SHA-256 of the value, and EXPIRES a time as in RFC 3339. Lines that begin with # are ignored. Its errors
// contain no values.
func ParseTokens(text string) ([]Token, error) {
	var tokens []Token
	names := make(map[string]bool)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for entry := range strings.FieldsSeq(line) {
			t, err := parseToken(entry)
			if err != nil {
				return nil, fmt.Errorf("holds a token (number %d) that %w; give %s", len(tokens)+1, err, tokenForm)
			}
			if names[t.Name] {
				return nil, fmt.Errorf("holds two tokens called %s; give each a name of its own", t.Name)
			}
			names[t.Name] = true
			tokens = append(tokens, t)
		}
	}
	return tokens, nil
}

// parseToken parses one token. The messages continue a sentence that names its position.
func parseToken(entry string) (t Token, err error) {
	name, rest, _ := strings.Cut(entry, ":")
	role, value, ok := strings.Cut(rest, ":")
	switch {
	case !ok:
		return Token{}, errors.New("has no name and role")
	case !tokenName.MatchString(name):
		return Token{}, errors.New(
			"has an invalid name; use at most 64 letters, digits, dots, dashes and underscores",
		)
	}
	t = Token{Name: name, Value: NewSecret(value)}
	switch role {
	case "read":
		t.ReadOnly = true
	case "write":
	case "watch":
		t.ReadOnly, t.Person = true, true
	case "operate":
		t.Person = true
	default:
		return Token{}, errors.New("has another role than read, write, watch and operate")
	}
	if len(value) >= len(hashed) && strings.EqualFold(value[:len(hashed)], hashed) {
		return t, t.parseDigest(value[len(hashed):])
	}
	return t, checkToken(value)
}

// parseDigest reads the digest of the value: HEX[:EXPIRES].
func (t *Token) parseDigest(text string) error {
	digits, expires, limited := strings.Cut(text, ":")
	raw, err := hex.DecodeString(digits)
	if err != nil || len(raw) != sha256.Size {
		return errors.New("has no SHA-256 of 64 hexadecimal digits behind the word sha256")
	}
	t.Value, t.Digest = Secret{}, (*[sha256.Size]byte)(raw)
	if limited {
		if t.Expires, err = time.Parse(time.RFC3339, expires); err != nil {
			return errors.New("has no time of the form 2027-01-31T00:00:00Z behind its SHA-256")
		}
	}
	return nil
}

// HashedToken returns the entry of a token that ParseTokens reads, with the SHA-256 of its value.
func HashedToken(name, role string, value []byte, expires time.Time) (string, error) {
	digest := sha256.Sum256(value)
	entry := name + ":" + role + ":" + hashed + hex.EncodeToString(digest[:])
	if !expires.IsZero() {
		entry += ":" + expires.UTC().Format(time.RFC3339)
	}
	if _, err := parseToken(entry); err != nil {
		return "", fmt.Errorf("the token %w", err)
	}
	return entry, nil
}

// checkToken checks the form of a token's value.
func checkToken(value string) error {
	switch {
	case len(value) < minToken:
		return fmt.Errorf("has fewer than %d characters", minToken)
	case !tokenValue.MatchString(value):
		return errors.New("has characters that cannot be sent in a header")
	}
	return nil
}

// headerToken and manyTokens check the keys auth_token and tokens. The least length of
// auth_token depends on its use, see loader.compareHTTP: an old file may have a short one
// that is not used.
func headerToken(text string) error {
	if !tokenValue.MatchString(text) {
		return errors.New(
			"has characters that a header cannot carry; use letters and digits (openssl rand -hex 32 prints some)",
		)
	}
	return nil
}

// manyTokens checks the key tokens; see headerToken.
func manyTokens(text string) error {
	_, err := ParseTokens(text)
	return err
}
