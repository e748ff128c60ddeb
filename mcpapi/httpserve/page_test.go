package httpserve_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"ptyctl/mcpapi/httpserve"
	"ptyctl/mcpapi/identity"
	"ptyctl/watch"
)

// Tokens of people.
const (
	annToken = "ann-0123456789abcdef"
	bobToken = "bob-0123456789abcdef"
)

var withPeople = append([]httpserve.Token{
	{Name: "ann", Value: annToken, ReadOnly: true, Person: true}, {Name: "bob", Value: bobToken, Person: true},
}, allTokens...)

// servePage serves the page of a process. The site's own MCP server serves the calls of its people.
func servePage(t *testing.T, ln net.Listener, o httpserve.Options) *site {
	t.Helper()
	if ln == nil {
		var err error
		if ln, err = httpserve.Listen("127.0.0.1:0", len(o.Tokens) > 0); err != nil {
			t.Fatal(err)
		}
	}
	portal := watch.NewPortal(watch.PortalOptions{Version: "test"})
	o.Page = portal
	s := serveOn(t, ln, ln.Addr().String(), nil, o)
	inner := httpserve.New(s.mcp, httpserve.Options{
		Operator: true, Transport: identity.PageTransport, Results: identity.Full, Identify: watch.Identify,
	})
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() {
		if err := inner.Serve(ctx, portal.Listener()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		s.stop()
		cancel() // first: a listener that closes by itself is a fault of the inner server
		portal.Close()
		served.Wait()
	})
	return s
}

// page is a request that the page sends.
func (s *site) page(method, path, token, body string, headers ...string) message {
	m := message{method: method, path: httpserve.PagePath + path, token: token, body: body, header: make(http.Header)}
	if method == http.MethodPost {
		m.header.Set("Content-Type", "application/json")
		m.header.Set("Origin", "http://"+s.host)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			m.host = headers[i+1]
		}
		if m.header.Set(headers[i], headers[i+1]); headers[i+1] == "" {
			m.header.Del(headers[i])
		}
	}
	return m
}

// visit begins a visit and returns its token.
func (s *site) visit(token string) string {
	s.t.Helper()
	r := s.send(s.page(http.MethodPost, "api/login", token, "{}"))
	_, visit, _ := strings.Cut(r.text, `"token":"`)
	visit, _, _ = strings.Cut(visit, `"`)
	if r.status != http.StatusOK || visit == "" || visit == token {
		s.t.Fatalf("login of %s = %d %s, want a token of its own", token, r.status, r.text)
	}
	return visit
}

// The page is off by default, and a port without tokens of people admits no one to it.
func TestNoPage(t *testing.T) {
	off := newSite(t, httpserve.Options{Tokens: withPeople})
	for _, path := range []string{"", "app.js", "api/login", "api/stream"} {
		off.refused(off.send(off.page(http.MethodGet, path, bobToken, "")), http.StatusNotFound, "nothing at this path")
	}
	open := servePage(t, nil, httpserve.Options{})
	for _, token := range []string{"", "anything"} {
		open.refused(open.send(open.page(http.MethodPost, "api/login", token, "{}")), http.StatusUnauthorized, "token")
	}
	open.refused(open.send(open.page(http.MethodGet, "api/stream", "x", "")), http.StatusUnauthorized, "log in again")
}

