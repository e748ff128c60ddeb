package integration

import (
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A site is a ptyctl that serves MCP over HTTP on a port of the loopback address.
type site struct {
	*program
	url string
}

// serve starts a site.
func (h *home) serve(tb testing.TB, args ...string) *site {
	tb.Helper()
	s := &site{program: h.start(tb, append([]string{"--transport", "http", "--listen", "127.0.0.1:0"}, args...)...)}
	s.serves = true
	eventually(tb, "a port that is listened on", func() bool {
		m := servingAt.FindStringSubmatch(s.log.String())
		if m == nil && !s.running() {
			tb.Fatalf("ptyctl ended: %v\n%s", s.status, s.log)
		}
		if m != nil {
			s.url = m[1]
		}
		return m != nil
	})
	return s
}

// connect shakes hands as a client of the official SDK for Go, which bears token, if there is one.
func (s *site) connect(tb testing.TB, token string) *mcp.ClientSession {
	tb.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "integration", Version: "1"}, nil).
		Connect(tb.Context(), &mcp.StreamableClientTransport{Endpoint: s.url, HTTPClient: &http.Client{Transport: bearer(token)}}, nil)
	if err != nil {
		tb.Fatalf("the handshake failed: %v; the log:\n%s", err, s.log)
	}
	tb.Cleanup(func() { session.Close() })
	return session
}

// A bearer sends its token with each request. The empty one sends none.
type bearer string

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}
