package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Role says which actions a caller may do.
type Role int

// The roles, the higher one later.
const (
	Read  Role = iota + 1 // no typing
	Write                 // everything
)

// Options configure a Verifier.
type Options struct {
	Issuer   string          // URL of the authorization server, exactly as in the claim iss of its tokens
	Audience string          // of the claim aud, which must contain it
	Roles    map[string]Role // by scope; a token with none of them is refused
	Logger   *slog.Logger    // nil: slog.Default

	// Transport sends the requests to the issuer; nil: one that trusts the certificates that the system trusts.
	Transport http.RoundTripper
}

// A Verifier verifies access tokens. Use New to make one, and Close it. Its methods may be called concurrently.
type Verifier struct {
	o       Options
	scopes  []string
	client  *http.Client
	life    context.Context // ends with Close
	end     context.CancelFunc
	running sync.WaitGroup // the fetch

	mu    sync.Mutex // guards cache
	cache cache
}

// A Grant has the rights of a verified token.
type Grant struct {
	Subject string // of the claim sub: 1 to 256 visible ASCII characters
	Role    Role
	Expires time.Time // the claim exp
}

// A Kind is the kind of an Error.
type Kind int

// The kinds of errors.
const (
	Invalid      Kind = iota // RFC 6750: invalid_token
	Insufficient             // RFC 6750: insufficient_scope
	Unavailable              // the keys of the issuer are not known now; the token may be valid
)

// An Error is the reason why a token is refused.
type Error struct {
	Kind   Kind
	Reason string // has no part of the token, and no detail of the connection to the issuer
}

// Error implements error.
func (e *Error) Error() string { return e.Reason }

// invalid returns the Error of a token that no issuer could have meant for this server.
func invalid(reason string) error { return &Error{Invalid, reason} }

// New returns a Verifier. It sends no request before the first token is verified. An error means a mistake in o.
func New(o Options) (*Verifier, error) {
	u, err := checkIssuer(o.Issuer)
	switch {
	case err != nil:
		return nil, fmt.Errorf("issuer: %w", err)
	case o.Audience == "":
		return nil, errors.New("audience: it is empty; give the value of the claim aud in tokens for this server")
	case len(o.Roles) == 0:
		return nil, errors.New("roles: there are none; name at least one scope")
	}
	for scope, role := range o.Roles {
		if !ValidScope(scope) || role != Read && role != Write {
			return nil, fmt.Errorf("roles: %q is no scope with a role", scope)
		}
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Transport == nil {
		o.Transport = transportTo(u)
	}
	v := &Verifier{
		o: o, scopes: slices.Sorted(maps.Keys(o.Roles)),
		client: &http.Client{Transport: o.Transport, CheckRedirect: sameHost},
	}
	v.life, v.end = context.WithCancel(context.Background())
	return v, nil
}

// Close ends a fetch that runs, and waits for it. No keys are fetched afterwards.
func (v *Verifier) Close() {
	v.mu.Lock()
	v.end() // no fetch begins from here on
	v.mu.Unlock()
	v.running.Wait()
}

// Issuer returns Options.Issuer.
func (v *Verifier) Issuer() string { return v.o.Issuer }

// Audience returns Options.Audience.
func (v *Verifier) Audience() string { return v.o.Audience }

// Scopes returns the scopes of Options.Roles, sorted.
func (v *Verifier) Scopes() []string { return v.scopes }

// Verify returns the Grant of a token, or an *Error. It may fetch keys, for ten seconds at most, and gives up when ctx
// ends.
func (v *Verifier) Verify(ctx context.Context, token string) (Grant, error) {
	t, err := parse(token)
	if err != nil {
		return Grant{}, err
	}
	// This comes before the key lookup: tokens of other issuers must not use up the fetch of a minute.
	if err := t.claims.check(v.o.Issuer, v.o.Audience, time.Now()); err != nil {
		return Grant{}, err
	}
	keys, err := v.find(ctx, t.header.Kid, t.algorithm())
	if err != nil {
		return Grant{}, err
	}
	if !t.signedBy(keys) {
		return Grant{}, invalid("the token's signature is wrong")
	}
	role := v.role(t.claims.scopes())
	if role == 0 {
		return Grant{}, &Error{Insufficient, "the token has none of the scopes " + strings.Join(v.scopes, ", ")}
	}
	return Grant{Subject: t.claims.Sub, Role: role, Expires: t.claims.expires()}, nil
}

// role returns the highest role of the scopes; 0: no scope has a role.
func (v *Verifier) role(scopes []string) (highest Role) {
	for _, s := range scopes {
		highest = max(highest, v.o.Roles[s])
	}
	return highest
}

// ValidScope reports whether text is a scope-token of RFC 6749 section 3.3.
func ValidScope(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r < 0x21 || r > 0x7e || r == '"' || r == '\\'
	})
}

// checkIssuer returns the URL of an issuer. RFC 8414 section 2: no query and no fragment.
func checkIssuer(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return nil, errors.New("it is no URL; give one such as https://login.example.net")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return nil, errors.New("it has a user, a query or a fragment; give the URL of the claim iss")
	}
	return u, checkScheme(u)
}

// checkScheme refuses URLs with which keys would cross the network in clear text: an attacker who can change them there
// could make tokens.
func checkScheme(u *url.URL) error {
	if u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("the scheme %q is not allowed for %s; use https, or http at a loopback address", u.Scheme, u.Host)
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || host == "localhost"
}
