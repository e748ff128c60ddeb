package oauth_test

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ptyctl/mcpapi/oauth"
)

// Each algorithm, each form of the claims.
func TestAccepted(t *testing.T) {
	v, _ := newIssuer().verifier(t)
	exp := time.Now().Add(5 * time.Minute).Truncate(time.Second)
	for name, test := range map[string]struct {
		token string
		role  oauth.Role
	}{
		"RS256":             {sign(rsaKey, `{"alg":"RS256","kid":"r","typ":"at+jwt"}`, claims()), oauth.Write},
		"ES256":             {sign(p256, `{"alg":"ES256","kid":"e","typ":"JWT"}`, claims()), oauth.Write},
		"EdDSA":             {sign(ed, `{"alg":"EdDSA","kid":"d","typ":"application/AT+JWT"}`, claims()), oauth.Write},
		"no key id":         {sign(ed, `{"alg":"EdDSA"}`, claims()), oauth.Write},
		"several audiences": {sign(ed, `{"alg":"EdDSA"}`, claims(`aud:["x","`+audience+`"]`)), oauth.Write},
		"the role read":     {sign(ed, `{"alg":"EdDSA"}`, claims(`scope:"ptyctl:read profile"`)), oauth.Read},
		"both roles":        {sign(ed, `{"alg":"EdDSA"}`, claims(`scope:"ptyctl:write ptyctl:read"`)), oauth.Write},
		"scope as an array": {sign(ed, `{"alg":"EdDSA"}`, claims(`scope:["ptyctl:read"]`)), oauth.Read},
		"scp":               {sign(ed, `{"alg":"EdDSA"}`, claims(`scope:`, `scp:"ptyctl:write"`)), oauth.Write},
		"scp as an array":   {sign(ed, `{"alg":"EdDSA"}`, claims(`scope:`, `scp:["a","ptyctl:read"]`)), oauth.Read},
		"clocks that differ": {
			sign(ed, `{"alg":"EdDSA"}`, claims(fmt.Sprint("iat:", time.Now().Unix()+50), fmt.Sprint("nbf:", time.Now().Unix()+50))),
			oauth.Write,
		},
		"a fraction of a second": {sign(ed, `{"alg":"EdDSA"}`, claims(fmt.Sprintf("exp:%d.75", exp.Unix()))), oauth.Write},
		"no iat":                 {sign(ed, `{"alg":"EdDSA"}`, claims(`iat:`)), oauth.Write},
		"other headers":          {sign(ed, `{"alg":"EdDSA","jku":"https://evil.test/","x5u":"https://evil.test/"}`, claims()), oauth.Write},
	} {
		g, err := v.Verify(t.Context(), test.token)
		if err != nil || g.Role != test.role || g.Subject != "alice" || g.Expires.Sub(exp).Abs() > 2*time.Second {
			t.Errorf("%s: %+v, %v, want alice with role %d until %v", name, g, err, test.role, exp)
		}
	}
	if !strings.Contains(fmt.Sprint(v.Issuer(), v.Audience(), v.Scopes()), "[ptyctl:read ptyctl:write]") {
		t.Errorf("scopes = %v, want both", v.Scopes())
	}
}

