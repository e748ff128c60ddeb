package oauth

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"
)

// Bounds of a token.
const (
	maxToken   = 16 << 10 // bytes
	maxSubject = 256      // bytes
	skew       = time.Minute
	latest     = 1 << 40 // of a time, in seconds since 1970: the year 36812
)

// algorithms are the algorithms that a token may be signed with.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA}

// A parsed is a token before its signature is verified.
type parsed struct {
	header header
	claims claims
	signed *jose.JSONWebSignature
}

// A header is the part of the JOSE header that is checked. The JSON decoder of go-jose distinguishes upper and lower
// case in names, and refuses an object with a name twice.
type header struct {
	Kid  string          `json:"kid"`
	Typ  string          `json:"typ"`
	Crit json.RawMessage `json:"crit"`
}

// claims are the claims of RFC 7519 and RFC 9068 that are checked.
type claims struct {
	Iss string          `json:"iss"`
	Sub string          `json:"sub"`
	Aud words           `json:"aud"`
	Exp *float64        `json:"exp"`
	Nbf *float64        `json:"nbf"`
	Iat *float64        `json:"iat"`
	Cnf json.RawMessage `json:"cnf"`

	Scope words `json:"scope"`
	Scp   words `json:"scp"` // as Microsoft and others name it
}

// words is a JSON string or an array of strings.
type words []string

// UnmarshalJSON implements json.Unmarshaler.
func (w *words) UnmarshalJSON(text []byte) error {
	var one string
	if err := json.Unmarshal(text, &one); err == nil {
		*w = words{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(w))
}

// parse reads a token.
func parse(token string) (*parsed, error) {
	if len(token) > maxToken {
		return nil, invalid("the token is too long")
	}
	head, _, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(head)
	t := new(parsed)
	if err != nil || json.Unmarshal(text, &t.header) != nil {
		return nil, invalid("the token is no signed JWT")
	}
	if t.header.Crit != nil { // RFC 7515 section 4.1.11: an extension that is not understood must be refused
		return nil, invalid("the token has a critical header")
	}
	if t.signed, err = jose.ParseSignedCompact(token, algorithms); err != nil {
		return nil, invalid("the token is no JWT that is signed with RS256, ES256 or EdDSA")
	}
	switch typ := strings.TrimPrefix(strings.ToLower(t.header.Typ), "application/"); typ {
	case "", "jwt", "at+jwt":
	default: // for example of a logout or of a proof of possession
		return nil, invalid("the token's type is not at+jwt or JWT")
	}
	if json.Unmarshal(t.signed.UnsafePayloadWithoutVerification(), &t.claims) != nil {
		return nil, invalid("the token's claims cannot be read")
	}
	return t, nil
}

// algorithm returns the algorithm of the signature, one of algorithms.
func (t *parsed) algorithm() jose.SignatureAlgorithm {
	return jose.SignatureAlgorithm(t.signed.Signatures[0].Protected.Algorithm)
}

// signedBy reports whether one of the keys has made the signature.
func (t *parsed) signedBy(keys []key) bool {
	return slices.ContainsFunc(keys, func(k key) bool {
		_, err := t.signed.Verify(k.public)
		return err == nil
	})
}

// check returns why a token is not for this server, or not now. Its signature is not verified yet.
func (c *claims) check(issuer, audience string, now time.Time) error {
	at := float64(now.UnixMilli()) / 1000
	switch {
	case c.Iss != issuer:
		return invalid("the token is of another issuer")
	case !slices.Contains(c.Aud, audience):
		return invalid("the token is for another audience")
	case c.Exp == nil || *c.Exp <= 0 || *c.Exp > latest:
		return invalid("the token has no time at which it expires")
	case !now.Before(c.expires()):
		return invalid("the token has expired")
	case c.Nbf != nil && *c.Nbf > at+skew.Seconds():
		return invalid("the token is not valid yet")
	case c.Iat != nil && *c.Iat > at+skew.Seconds():
		return invalid("the token was issued in the future")
	case !validSubject(c.Sub):
		return invalid("the token's subject is missing, too long, or has other characters than visible ASCII")
	case c.Cnf != nil && string(c.Cnf) != "null":
		// A token that is bound to a key is not valid without the proof, which is not checked here.
		return invalid("the token is bound to a key of its client, which this server cannot check")
	}
	return nil
}

// expires returns the time of exp, in whole seconds.
func (c *claims) expires() time.Time { return time.Unix(int64(*c.Exp), 0) }

// validSubject reports whether a subject can be shown in a log and compared by its bytes. OpenID Connect allows ASCII
// alone; other characters could look like another subject.
func validSubject(sub string) bool {
	return sub != "" && len(sub) <= maxSubject && !strings.ContainsFunc(sub, func(r rune) bool { return r < 0x21 || r > 0x7e })
}

// scopes returns the scopes, separated by spaces (RFC 8693 section 4.2) or as an array.
func (c *claims) scopes() (all []string) {
	for _, w := range append(slices.Clone(c.Scope), c.Scp...) {
		all = append(all, strings.Fields(w)...)
	}
	return all
}
