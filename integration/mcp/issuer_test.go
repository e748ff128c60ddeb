package mcp

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"ptyctl/internal/lab"
)

// An authorizer is oidc-provider, run by issuer.mjs.
type authorizer struct {
	URL   string
	in    io.WriteCloser
	lines *bufio.Reader
	end   func() // ends it, and waits for its end
}

// startAuthorizer starts an authorization server. It ends with the test.
func startAuthorizer(tb testing.TB) *authorizer {
	tb.Helper()
	node := installedNode(tb)
	cmd := node.run(tb, node.script(tb, "issuer.mjs"))
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	errors := lab.NewCapture()
	cmd.Stderr = errors
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	a := &authorizer{in: in, lines: bufio.NewReader(out)}
	a.end = sync.OnceFunc(func() {
		_ = in.Close()
		if _, err := io.Copy(io.Discard, a.lines); err != nil {
			tb.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			tb.Errorf("the issuer: %v: %s", err, errors)
		}
	})
	tb.Cleanup(a.end)
	if a.URL = a.line(tb); !strings.HasPrefix(a.URL, "http://127.0.0.1:") {
		tb.Fatalf("the issuer says %q and %s", a.URL, errors)
	}
	return a
}

// line returns the next line of its output.
func (a *authorizer) line(tb testing.TB) string {
	tb.Helper()
	text, err := a.lines.ReadString('\n')
	if err != nil {
		tb.Errorf("the issuer's output: %v", err)
	}
	return strings.TrimSpace(text)
}

// rotate gives it new keys in place of those that it has.
func (a *authorizer) rotate(tb testing.TB) {
	tb.Helper()
	if _, err := io.WriteString(a.in, "rotate\n"); err != nil {
		tb.Fatal(err)
	}
	if got := a.line(tb); got != "rotated" {
		tb.Fatalf("the issuer says %q, want its keys rotated", got)
	}
}

// token returns an access token of a client for a resource (RFC 6749 section 4.4, RFC 8707).
func (a *authorizer) token(tb testing.TB, client, scope, resource string) string {
	tb.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {scope}, "resource": {resource}}
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, a.URL+"/token", strings.NewReader(form.Encode()))
	if err != nil {
		tb.Fatal(err)
	}
	req.SetBasicAuth(client, "secret-of-"+client)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	var given struct {
		Token string `json:"access_token"`
		Error string `json:"error_description"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&given); err != nil || given.Token == "" {
		tb.Fatalf("the issuer gives %s no token: %s %s (%v)", client, resp.Status, given.Error, err)
	}
	return given.Token
}