// The page's files need no token, and keep no connection. All else needs the token of a person, and then that of the
// visit; no token is good for the other's place, and none of a person for MCP.
func TestPageTokens(t *testing.T) {
	var log bytes.Buffer
	logged := slog.New(slog.NewTextHandler(&log, nil))
	s := servePage(t, nil, httpserve.Options{Tokens: withPeople, Logger: logged, Metrics: http.NotFoundHandler()})
	for path, want := range map[string]string{"": "<!doctype html>", "app.js": "import", "api/login": `"with":"token"`} {
		resp, err := s.client.Do(s.request(t.Context(), s.page(http.MethodGet, path, "", "")))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || !strings.Contains(string(text), want) || !resp.Close ||
			!strings.HasPrefix(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("GET %s = %d %.40s, closed %t, policy %q; want the file with the policy, and the end of the connection", path,
				resp.StatusCode, text, resp.Close, resp.Header.Get("Content-Security-Policy"))
		}
	}
	if r := s.send(message{method: http.MethodHead, path: "/watch?x=1"}); r.status != http.StatusOK {
		t.Errorf("HEAD /watch, which leads to /watch/ = %d, want the page", r.status)
	}
	login := func(token string) reply { return s.send(s.page(http.MethodPost, "api/login", token, "{}")) }
	s.refused(login("wrong-0123456789abcdef"), http.StatusUnauthorized, "no such token")
	s.refused(login(""), http.StatusUnauthorized, "token missing")
	for _, token := range []string{writeToken, readToken} {
		s.refused(login(token), http.StatusForbidden, "is an agent's")
	}
	visit := s.visit(bobToken)
	s.refused(login(visit), http.StatusUnauthorized, "no such token")
	for _, token := range []string{"", "x", writeToken, bobToken} {
		for _, m := range []message{
			s.page(http.MethodGet, "api/recordings", token, ""), s.page(http.MethodPost, "api/take", token, "{}"),
			s.page(http.MethodGet, "api/nothing", token, ""),
		} {
			s.refused(s.send(m), http.StatusUnauthorized, "")
		}
	}
	if r := s.send(s.page(http.MethodGet, "api/recordings", visit, "")); r.status != http.StatusOK || r.text != "[]\n" {
		t.Errorf("the visit's own request = %d %s, want no recordings", r.status, r.text)
	}
	for _, token := range []string{visit, bobToken, annToken} {
		want, words := http.StatusForbidden, "is a person's"
		if token == visit {
			want, words = http.StatusUnauthorized, "no such token"
		}
		for _, path := range []string{httpserve.Path, "/metrics"} {
			s.refused(s.send(message{path: path, token: token, body: firstRequest}), want, words)
		}
	}
	s.stop()
	for _, secret := range []string{bobToken, annToken, writeToken, visit, "wrong-0123456789abcdef"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log shows the token %s: %s", secret, log.String())
		}
	}
	if !strings.Contains(log.String(), "no valid token") || !strings.Contains(log.String(), "token=writer") {
		t.Errorf("the log is %s, want the wrong token and the agent's", log.String())
	}
}

// Only the page itself may send requests: no page of another origin does, not one that may use MCP, and none by another
// name.
func TestPageOrigins(t *testing.T) {
	s := servePage(t, nil, httpserve.Options{Tokens: withPeople, Origins: []string{"https://tools.example.net"}})
	_, port, _ := net.SplitHostPort(s.host)
	for what, headers := range map[string][]string{
		"a foreign origin":          {"Origin", "https://evil.example"},
		"one that may use MCP":      {"Origin", "https://tools.example.net"},
		"a page of another port":    {"Origin", "http://127.0.0.1:1"},
		"the name of this machine":  {"Origin", "http://localhost:" + port},
		"no origin":                 {"Origin", ""},
		"the origin of a sandbox":   {"Origin", "null"},
		"a rebinding name":          {"Origin", "http://rebound.example:" + port, "Host", "rebound.example:" + port},
		"another site, as told":     {"Sec-Fetch-Site", "cross-site"},
		"another port, as told":     {"Sec-Fetch-Site", "same-site"},
		"another name, own origin":  {"Host", "rebound.example"},
		"a form of another page":    {"Content-Type", "text/plain"},
		"the name of all addresses": {"Host", "0.0.0.0:" + port},
	} {
		r := s.send(s.page(http.MethodPost, "api/login", bobToken, "{}", headers...))
		if r.status < 400 || strings.Contains(r.text, `"token"`) || r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("login of %s = %d %s, want a refusal", what, r.status, r.text)
		}
	}
	visit := s.visit(bobToken)
	for _, headers := range [][]string{
		{"Origin", "https://evil.example"}, {"Origin", "https://tools.example.net"}, {"Sec-Fetch-Site", "cross-site"},
		{"Host", "rebound.example"},
	} {
		for _, path := range []string{"", "app.js", "api/recordings"} {
			if r := s.send(s.page(http.MethodGet, path, visit, "", headers...)); r.status != http.StatusForbidden {
				t.Errorf("GET %s with %q = %d, want 403", path, headers, r.status)
			}
		}
	}
	if r := s.send(s.page(http.MethodGet, "", "", "", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")); r.status !=
		http.StatusOK {
		t.Errorf("a link on another site = %d %s, want the page", r.status, r.text)
	}
}

// An offLoopback listener has connections that seem to come to another address of this machine.
type offLoopback struct{ net.Listener }

func (l offLoopback) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return offLoopbackConn{c}, nil
}

