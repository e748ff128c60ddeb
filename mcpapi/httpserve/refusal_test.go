package httpserve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"ptyctl/mcpapi/httpserve"
)

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// cheap is the most that may be read of a request that is refused before its body: one
// fill of the server's buffer, and another for the end of the connection.
const cheap = 8 << 10

// drained is the amount that net/http reads after the answer, so that a client that still
// sends does not lose it, and one fill of a buffer.
const drained = 256<<10 + cheap

// A request with a body of 100 MB is refused for an earlier fault, and almost nothing of
// the body is read.
func TestRefusedBeforeTheBody(t *testing.T) {
	t.Parallel()
	const size = 100 << 20
	for name, c := range map[string]struct {
		m       message
		chunked bool
		most    int64
		status  int
		advice  string
		header  [2]string
	}{
		"no token": {
			m: message{}, status: 401, advice: "Authorization: Bearer TOKEN",
			header: [2]string{"WWW-Authenticate", `Bearer realm="ptyctl"`},
		},
		"wrong token": {
			m: message{token: writeToken + "x"}, status: 401, advice: "no such token",
			header: [2]string{"WWW-Authenticate", `Bearer realm="ptyctl", error="invalid_token"`},
		},
		"forged Host": {
			m: message{token: writeToken, host: "evil.example"}, status: 403,
			advice: "server.http.allowed_hosts",
		},
		"foreign Origin": {
			m:      message{token: writeToken, header: http.Header{"Origin": {"https://evil.example"}}},
			status: 403, advice: "server.http.allowed_origins",
		},
		"no such path": {m: message{token: writeToken, path: "/"}, status: 404, advice: "/mcp"},
		"wrong method": {
			m: message{token: writeToken, method: "PUT"}, status: 405, advice: "GET or POST or DELETE",
			header: [2]string{"Allow", "GET, POST, DELETE"},
		},
		"not JSON": {
			m:      message{token: writeToken, header: http.Header{"Content-Type": {"text/plain"}}},
			status: 415, advice: "application/json",
		},
		"too large": {m: message{token: writeToken}, status: 413, advice: "at most 8388608 bytes"},
		"too large, unsaid": {
			m: message{token: writeToken}, chunked: true, most: 41<<20 + drained, status: 413,
			advice: "at most 8388608 bytes",
		},
		"no token, unsaid": {m: message{}, chunked: true, most: drained, status: 401, advice: "Authorization: Bearer TOKEN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, httpserve.Options{Tokens: allTokens})
			req := s.request(context.Background(), c.m)
			req.Body = io.NopCloser(io.LimitReader(spaces{}, size))
			req.ContentLength = size
			if c.chunked {
				req.ContentLength = -1
			}
			resp, err := s.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			r := reply{status: resp.StatusCode, header: resp.Header, text: string(text)}
			if err := json.Unmarshal(text, &r); err != nil {
				t.Fatal(err)
			}
			s.refused(r, c.status, c.advice)
			if h := c.header; resp.Header.Get(h[0]) != h[1] {
				t.Errorf("%s is %q, want %q", h[0], resp.Header.Get(h[0]), h[1])
			}
			s.stop() // no more is read
			most := max(c.most, cheap)
			if got := s.read.Load(); got > most {
				t.Errorf("%d bytes were read, want at most %d", got, most)
			} else {
				t.Logf("%d bytes were read", got)
			}
		})
	}
}

// spaces are endless leading white space of JSON.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	return copy(p, bytes.Repeat([]byte{' '}, len(p))), nil
}

