package lab

import (
	"net/http"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The tokens of these tests. They are secrets: no log, audit log or output may show one.
const (
	OpsToken = "ops-5a0c1f6e9b3d-1138"
	CiToken  = "ci-77d1e2c3b4a5-1138"
)

// TokensFile gives h two tokens.
func (h *Home) TokensFile(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(h.Dir, "tokens")
	h.Write(tb, path, "# who may come in\nops:write:"+OpsToken+"\nci:read:"+CiToken+"\n")
	h.Secrets = append(h.Secrets, OpsToken, CiToken)
	return path
}

// StartHTTP starts ptyctl with an HTTP transport on a free port, and returns the URL. At the end of the test it stops
// ptyctl if it still runs.
func (h *Home) StartHTTP(tb testing.TB, args ...string) (p *Program, url string) {
	tb.Helper()
	p = h.Start(tb, append([]string{"--transport", "http", "--listen", "127.0.0.1:0"}, args...)...)
	tb.Cleanup(p.Terminate)
	return p, p.URL()
}

// Terminate asks the process to end, as a service manager does.
func (p *Program) Terminate() {
	p.TB.Helper()
	if !p.running() {
		return
	}
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.TB.Error(err)
	}
	p.CheckEnd()
}

var servingAt = regexp.MustCompile(`ptyctl(?:-cluster)?: serving MCP at (https?://\S+)\n`)

// URL is where the program says that it serves.
func (p *Program) URL() string {
	p.TB.Helper()
	if !p.Log.WaitFor("/mcp\n", p.Ended) {
		p.TB.Fatalf("it does not say where it serves:\n%s", p.Log)
	}
	return servingAt.FindStringSubmatch(p.Log.String())[1]
}

// Bearer sends a token with each request; none if it is empty.
func Bearer(token string) http.RoundTripper { return bearing{token, http.DefaultTransport} }

// bearing adds a token to each request.
type bearing struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(r)
}

// Dial shakes hands over HTTP with a program that runs.
func (p *Program) Dial(tb testing.TB, url, token string) *Client {
	tb.Helper()
	return p.ConnectOver(
		tb,
		&mcp.StreamableClientTransport{
			Endpoint:   url,
			HTTPClient: &http.Client{Transport: Bearer(token)},
		},
		nil,
	)
}
