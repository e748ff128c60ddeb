package httpserve

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"

	"ptyctl/mcpapi/oauth"
)

// metadataPath begins the paths of the metadata of this server for clients of OAuth (RFC 9728).
const metadataPath = "/.well-known/oauth-protected-resource"

// OAuthPrefix begins the name of a caller with an access token, before the subject of the token. The name of no Token may
// have a colon, and so no subject can look like one.
const OAuthPrefix = "oauth:"

// keyOf returns the key of a request's token, or a new key for this request if it carries an access token. The caller
// ends the latter.
func (h *Handler) keyOf(r *http.Request) (*key, *refusal) {
	k, bad := h.tokens.Load().of(r)
	if bad == nil || h.o.OAuth == nil {
		return k, bad
	}
	value, missing := bearer(r)
	if missing != nil {
		return nil, h.challenge(r, http.StatusUnauthorized, "", missing.message)
	}
	if strings.Count(value, ".") != 2 { // it is no JWT
		return nil, h.challenge(r, http.StatusUnauthorized, "invalid_token", bad.message)
	}
	grant, err := h.o.OAuth.Verify(r.Context(), value)
	if err != nil {
		return nil, h.notGranted(r, err)
	}
	name := OAuthPrefix + grant.Subject
	k = newKey(Token{Name: name, ReadOnly: grant.Role != oauth.Write, Expires: grant.Expires},
		h.subjects.limiter(name, h.tokens.Load().perSecond))
	k.issuer = h.o.OAuth.Issuer()
	return k, nil
}

// notGranted refuses a request for the error of its access token.
func (h *Handler) notGranted(r *http.Request, err error) *refusal {
	why, ok := errors.AsType[*oauth.Error](err)
	switch {
	case !ok || why.Kind == oauth.Unavailable:
		bad := refuse(http.StatusServiceUnavailable, "this access token cannot be checked now: the keys of its issuer cannot be "+
			"fetched; wait, then send this again")
		bad.header("Retry-After", "10")
		return bad
	case why.Kind == oauth.Insufficient:
		return h.challenge(r, http.StatusForbidden, "insufficient_scope",
			why.Reason+"; ask for one of them, or ask the server's operator (server.http.oauth.roles)")
	}
	return h.challenge(r, http.StatusUnauthorized, "invalid_token", why.Reason+"; get another one from "+h.o.OAuth.Issuer())
}

// challenge refuses a request with the header that leads a client to the issuer, as RFC 6750 section 3, RFC 9728
// section 5.1 and the authorization specification of MCP demand. code is of RFC 6750; "": the request has no token.
func (h *Handler) challenge(r *http.Request, status int, code, message string) *refusal {
	value := `Bearer realm="ptyctl", resource_metadata="` + metadataOf(h.resource(r)) + `", scope="` +
		strings.Join(h.o.OAuth.Scopes(), " ") + `"`
	if code != "" {
		value += `, error="` + code + `"`
	}
	bad := refuse(status, message)
	bad.header("WWW-Authenticate", value)
	return bad
}

// metadata serves the metadata of RFC 9728. It needs no token.
func (h *Handler) metadata(w *answer, r *http.Request) *refusal {
	if bad := h.guard(r); bad != nil {
		return bad
	}
	resource := h.resource(r)
	if at := r.URL.Path; at != metadataPath && at != metadataPath+Path && at != metadataPath+resource.Path {
		return refuse(http.StatusNotFound, "nothing at this path; the metadata for OAuth is at "+metadataPath+Path)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return notAllowed("GET, HEAD")
	}
	body, err := json.Marshal(struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name"`
	}{resource.String(), []string{h.o.OAuth.Issuer()}, h.o.OAuth.Scopes(), []string{"header"}, "ptyctl"})
	if err != nil {
		return refuse(http.StatusInternalServerError, "the answer cannot be written as JSON")
	}
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("Connection", "close") // no token was needed, so the connection must not be kept
	_, _ = w.Write(append(body, '\n'))
	return nil
}

// resource returns the URL of MCP at this server, as its clients write it. That is the audience, if it is a URL; clients
// compare it with the URL that they use. An audience may also be a name, for which the URL of the request counts.
func (h *Handler) resource(r *http.Request) *url.URL {
	if u, err := url.Parse(h.o.OAuth.Audience()); err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") {
		return u
	}
	u := &url.URL{Scheme: "http", Host: r.Host, Path: Path}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	// A name of another machine at a port of this one: a proxy has the TLS.
	if isTLS(r) || local != nil && Loopback(local) && !ofLoopback(r.Host) {
		u.Scheme = "https"
	}
	return u
}

// ofLoopback reports whether the Host of a request means this machine, wherever it is written.
func ofLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}

// metadataOf returns the URL of the metadata of a resource: RFC 9728 section 3 inserts the path before that of the
// resource.
func metadataOf(resource *url.URL) string {
	return (&url.URL{Scheme: resource.Scheme, Host: resource.Host, Path: metadataPath + resource.Path}).String()
}

// maxSubjects is how many callers with access tokens are remembered for their rate.
const maxSubjects = 10_000

// subjects are the rates of callers with access tokens, who have a new key in each request. The zero value is ready to
// use.
type subjects struct {
	mu     sync.Mutex // guards the following
	byName map[string]limiter
}

// limiter returns the limiter of a caller.
func (s *subjects) limiter(name string, perSecond int) limiter {
	if perSecond == 0 {
		return limiter{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.byName[name]
	if ok {
		return l
	}
	if s.byName == nil {
		s.byName = make(map[string]limiter)
	}
	if len(s.byName) >= maxSubjects {
		for n, old := range s.byName {
			if old.Tokens() >= float64(old.Burst()) { // a new one would be the same
				delete(s.byName, n)
			}
		}
	}
	l = newLimiter(perSecond)
	s.byName[name] = l
	return l
}