func TestTokens(t *testing.T) {
	var log strings.Builder
	s := newSite(t, httpserve.Options{Tokens: allTokens, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	auth := func(values ...string) message {
		return message{body: listTools, header: http.Header{"Authorization": values}}
	}
	for name, m := range map[string]message{
		"none":           {body: listTools},
		"empty":          auth(""),
		"another scheme": auth("Basic " + writeToken),
		"no scheme":      auth(writeToken),
		"two headers":    auth("Bearer "+writeToken, "Bearer "+writeToken),
		"two in one":     auth("Bearer " + writeToken + ", Bearer " + writeToken),
		"a part":         auth("Bearer " + writeToken[:10]),
		"empty value":    auth("Bearer "),
		"in the query":   {body: listTools, path: "/mcp?access_token=" + writeToken},
		"on a GET":       {method: "GET"},
		"on a DELETE":    {method: "DELETE"},
		"on the metrics": {method: "GET", path: "/metrics"},
	} {
		r := s.send(m)
		status := 401
		if name == "on the metrics" {
			status = 404 // no such path on this server
		}
		s.refused(r, status, "")
		if r.status == 401 && r.header.Get("WWW-Authenticate") == "" {
			t.Errorf("refusal of %s has no WWW-Authenticate, want a challenge", name)
		}
	}
	for _, token := range []string{writeToken, otherToken, readToken} {
		s.initialize(token, latest)
		r := s.send(message{body: listTools, header: http.Header{"Authorization": {"bearer  " + token}}})
		s.refused(r, 400, "Mcp-Session-Id") // so the token was right
	}
	s.stop() // no more log entries
	if n := strings.Count(log.String(), "no valid token"); n != 1 ||
		strings.Contains(log.String(), "0123456789abcdef") {
		t.Errorf("refusals in the log = %d, want 1:\n%s", n, log.String())
	}
}

func TestHostAndOrigin(t *testing.T) {
	s := newSite(t, httpserve.Options{Hosts: []string{"ptyctl.test"}, Origins: []string{"https://pages.test"}})
	_, port, _ := net.SplitHostPort(s.host)
	begin := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	for host, ours := range map[string]bool{
		"localhost": true, "LOCALHOST:" + port: true, "127.0.0.1:" +
			port: true, "[::1]:1": true, "127.9.9.9": true, "ptyctl.test": true, "Ptyctl.Test:80": true,
		"evil.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "10.0.0.1": false, "0.0.0.0:" + port: false, "[::]": false, "xptyctl.test": false,
	} {
		if r := s.send(message{host: host, body: begin}); ours != (r.status == 200) {
			t.Errorf("status for Host %s = %d, want accepted %t", host, r.status, ours)
		} else if !ours {
			s.refused(r, 403, "Host")
		}
	}
	for origin, ours := range map[string]bool{
		"http://localhost:3000": true, "http://127.0.0.1:" +
			port: true, "https://ptyctl.test": true, "https://pages.test": true,
		"http://pages.test": false, "https://pages.test:444": false, "https://evil.example": false, "null": false, "file://": false, "": false, "localhost": false,
		"http://localhost.evil.example": false, "http://localhost@evil.example": false,
	} {
		if r := s.send(message{body: begin, header: http.Header{"Origin": {origin}}}); ours != (r.status == 200) {
			t.Errorf("status for Origin %q = %d, want accepted %t", origin, r.status, ours)
		} else if !ours {
			s.refused(r, 403, "origin")
		}
	}
	s.refused(
		s.send(message{body: begin, header: http.Header{"Origin": {"http://localhost", "http://localhost"}}}),
		403,
		"origin",
	)
}

// An id is valid only for the token that began the session, and only until it is deleted.
func TestMCPSessionIDs(t *testing.T) {
	s := newSite(t, httpserve.Options{Tokens: allTokens})
	mine := s.initialize(writeToken, latest)
	theirs := s.initialize(otherToken, latest)
	gone := s.initialize(writeToken, latest)
	m := gone.message
	m.method = http.MethodDelete
	if r := s.send(m); r.status != 200 {
		t.Fatalf("DELETE = %d %s, want success", r.status, r.text)
	}
	for name, id := range map[string]string{
		"forged": "AAAAAAAAAAAAAAAAAAAAAAAAAA", "in mcp-go's form": "mcp-session-01234567-89ab-cdef-0123-456789abcdef", "deleted": gone.session, "another token's": theirs.session,
	} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			t.Run(method+" "+name, func(t *testing.T) {
				s.refused(
					s.send(message{method: method, token: writeToken, session: id, revision: latest, body: listTools}),
					404,
					"initialize",
				)
			})
		}
	}
	for _, method := range []string{"POST", "GET", "DELETE"} {
		s.refused(
			s.send(message{method: method, token: writeToken, revision: latest, body: listTools}),
			400,
			"Mcp-Session-Id",
		)
	}
	for _, a := range []agent{mine, theirs} {
		if r := a.ask("tools/list", ""); r.status != 200 {
			t.Errorf("call in a live session = %d %s, want success", r.status, r.text)
		}
	}
	if n := s.handler.MCPSessions(); n != 2 {
		t.Errorf("%d sessions are kept, want 2", n)
	}
}

