package callers

import (
	"crypto/sha256"
	"regexp"
	"testing"
	"time"

	"ptyctl/config"
	"ptyctl/mcpapi/httpserve"
)

// TestDigest: who may call counts in the digest, and the way of writing it does not.
func TestDigest(t *testing.T) {
	token := func(name, value string) httpserve.Token {
		return httpserve.Token{Name: name, Digest: sha256.Sum256([]byte(value))}
	}
	base := func() []httpserve.Token {
		return []httpserve.Token{token("ops", "value-1138"), token("ci", "other-1138")}
	}
	var o config.HTTP
	was := string(Of(o, base()))
	if turned := Of(o, []httpserve.Token{base()[1], base()[0]}); string(turned) != was {
		t.Error("the order of the tokens counts")
	}
	o.Listen, o.TokensFile, o.RateLimit = "127.0.0.1:1", "/etc/tokens", 7
	if elsewhere := Of(o, base()); string(elsewhere) != was {
		t.Error("what belongs to one machine counts")
	}
	for what, change := range map[string]func(o *config.HTTP, tokens []httpserve.Token){
		"another value":   func(_ *config.HTTP, all []httpserve.Token) { all[0].Digest[7]++ },
		"another name":    func(_ *config.HTTP, all []httpserve.Token) { all[0].Name = "op" },
		"another role":    func(_ *config.HTTP, all []httpserve.Token) { all[0].ReadOnly = true },
		"a person's role": func(_ *config.HTTP, all []httpserve.Token) { all[0].Person = true },
		"an end":          func(_ *config.HTTP, all []httpserve.Token) { all[0].Expires = time.Unix(1e9, 0) },
		"isolation":       func(o *config.HTTP, _ []httpserve.Token) { o.Isolate = true },
		"an issuer":       func(o *config.HTTP, _ []httpserve.Token) { o.OAuth.Issuer = "https://id.example.net" },
		"an audience":     func(o *config.HTTP, _ []httpserve.Token) { o.OAuth.Audience = "ptyctl" },
		"a scope":         func(o *config.HTTP, _ []httpserve.Token) { o.OAuth.Roles = []config.OAuthRole{{Role: "read"}} },
	} {
		var o config.HTTP
		tokens := base()
		if change(&o, tokens); string(Of(o, tokens)) == was {
			t.Errorf("%s does not count", what)
		}
	}
	d := Digest("ptyctl", []byte(was))
	if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(d) || d != Digest("ptyctl", []byte(was)) {
		t.Errorf("the digest is %q, want always the same 16 bytes in hex", d)
	}
	if d == Digest("another", []byte(was)) || d == Digest("ptyctl", Of(config.HTTP{}, nil)) {
		t.Error("another group, or no tokens, have the same digest")
	}
}
