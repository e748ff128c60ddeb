package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// A Token is a bearer token of the HTTP transport.
type Token struct {
	Name     string // for records; not a secret
	ReadOnly bool   // its role is read, not write
	Value    Secret
}

// minToken is the least length of a token: one that is random and as long as this cannot be guessed.
const minToken = 16

const tokenForm = "NAME:ROLE:VALUE, where the role is read or write (openssl rand -hex 32 makes a value)"

var (
	tokenName  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	tokenValue = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`) // RFC 6750, section 2.1
)

// ParseTokens reads tokens: NAME:ROLE:VALUE, separated by spaces or lines. Lines that begin with # are left out. Its error
// shows no value.
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

func parseToken(entry string) (Token, error) {
	name, rest, _ := strings.Cut(entry, ":")
	role, value, ok := strings.Cut(rest, ":")
	switch {
	case !ok:
		return Token{}, errors.New("has no name and role")
	case !tokenName.MatchString(name):
		return Token{}, errors.New(
			"has a name with other than letters, digits, dots, dashes and underscores, or with more than 64 of them",
		)
	case role != "read" && role != "write":
		return Token{}, errors.New("has another role than read and write")
	}
	if err := checkToken(value); err != nil {
		return Token{}, err
	}
	return Token{Name: name, ReadOnly: role == "read", Value: NewSecret(value)}, nil
}

// checkToken says what is wrong with a token's value.
func checkToken(value string) error {
	switch {
	case len(value) < minToken:
		return fmt.Errorf("has fewer than %d characters", minToken)
	case !tokenValue.MatchString(value):
		return errors.New("has characters that cannot be sent in a header")
	}
	return nil
}

// headerToken and manyTokens check the keys auth_token and tokens. How long the first must be depends on what it is for,
// see loader.compareHTTP: older files may hold one that is of no use.
func headerToken(text string) error {
	if !tokenValue.MatchString(text) {
		return errors.New(
			"has characters that cannot be sent in a header; give letters and digits (openssl rand -hex 32 makes them)",
		)
	}
	return nil
}

func manyTokens(text string) error {
	_, err := ParseTokens(text)
	return err
}
