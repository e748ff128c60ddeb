package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// OAuthRole is the role that a scope of an access token gives.
type OAuthRole struct {
	Entry        // Name is the scope
	Role  string // "read" or "write"
}

// maxScope is the longest scope, in bytes.
const maxScope = 128

// oauthTable declares SCOPE = "ROLE" in [server.http.oauth.roles].
func oauthTable(c *Config) kind {
	return named(&c.Server.HTTP.OAuth.Roles, "server.http.oauth.roles",
		"The role of an access token with a scope; of several the highest counts, and a token with none of the scopes is "+
			"refused. Its short form is \"SCOPE\" = \"ROLE\" in the table [server.http.oauth.roles].",
		func(r *OAuthRole) []row {
			return []row{
				enum(&r.Role, "role", "", "What a caller with the scope may do: read, or also type.", "read", "write").
					required("one of read, write", `"write"`),
			}
		}).short("role").quoted(oauthScope, "up to 128 characters of ASCII without spaces, quotes and backslashes")
}

// oauthScope reports whether text is a scope (RFC 6749 section 3.3).
func oauthScope(text string) bool {
	return text != "" && len(text) <= maxScope && !strings.ContainsFunc(text, func(r rune) bool {
		return r < 0x21 || r > 0x7e || r == '"' || r == '\\'
	})
}

// issuerURL checks the URL of an issuer (RFC 8414 section 2).
func issuerURL(text string) error {
	const form = "give the URL of the issuer, such as https://login.example.net/realms/it"
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || strings.ContainsAny(text, "?#"):
		return errors.New("is no URL without a user, a query and a fragment; " + form)
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return fmt.Errorf("is %s; %s", show(text), form)
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsLoopback() || u.Hostname() == "localhost" {
		return nil
	}
	return fmt.Errorf("is %s: who can change what crosses the network could make tokens; use https, which only an issuer at "+
		"a loopback address may do without", show(text))
}

// compareOAuth checks that the keys of access tokens are complete.
func (l *loader) compareOAuth(o *OAuth) {
	const issuer, audience, roles = "server.http.oauth.issuer", "server.http.oauth.audience", "server.http.oauth.roles"
	switch {
	case o.Issuer == "" && o.Audience != "":
		l.clash(audience, issuer, audience+" is set, but no "+issuer+"; set both, or neither")
	case o.Issuer == "" && len(o.Roles) > 0:
		if !l.gaps && !l.doubt[issuer] {
			l.refuse(roles, o.Roles[0].Where, roles+" has scopes, but there is no "+issuer+"; set it, or remove the table")
		}
	case o.Issuer == "":
	case o.Audience == "":
		l.clash(issuer, audience, issuer+" is set, but no "+audience+": tokens for other servers would be accepted; set it to what "+
			"the claim aud of tokens for this server has")
	case len(o.Roles) == 0:
		l.clash(issuer, roles, issuer+" is set, but no scope has a role; add [server.http.oauth.roles] with lines such as "+
			"\"ptyctl:write\" = \"write\"")
	}
}