type offLoopbackConn struct{ net.Conn }

func (c offLoopbackConn) LocalAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8765}
}

// In clear text the page is served to this machine alone.
func TestPageInClearText(t *testing.T) {
	ln, err := httpserve.Listen("127.0.0.1:0", true)
	if err != nil {
		t.Fatal(err)
	}
	ln = offLoopback{ln}
	s := servePage(t, ln, httpserve.Options{Tokens: withPeople})
	s.refused(s.send(s.page(http.MethodGet, "", "", "")), http.StatusForbidden, "over TLS alone")
	s.refused(s.send(s.page(http.MethodPost, "api/login", bobToken, "{}")), http.StatusForbidden, "over TLS alone")
}

// When a token is withdrawn or gets another value, the visits and streams of its person or the streams of its agent
// end. Those of other tokens go on.
func TestSetTokens(t *testing.T) {
	s := servePage(t, nil, httpserve.Options{Tokens: withPeople})
	bob, ann := s.visit(bobToken), s.visit(annToken)
	streams := make(map[string]io.ReadCloser)
	for name, token := range map[string]string{"writer": writeToken, "other": otherToken} {
		a := s.initialize(token, latest)
		resp, err := s.client.Do(s.request(context.Background(), message{
			method: http.MethodGet, token: token, session: a.session, revision: latest,
			header: http.Header{"Accept": {"text/event-stream"}},
		}))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("the stream of %s = %v, %v; want one", name, resp, err)
		}
		defer resp.Body.Close()
		streams[name] = resp.Body
	}
	var rest []httpserve.Token
	for _, k := range withPeople {
		switch k.Name {
		case "writer":
			continue
		case "bob":
			k.Value = "bob-another-0123456789"
		}
		rest = append(rest, k)
	}
	if n := s.handler.SetTokens(rest); n != 2 {
		t.Errorf("SetTokens = %d withdrawn, want 2", n)
	}
	_, _ = io.Copy(io.Discard, streams["writer"]) // ends, or the test does not
	recordings := func(visit string) reply { return s.send(s.page(http.MethodGet, "api/recordings", visit, "")) }
	s.refused(recordings(bob), http.StatusUnauthorized, "log in again")
	s.refused(s.send(s.page(http.MethodPost, "api/login", bobToken, "{}")), http.StatusUnauthorized, "no such token")
	s.refused(s.send(message{token: writeToken, body: firstRequest}), http.StatusUnauthorized, "no such token")
	if r := recordings(ann); r.status != http.StatusOK {
		t.Errorf("the visit of another person = %d %s, want that it goes on", r.status, r.text)
	}
	if r := s.send(message{token: otherToken, body: firstRequest}); r.status != http.StatusOK {
		t.Errorf("another token = %d %s, want that it is as before", r.status, r.text)
	}
	s.visit("bob-another-0123456789")
	// A port that has lost all its tokens admits no one.
	s.handler.SetTokens(nil)
	s.refused(s.send(message{body: firstRequest}), http.StatusUnauthorized, "token missing")
	s.refused(s.send(message{token: otherToken, body: firstRequest}), http.StatusUnauthorized, "no such token")
	s.refused(recordings(ann), http.StatusUnauthorized, "log in again")
}
