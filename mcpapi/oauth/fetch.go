package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-jose/go-jose/v4/json"
)

// Bounds of a fetch.
const (
	fetchTime    = 10 * time.Second // of a whole fetch
	maxDocument  = 1 << 20          // bytes of one document
	maxRedirects = 3
)

// How long keys may be cached: as the issuer says, within these bounds.
const (
	minFresh     = 5 * time.Minute
	maxFresh     = 24 * time.Hour
	defaultFresh = time.Hour // if the response has no lifetime
)

// A Fetched is the result of a fetch.
type Fetched struct {
	Document string // URL of the issuer's metadata
	KeySet   string // URL of its keys
	Keys     int    // usable ones

	keys  []key
	fresh time.Duration
}

// transportTo returns the transport for requests to an issuer. No connection is kept: the next request is minutes away.
func transportTo(issuer *url.URL) *http.Transport {
	dialer := &net.Dialer{Timeout: fetchTime}
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, DisableKeepAlives: true,
		TLSHandshakeTimeout: fetchTime, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
	}
	if issuer.Scheme == "http" { // the name localhost may lead elsewhere
		t.Proxy = nil
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			if to, err := netip.ParseAddrPort(address); err != nil || !to.Addr().Unmap().IsLoopback() {
				return errors.New("an issuer by http must be at a loopback address")
			}
			return nil
		}
	}
	return t
}

// sameHost follows a redirect to the same host alone.
func sameHost(r *http.Request, via []*http.Request) error {
	if first := via[0].URL; r.URL.Scheme != first.Scheme || r.URL.Host != first.Host || len(via) > maxRedirects {
		return errors.New("a redirect to another host, or one of too many, is not followed")
	}
	return nil
}

// documents returns the URLs at which an issuer may have its metadata, in the order of the MCP specification: RFC 8414
// section 3.1, and OpenID Connect Discovery 1.0 section 4 with the path inserted and appended.
func documents(issuer string) []string {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil // never: New has checked it
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	all := []string{
		origin + "/.well-known/oauth-authorization-server" + path,
		origin + "/.well-known/openid-configuration" + path,
		origin + path + "/.well-known/openid-configuration",
	}
	return slices.Compact(all)
}

// fetch asks the issuer for its metadata and its keys. known is the URL that had the metadata last; "": none.
func (v *Verifier) fetch(ctx context.Context, known string) (f Fetched, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	all := documents(v.o.Issuer)
	if i := slices.Index(all, known); i > 0 {
		all[0], all[i] = all[i], all[0]
	}
	var failures []string
	for _, at := range all {
		keySet, err := v.discover(ctx, at)
		if err != nil {
			failures = append(failures, at+": "+err.Error())
			continue
		}
		f, err = v.fetchKeys(ctx, keySet)
		f.Document = at
		if err != nil {
			return f, fmt.Errorf("%s: %w", keySet, err)
		}
		return f, nil
	}
	return f, errors.New(strings.Join(failures, "; "))
}

// discover returns the URL of the key set that the issuer's metadata has.
func (v *Verifier) discover(ctx context.Context, at string) (keySet string, err error) {
	text, _, err := v.get(ctx, at)
	if err != nil {
		return "", err
	}
	var said struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if json.Unmarshal(text, &said) != nil {
		return "", errors.New("the metadata is no JSON object")
	}
	// RFC 8414 section 3.3: otherwise one issuer could speak for another.
	if said.Issuer != v.o.Issuer {
		return "", fmt.Errorf("the metadata is of the issuer %.200q, not of %q", said.Issuer, v.o.Issuer)
	}
	u, err := url.Parse(said.JWKSURI)
	if err != nil || u.Host == "" {
		return "", errors.New("the metadata has no jwks_uri that is a URL")
	}
	if u.Scheme != "https" && strings.HasPrefix(v.o.Issuer, "https:") {
		return "", errors.New("the jwks_uri is not https, and the issuer is")
	}
	return u.String(), checkScheme(u)
}

// fetchKeys fetches a key set.
func (v *Verifier) fetchKeys(ctx context.Context, at string) (Fetched, error) {
	text, head, err := v.get(ctx, at)
	if err != nil {
		return Fetched{}, err
	}
	keys, err := readKeys(text)
	return Fetched{KeySet: at, Keys: len(keys), keys: keys, fresh: freshFor(head)}, err
}

// get returns a document.
func (v *Verifier) get(ctx context.Context, at string) ([]byte, http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "ptyctl")
	resp, err := v.client.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // the caller names the URL
		}
		return nil, nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, nil, errors.New("the answer is " + strconv.Itoa(resp.StatusCode))
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err == nil && len(text) > maxDocument {
		err = errors.New("the answer is longer than 1 MiB")
	}
	return text, resp.Header, err
}

// freshFor returns how long the answer with these headers may be cached.
func freshFor(head http.Header) time.Duration {
	fresh := defaultFresh
	for part := range strings.SplitSeq(strings.Join(head.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(part)), "=")
		switch name {
		case "no-store", "no-cache":
			return minFresh
		case "max-age":
			if n, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31); err == nil {
				fresh = time.Duration(n) * time.Second
			}
		}
	}
	return min(max(fresh, minFresh), maxFresh)
}