func TestMalformed(t *testing.T) {
	s := newSite(t, httpserve.Options{})
	a := s.initialize("", latest)
	for body, want := range map[string]struct {
		code   int
		advice string
	}{
		"":                            {-32700, "valid JSON"},
		"hello":                       {-32700, "valid JSON"},
		listTools[:20]:                {-32700, "valid JSON"},
		listTools + listTools:         {-32700, "valid JSON"},
		"[" + listTools + "]":         {-32600, "protocol revision 2025-03-26, and the one in effect is 2025-11-25"},
		"[]":                          {-32600, "protocol revision 2025-03-26"},
		`"hello"`:                     {-32600, "JSON-RPC object"},
		`{"method":5}`:                {-32600, "JSON-RPC object"},
		`{"method":"x","params":[1]}`: {-32600, "JSON-RPC object"},
		strings.Replace(listTools, "list", "l\xffst", 1):   {-32700, "UTF-8"},
		strings.Replace(listTools, `:1,`, `:null,`, 1):     {-32600, "here it is null, which JSON-RPC allows and MCP does not"},
		strings.Replace(listTools, `:1,`, `:{},`, 1):       {-32600, "a string or a whole number, and here it is an object"},
		strings.Replace(listTools, `:1,`, `:1.5,`, 1):      {-32600, "a string or a whole number, and here it is a"},
		strings.Replace(listTools, `:1,`, `:[1],`, 1):      {-32600, "a string or a whole number, and here it is a"},
		strings.Replace(listTools, `:1,`, `:1,"id":2,`, 1): {-32600, "given twice"},
	} {
		r := a.post(body)
		s.refused(r, 400, want.advice)
		if r.Error != nil && r.Error.Code != want.code {
			t.Errorf("%q: code %d, want %d", body, r.Error.Code, want.code)
		}
	}
	m := a.message
	m.body, m.revision = listTools, "1999-01-01"
	s.refused(s.send(m), 400, "2025-11-25")
	s.refused(
		s.send(message{method: "GET", revision: "2026-07-28"}),
		405,
		"subscriptions/listen",
	) // from mcp-go, in plain text there
	if r := a.ask("tools/list", ""); r.status != 200 {
		t.Errorf("call after the refusals = %d %s, want success", r.status, r.text)
	}
}

func TestHealthAndMetrics(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ptyctl_sessions 3") })
	s := newSite(t, httpserve.Options{Tokens: allTokens, Metrics: metrics})
	if r := s.send(message{method: "GET", path: "/healthz", host: "probe.example"}); r.status != 200 ||
		r.text != "{\"status\":\"ok\"}\n" {
		t.Errorf("GET /healthz = %d %q, want ok", r.status, r.text)
	}
	s.refused(s.send(message{path: "/healthz"}), 405, "GET")
	s.refused(s.send(message{method: "GET", path: "/metrics"}), 401, "token")
	s.refused(s.send(message{path: "/metrics", token: readToken}), 405, "GET")
	if r := s.send(message{method: "GET", path: "/metrics", token: readToken}); r.status != 200 ||
		r.text != "ptyctl_sessions 3\n" {
		t.Errorf("GET /metrics = %d %q, want the metrics", r.status, r.text)
	}
}

