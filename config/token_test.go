package config

import (
	"strings"
	"testing"
)

func TestParseTokens(t *testing.T) {
	const secret = "0123456789abcdef"
	got, err := ParseTokens(
		"# of the CI\n  ci:read:" + secret + "\n\nops:write:" + secret + "= dev.1:write:" + secret + "+/~\r\n" +
			"ann:watch:" + secret + " bob:operate:" + secret,
	)
	want := []Token{
		{"ci", true, false, NewSecret(secret)},
		{"ops", false, false, NewSecret(secret + "=")},
		{"dev.1", false, false, NewSecret(secret + "+/~")},
		{"ann", true, true, NewSecret(secret)},
		{"bob", false, true, NewSecret(secret)},
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
		"ci:read:" + secret + " ci:write:x" + secret: "two tokens called ci",
	} {
		_, err := ParseTokens(text)
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q: %v, want %q", text, err, problem)
		} else if strings.Contains(err.Error(), secret[1:]) {
			t.Errorf("%q: the error shows the value: %v", text, err)
		}
	}
}