// Every form that is refused, with the reason. None of them leads to a request beyond the first fetch and that for the
// unknown key id.
func TestRefused(t *testing.T) {
	i := newIssuer()
	i.keys = append(i.keys,
		jwk(&p384.PublicKey, `,"kid":"p384"`), jwk(shortKey, `,"kid":"short"`),
		jwk(&otherRSA.PublicKey, `,"kid":"enc","use":"enc"`), jwk(&otherRSA.PublicKey, `,"kid":"ps","alg":"PS256"`),
		jwk(&otherRSA.PublicKey, `,"kid":"ops","key_ops":["encrypt"]`), jwk(&otherRSA.PublicKey, `,"kid":"second"`),
		`{"kty":"oct","kid":"oct","k":"c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTExMzg"}`,
		`{"kty":"XYZ","kid":"new"}`, `{"kid":"none"}`, `7`,
	)
	v, log := i.verifier(t)
	now := time.Now().Unix()
	at := func(name string, seconds int64) string { return fmt.Sprintf("%s:%d", name, now+seconds) }
	public := must(x509.MarshalPKIXPublicKey(&rsaKey.PublicKey))
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	good := sign(ed, `{"alg":"EdDSA","kid":"d"}`, claims())
	parts := strings.Split(good, ".")
	const eddsa = `{"alg":"EdDSA","kid":"d"}`
	for name, test := range map[string]struct{ token, want string }{
		"nothing":               {"", "no signed JWT"},
		"two parts":             {parts[0] + "." + parts[1], "is no JWT that"},
		"a part more":           {good + ".x", "is no JWT that"},
		"a JWE":                 {good + ".x.y", "is no JWT that"},
		"as a JSON object":      {`{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`, "no signed JWT"},
		"padding":               {parts[0] + "=." + parts[1] + "." + parts[2], "no signed JWT"},
		"too long":              {sign(ed, eddsa, claims(`x:"`+strings.Repeat("x", 16<<10)+`"`)), "too long"},
		"none":                  {sign(nil, `{"alg":"none"}`, claims()), "is no JWT that"},
		"None":                  {sign(nil, `{"alg":"None"}`, claims()), "is no JWT that"},
		"no algorithm":          {sign(ed, `{"kid":"d"}`, claims()), "is no JWT that"},
		"HS256 with public key": {sign(asPEM, `{"alg":"HS256","kid":"r"}`, claims()), "is no JWT that"},
		"HS256 with oct":        {sign([]byte("secret-secret-secret-secret-1138"), `{"alg":"HS256","kid":"oct"}`, claims()), "is no JWT that"},
		"PS256":                 {sign(rsaKey, `{"alg":"PS256","kid":"r"}`, claims()), "is no JWT that"},
		"RS512":                 {sign(rsaKey, `{"alg":"RS512","kid":"r"}`, claims()), "is no JWT that"},
		"ES384":                 {sign(p384, `{"alg":"ES384","kid":"p384"}`, claims()), "is no JWT that"},
		"ES256 with P-384":      {sign(p384, `{"alg":"ES256","kid":"p384"}`, claims()), "not among those"},
		"a short RSA key":       {sign(otherRSA, `{"alg":"RS256","kid":"short"}`, claims()), "not among those"},
		"a key to encrypt":      {sign(otherRSA, `{"alg":"RS256","kid":"enc"}`, claims()), "not among those"},
		"a key of PS256":        {sign(otherRSA, `{"alg":"RS256","kid":"ps"}`, claims()), "not among those"},
		"a key not to verify":   {sign(otherRSA, `{"alg":"RS256","kid":"ops"}`, claims()), "not among those"},
		"another key's id":      {sign(ed, `{"alg":"EdDSA","kid":"r"}`, claims()), "algorithm is not that of its key"},
		"an unknown key id":     {sign(ed, `{"alg":"EdDSA","kid":"x"}`, claims()), "not among those"},
		"no id, several keys":   {sign(rsaKey, `{"alg":"RS256"}`, claims()), "does not name its key"},
		"another's signature":   {sign(otherRSA, `{"alg":"RS256","kid":"r"}`, claims()), "signature is wrong"},
		"changed claims":        {parts[0] + "." + b64([]byte(claims(`sub:"root"`))) + "." + parts[2], "signature is wrong"},
		"no signature":          {parts[0] + "." + parts[1] + ".", "signature is wrong"},
		"its own key": {
			sign(otherRSA, `{"alg":"RS256","kid":"r","jwk":`+jwk(&otherRSA.PublicKey, "")+`}`, claims()), "signature is wrong",
		},
		"a critical header":     {sign(ed, `{"alg":"EdDSA","kid":"d","crit":["exp"],"exp":1}`, claims()), "critical header"},
		"b64":                   {sign(ed, `{"alg":"EdDSA","kid":"d","crit":["b64"],"b64":false}`, claims()), "critical header"},
		"crit of null's friend": {sign(ed, `{"alg":"EdDSA","kid":"d","crit":[]}`, claims()), "critical header"},
		"an algorithm twice":    {sign(ed, `{"alg":"none","alg":"EdDSA","kid":"d"}`, claims()), "no signed JWT"},
		"a key id of a number":  {sign(ed, `{"alg":"EdDSA","kid":7}`, claims()), "no signed JWT"},
		"a logout token":        {sign(ed, `{"alg":"EdDSA","kid":"d","typ":"logout+jwt"}`, claims()), "type is not"},
		"a proof":               {sign(ed, `{"alg":"EdDSA","kid":"d","typ":"dpop+jwt"}`, claims()), "type is not"},
		"claims of an array":    {sign(ed, eddsa, `[]`), "claims cannot be read"},
		"no claims":             {sign(ed, eddsa, `{}`), "another issuer"},
		"a claim twice":         {sign(ed, eddsa, strings.TrimSuffix(claims(), "}")+`,"sub":"root"}`), "claims cannot be read"},
		"claims in capitals":    {sign(ed, eddsa, strings.Replace(claims(), `"iss"`, `"ISS"`, 1)), "another issuer"},
		"another issuer":        {sign(ed, eddsa, claims(`iss:"https://evil.test"`)), "another issuer"},
		"an issuer with slash":  {sign(ed, eddsa, claims(`iss:"`+issuerURL+`/"`)), "another issuer"},
		"issuers":               {sign(ed, eddsa, claims(`iss:["`+issuerURL+`"]`)), "claims cannot be read"},
		"no audience":           {sign(ed, eddsa, claims(`aud:`)), "another audience"},
		"another audience":      {sign(ed, eddsa, claims(`aud:"https://mcp.example.net/mcp/"`)), "another audience"},
		"other audiences":       {sign(ed, eddsa, claims(`aud:["a","b"]`)), "another audience"},
		"audience null":         {sign(ed, eddsa, claims(`aud:null`)), "another audience"},
		"an audience of object": {sign(ed, eddsa, claims(`aud:{"x":"`+audience+`"}`)), "claims cannot be read"},
		"no end":                {sign(ed, eddsa, claims(`exp:`)), "no time at which it expires"},
		"an end in words":       {sign(ed, eddsa, claims(`exp:"tomorrow"`)), "claims cannot be read"},
		"an end of null":        {sign(ed, eddsa, claims(`exp:null`)), "no time at which it expires"},
		"an endless end":        {sign(ed, eddsa, claims(`exp:1e300`)), "no time at which it expires"},
		"an end before 1970":    {sign(ed, eddsa, claims(`exp:-1`)), "no time at which it expires"},
		"expired":               {sign(ed, eddsa, claims(at("exp", -1))), "has expired"},
		"expires now":           {sign(ed, eddsa, claims(at("exp", 0))), "has expired"},
		"not yet":               {sign(ed, eddsa, claims(at("nbf", 70))), "not valid yet"},
		"of the future":         {sign(ed, eddsa, claims(at("iat", 70))), "issued in the future"},
		"no subject":            {sign(ed, eddsa, claims(`sub:`)), "subject is missing"},
		"an empty subject":      {sign(ed, eddsa, claims(`sub:""`)), "subject is missing"},
		"a subject of a number": {sign(ed, eddsa, claims(`sub:7`)), "claims cannot be read"},
		"a long subject":        {sign(ed, eddsa, claims(`sub:"`+strings.Repeat("a", 257)+`"`)), "subject is missing, too long"},
		"a line in a subject":   {sign(ed, eddsa, claims(`sub:"a\nb"`)), "subject is missing, too long, or has other"},
		"a space in a subject":  {sign(ed, eddsa, claims(`sub:"a b"`)), "or has other characters"},
		"a subject that looks":  {sign(ed, eddsa, claims(`sub:"аlice"`)), "or has other characters"},
		"bound to a key":        {sign(ed, eddsa, claims(`cnf:{"jkt":"x"}`)), "bound to a key"},
	} {
		_, err := v.Verify(t.Context(), test.token)
		e, ok := errors.AsType[*oauth.Error](err)
		if !ok || e.Kind != oauth.Invalid || !strings.Contains(e.Reason, test.want) {
			t.Errorf("%s: %v, want the token refused: %s", name, err, test.want)
		}
	}
	for name, scopes := range map[string]string{
		"no scope": `scope:`, "other scopes": `scope:"openid ptyctl:writer PTYCTL:WRITE ptyctl"`, "an empty array": `scope:[]`,
		"scope null": `scope:null`,
	} {
		_, err := v.Verify(t.Context(), sign(ed, eddsa, claims(scopes)))
		if e, ok := errors.AsType[*oauth.Error](err); !ok || e.Kind != oauth.Insufficient ||
			!strings.Contains(e.Reason, "ptyctl:read, ptyctl:write") {
			t.Errorf("%s: %v, want insufficient scope", name, err)
		}
	}
	if n := i.asked(keysURL); n != 2 {
		t.Errorf("the keys were fetched %d times, want once, and once for unknown key ids", n)
	}
	if text := log.String(); strings.Contains(text, parts[1]) || strings.Contains(text, parts[2]) {
		t.Errorf("the log has a token: %s", text)
	}
}

