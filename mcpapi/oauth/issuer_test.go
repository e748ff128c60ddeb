package oauth_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/mcpapi/oauth"
)

// The issuer and the audience of the tests' tokens.
const (
	issuerURL = "https://login.example.net/realms/it"
	audience  = "https://mcp.example.net/mcp"
)

// Keys of the tests.
var (
	rsaKey   = must(rsa.GenerateKey(rand.Reader, 2048))
	otherRSA = must(rsa.GenerateKey(rand.Reader, 2048))
	p256     = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	p384     = must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))
	_, ed, _ = ed25519.GenerateKey(rand.Reader)
	// Go no longer makes an RSA key this short: 1024 bits, from openssl genrsa.
	shortKey = &rsa.PublicKey{N: new(big.Int).SetBit(new(big.Int).SetBytes(bytes.Repeat([]byte{0xa5}, 128)), 0, 1), E: 65537}
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func b64(p []byte) string { return base64.RawURLEncoding.EncodeToString(p) }

// sign makes a JWS without go-jose, with which the package reads it.
func sign(key any, header, claims string) string {
	input := b64([]byte(header)) + "." + b64([]byte(claims))
	sum := sha256.Sum256([]byte(input))
	var sig []byte
	switch k := key.(type) {
	case nil:
	case *rsa.PrivateKey:
		if strings.Contains(header, "PS256") {
			sig = must(rsa.SignPSS(rand.Reader, k, crypto.SHA256, sum[:], nil))
		} else {
			sig = must(rsa.SignPKCS1v15(nil, k, crypto.SHA256, sum[:]))
		}
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, k, sum[:])
		if err != nil {
			panic(err)
		}
		size := (k.Params().BitSize + 7) / 8
		sig = append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
	case ed25519.PrivateKey:
		sig = ed25519.Sign(k, []byte(input))
	case []byte:
		m := hmac.New(sha256.New, k)
		_, _ = m.Write([]byte(input))
		sig = m.Sum(nil)
	}
	return input + "." + b64(sig)
}

// jwk returns a key as a member of a set, with more members.
func jwk(public any, more string) string {
	switch p := public.(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf(`{"kty":"RSA","n":%q,"e":%q%s}`, b64(p.N.Bytes()), b64(big.NewInt(int64(p.E)).Bytes()), more)
	case *ecdsa.PublicKey:
		text := must(p.Bytes())[1:]
		return fmt.Sprintf(`{"kty":"EC","crv":%q,"x":%q,"y":%q%s}`, p.Params().Name, b64(text[:len(text)/2]), b64(text[len(text)/2:]), more)
	case ed25519.PublicKey:
		return fmt.Sprintf(`{"kty":"OKP","crv":"Ed25519","x":%q%s}`, b64(p), more)
	}
	panic("no such key")
}

// An issuer is an authorization server in memory. It is the http.RoundTripper of a Verifier.
type issuer struct {
	mu       sync.Mutex
	keys     []string // as in a set
	pages    map[string]string
	header   http.Header // of the key set
	fails    error
	requests map[string]int // by URL
	held     chan struct{}  // nil: requests are answered at once
}

// The documents of issuerURL.
const (
	metadataURL = "https://login.example.net/.well-known/oauth-authorization-server/realms/it"
	keysURL     = "https://login.example.net/realms/it/certs"
)

// newIssuer returns an issuer with keys of each kind: r (RSA), e (P-256) and d (Ed25519).
func newIssuer() *issuer {
	return &issuer{
		keys: []string{
			jwk(&rsaKey.PublicKey, `,"kid":"r","use":"sig","alg":"RS256"`), jwk(&p256.PublicKey, `,"kid":"e","key_ops":["verify"]`),
			jwk(ed.Public(), `,"kid":"d"`),
		},
		pages:    map[string]string{metadataURL: fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, issuerURL, keysURL)},
		requests: map[string]int{}, header: http.Header{},
	}
}

// RoundTrip implements http.RoundTripper.
func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	at := r.URL.String()
	i.requests[at]++
	fails, held, text, ok := i.fails, i.held, i.pages[at], i.pages[at] != ""
	header := http.Header{}
	if at == keysURL && !ok {
		text, ok, header = `{"keys":[`+strings.Join(i.keys, ",")+`]}`, true, i.header.Clone()
	}
	i.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if fails != nil {
		return nil, fails
	}
	answer := &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader(text)), Request: r}
	if to, redirects := strings.CutPrefix(text, "redirect "); redirects {
		answer.StatusCode = http.StatusFound
		answer.Header.Set("Location", to)
	} else if !ok {
		answer.StatusCode = http.StatusNotFound
	}
	return answer, nil
}

// change changes the issuer.
func (i *issuer) change(f func(*issuer)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f(i)
}

// asked returns how often a URL was requested.
func (i *issuer) asked(url string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.requests[url]
}

// verifier returns a verifier of the issuer's tokens, and its log.
func (i *issuer) verifier(tb testing.TB) (*oauth.Verifier, *logText) {
	tb.Helper()
	log := new(logText)
	v, err := oauth.New(oauth.Options{
		Issuer: issuerURL, Audience: audience, Roles: map[string]oauth.Role{"ptyctl:read": oauth.Read, "ptyctl:write": oauth.Write},
		Transport: i, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(v.Close)
	return v, log
}

// logText is a log that may be read while it is written.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// claims returns the claims of a good token, each replaced or added (`"name":value`) or, with an empty value, left out.
func claims(changes ...string) string {
	now := time.Now().Unix()
	names := []string{"iss", "sub", "aud", "exp", "iat", "scope"}
	values := map[string]string{
		"iss": `"` + issuerURL + `"`, "sub": `"alice"`, "aud": `"` + audience + `"`, "exp": fmt.Sprint(now + 300),
		"iat": fmt.Sprint(now), "scope": `"openid ptyctl:write"`,
	}
	for _, c := range changes {
		name, value, _ := strings.Cut(c, ":")
		name = strings.Trim(name, `"`)
		if _, known := values[name]; !known {
			names = append(names, name)
		}
		values[name] = value
	}
	var members []string
	for _, n := range names {
		if values[n] != "" {
			members = append(members, fmt.Sprintf("%q:%s", n, values[n]))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}