// A panic affects only its own request, and the answer says nothing about it.
func TestPanic(t *testing.T) {
	faulty := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the secret is hunter2") })
	var log strings.Builder
	s := newSite(t, httpserve.Options{Metrics: faulty, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	r := s.send(message{method: "GET", path: "/metrics"})
	s.refused(r, 500, "other requests still work")
	if strings.Contains(r.text, "hunter2") || !strings.Contains(log.String(), "hunter2") {
		t.Errorf("answer after a panic = %s, log %s; want the cause only in the log", r.text, log.String())
	}
	s.initialize("", latest)
}

// Without a token the server never listens on an address other than loopback.
func TestListen(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0"} {
		ln, err := httpserve.Listen(address, false)
		if err == nil {
			ln.Close()
			t.Errorf("Listen(%s) without a token succeeded, want an error", address)
		} else if !strings.Contains(err.Error(), "tokens_file") {
			t.Errorf("Listen(%s) without a token = %v, want tokens_file in the error", address, err)
		}
	}
	for address, tokens := range map[string]bool{"127.0.0.1:0": false, "localhost:0": false, "0.0.0.0:0": true} {
		ln, err := httpserve.Listen(address, tokens)
		if err != nil {
			t.Errorf("Listen(%s) = %v, want a listener", address, err)
			continue
		}
		if at := ln.Addr().(*net.TCPAddr).IP; strings.HasPrefix(address, "0.") && at.To4() == nil {
			t.Errorf("Listen(%s) has the address %s, want a port on the same host", address, at)
		}
		if _, err := httpserve.Listen(ln.Addr().String(), true); err == nil || !strings.Contains(err.Error(), "--listen") {
			t.Errorf("second Listen(%s) = %v, want an error with --listen", address, err)
		}
		ln.Close()
	}
	for _, address := range []string{"127.0.0.1", "127.0.0.1:none", "no such host:80"} {
		if _, err := httpserve.Listen(address, true); err == nil || !strings.Contains(err.Error(), "HOST:PORT") {
			t.Errorf("Listen(%s) = %v, want HOST:PORT in the error", address, err)
		}
	}
}

// The address on which a request arrived is a name of this server.
func TestHostIsTheAddress(t *testing.T) {
	ln, err := httpserve.Listen("0.0.0.0:0", true)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	s := serveOn(t, ln, "127.0.0.1:"+port, nil, httpserve.Options{Tokens: allTokens})
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		ip, ok := a.(*net.IPNet)
		if !ok || ip.IP.To4() == nil {
			continue
		}
		u := url.URL{Scheme: "http", Host: net.JoinHostPort(ip.IP.String(), port), Path: "/mcp"}
		resp, err := s.client.Post(u.String(), "application/json", strings.NewReader(listTools))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 401 {
			t.Errorf("%s: %s, want it to ask for a token", u.Host, resp.Status)
		}
	}
}

// TestReady: a server that should get no new clients reports itself not ready, but healthy.
func TestReady(t *testing.T) {
	var why error
	s := newSite(t, httpserve.Options{Tokens: allTokens, Ready: func() error { return why }})
	probe := func(path string) message { return message{method: "GET", path: path, host: "probe.example"} }
	ok := func(path string) {
		t.Helper()
		if r := s.send(probe(path)); r.status != 200 || r.text != "{\"status\":\"ok\"}\n" {
			t.Errorf("GET %s = %d %q, want ok", path, r.status, r.text)
		}
	}
	ok("/healthz")
	ok("/readyz")
	why = errors.New("this node takes no new sessions")
	ok("/healthz")
	s.refused(s.send(probe("/readyz")), 503, "takes no new sessions")
	if r := s.initialize(readToken, latest).ask("tools/list", ""); r.status != 200 {
		t.Errorf("a client that is there = %d, want an answer", r.status)
	}
	s = newSite(t, httpserve.Options{Tokens: allTokens})
	ok("/readyz")
	s.refused(s.send(message{path: "/readyz"}), 405, "GET")
}