// The longest subject, and one that imitates others, are as they are.
func TestSubjects(t *testing.T) {
	v, _ := newIssuer().verifier(t)
	for _, sub := range []string{strings.Repeat("a", 256), "oauth:ci", "auth0|5f7c8ec7c33c6c004bbafe82", "a@b.example", "<&>{}"} {
		g, err := v.Verify(t.Context(), sign(ed, `{"alg":"EdDSA"}`, claims(`sub:"`+sub+`"`)))
		if err != nil || g.Subject != sub {
			t.Errorf("subject %q: %q, %v", sub, g.Subject, err)
		}
	}
}

// A verifier that could not work, or would accept tokens for others, is not made.
func TestNewRefuses(t *testing.T) {
	good := oauth.Options{Issuer: issuerURL, Audience: audience, Roles: map[string]oauth.Role{"w": oauth.Write}}
	for name, test := range map[string]struct {
		change func(*oauth.Options)
		want   string
	}{
		"no issuer":      {func(o *oauth.Options) { o.Issuer = "" }, "no URL"},
		"a name":         {func(o *oauth.Options) { o.Issuer = "login.example.net" }, "no URL"},
		"http":           {func(o *oauth.Options) { o.Issuer = "http://login.example.net" }, "use https"},
		"http elsewhere": {func(o *oauth.Options) { o.Issuer = "http://127.0.0.1.evil.test" }, "use https"},
		"a file":         {func(o *oauth.Options) { o.Issuer = "file://localhost/keys" }, "use https"},
		"a query":        {func(o *oauth.Options) { o.Issuer += "?x=1" }, "a query"},
		"a fragment":     {func(o *oauth.Options) { o.Issuer += "#" }, "a fragment"},
		"a user":         {func(o *oauth.Options) { o.Issuer = "https://a:b@login.example.net" }, "a user"},
		"no audience":    {func(o *oauth.Options) { o.Audience = "" }, "audience"},
		"no roles":       {func(o *oauth.Options) { o.Roles = nil }, "roles"},
		"no role":        {func(o *oauth.Options) { o.Roles = map[string]oauth.Role{"w": 0} }, "roles"},
		"no scope":       {func(o *oauth.Options) { o.Roles = map[string]oauth.Role{"a b": oauth.Read} }, "roles"},
	} {
		o := good
		test.change(&o)
		if _, err := oauth.New(o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error about %q", name, err, test.want)
		}
	}
	for _, local := range []string{"http://127.0.0.1:1", "http://[::1]:1/x", "http://localhost:1"} {
		o := good
		o.Issuer = local
		v, err := oauth.New(o)
		if err != nil {
			t.Errorf("issuer %s: %v, want it accepted", local, err)
			continue
		}
		v.Close()
	}
}

// FuzzVerify gives Verify any token. Only tokens that the issuer has signed are accepted, and no error has a part of a
// token.
func FuzzVerify(f *testing.F) {
	good := sign(ed, `{"alg":"EdDSA","kid":"d"}`, claims(`exp:4102444800`))
	f.Add(good)
	f.Add(sign(rsaKey, `{"alg":"RS256","kid":"r","typ":"at+jwt"}`, claims(`aud:["a",{}]`)))
	f.Add(sign(nil, `{"alg":"none","crit":null}`, claims(`exp:1e99`)))
	f.Add("..")
	f.Add("e30.e30.")
	f.Add(`{"payload":"","signatures":[]}`)
	v, _ := newIssuer().verifier(f)
	f.Fuzz(func(t *testing.T, token string) {
		g, err := v.Verify(t.Context(), token)
		if err == nil {
			if g.Subject != "alice" || g.Role != oauth.Write {
				t.Errorf("Verify(%q) = %+v, want a refusal", token, g)
			}
			return
		}
		if _, ok := errors.AsType[*oauth.Error](err); !ok || len(token) > 120 && strings.Contains(err.Error(), token) {
			t.Errorf("Verify(%q) = %v, want an *Error without it", token, err)
		}
	})
}
