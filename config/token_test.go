package config

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"
)

func TestParseTokens(t *testing.T) {
	const secret = "0123456789abcdef"
	got, err := ParseTokens(
		"# of the CI\n  ci:read:" + secret + "\n\nops:write:" + secret + "= dev.1:write:" + secret + "+/~\r\n" +
			"ann:watch:" + secret + " bob:operate:" + secret,
	)
	want := []Token{
		{Name: "ci", ReadOnly: true, Value: NewSecret(secret)},
		{Name: "ops", Value: NewSecret(secret + "=")},
		{Name: "dev.1", Value: NewSecret(secret + "+/~")},
		{Name: "ann", ReadOnly: true, Person: true, Value: NewSecret(secret)},
		{Name: "bob", Person: true, Value: NewSecret(secret)},
	}
	if err != nil || len(got) != len(want) {
		t.Fatalf("%v, %v", got, err)
	}
	for i, w := range want {
		if got[i].Name != w.Name || got[i].ReadOnly != w.ReadOnly || got[i].Person != w.Person ||
			got[i].Value.Reveal() != w.Value.Reveal() {
			t.Errorf("token %d is %+v with value %s, want %+v with %s", i, got[i], got[i].Value.Reveal(), w, w.Value.Reveal())
		}
	}

	for text, problem := range map[string]string{
		secret:                    "has no name and role",
		"ci:" + secret:            "has no name and role",
		":read:" + secret:         "has an invalid name",
		"c/i:read:" + secret:      "has an invalid name",
		"ci:admin:" + secret:      "has another role",
		"ci:READ:" + secret:       "has another role",
		"ci:read:" + secret[1:]:   "has fewer than 16 characters",
		"ci:read:" + secret + ":": "cannot be sent in a header",
		"ci:read:" + secret + "%": "cannot be sent in a header",
		"ci:read:" + secret + " ci:write:x" + secret:            "two tokens called ci",
		"ci:read:sha256:" + secret:                              "no SHA-256 of 64",
		"ci:read:sha256:" + strings.Repeat(secret, 4) + ":soon": "no time of the form",
	} {
		_, err := ParseTokens(text)
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q: %v, want %q", text, err, problem)
		} else if strings.Contains(err.Error(), secret[1:]) {
			t.Errorf("%q: the error shows the value: %v", text, err)
		}
	}
}

// An entry with a SHA-256 in place of the value is read back as it was written, and does not have the value.
func TestHashedToken(t *testing.T) {
	value := []byte("a value of a token")
	expires := time.Date(2027, 1, 31, 12, 0, 0, 0, time.FixedZone("", 3600))
	for _, at := range []time.Time{{}, expires} {
		entry, err := HashedToken("ci", "watch", value, at)
		if err != nil || strings.Contains(entry, string(value)) {
			t.Fatalf("%q, %v", entry, err)
		}
		got, err := ParseTokens(entry + "\n")
		if err != nil || len(got) != 1 || got[0].Name != "ci" || got[0].Role() != "watch" || got[0].Value.Reveal() != "" ||
			got[0].Digest == nil || *got[0].Digest != sha256.Sum256(value) || !got[0].Expires.Equal(at) {
			t.Errorf("%q is read as %+v, %v", entry, got, err)
		}
	}
	if _, err := HashedToken("c i", "read", value, time.Time{}); err == nil {
		t.Error("a name with a blank is accepted")
	}
	if _, err := HashedToken("ci", "admin", value, time.Time{}); err == nil {
		t.Error("a role that there is not is accepted")
	}
}
