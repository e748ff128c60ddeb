package route_test

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ptyctl/mcpapi/httpserve"
)

// A poster is a client over HTTP, with an MCP session and a connection of its own.
type poster struct {
	client       *http.Client
	url, session string
}

// serveHTTP serves a node's clients over HTTP, and returns its address.
func serveHTTP(b *testing.B, n *node) string {
	b.Helper()
	h := httpserve.New(n.server, httpserve.Options{})
	s := httptest.NewServer(h)
	b.Cleanup(func() { h.Close(); s.Close() })
	return s.URL + httpserve.Path
}

// post connects a poster.
func post(b *testing.B, url string) *poster {
	b.Helper()
	p := &poster{client: &http.Client{Transport: &http.Transport{}}, url: url}
	b.Cleanup(p.client.CloseIdleConnections)
	p.ask(b, initialize)
	return p
}

// ask implements asker.
func (p *poster) ask(b *testing.B, request string) []byte {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, p.url, strings.NewReader(request))
	if err != nil {
		b.Error(err)
		return nil
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if p.session != "" {
		r.Header.Set("Mcp-Session-Id", p.session)
	}
	answer, err := p.client.Do(r)
	if err != nil {
		b.Error(err)
		return nil
	}
	defer answer.Body.Close()
	p.session = cmp.Or(answer.Header.Get("Mcp-Session-Id"), p.session)
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		b.Errorf("%s: %s %.300s, %v", request, answer.Status, text, err)
	}
	return text
}
