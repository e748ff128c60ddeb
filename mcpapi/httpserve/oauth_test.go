package httpserve_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/mcpapi/httpserve"
	"ptyctl/mcpapi/oauth"
	"ptyctl/term"
)

// The issuer of the tests, and the name that it knows the server by.
const (
	issuer   = "https://login.example.net"
	resource = "https://mcp.example.net/mcp"
)

// issuerKey signs the access tokens of the tests.
var issuerKey = ed25519.NewKeyFromSeed([]byte("a seed of thirty-two bytes, 1138"))

// An authority answers as issuer does, in memory.
type authority struct{ down bool }

// RoundTrip implements http.RoundTripper.
func (a *authority) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.down {
		return nil, errors.New("connection refused")
	}
	text := `{"issuer":"` + issuer + `","jwks_uri":"` + issuer + `/keys"}`
	if r.URL.Path == "/keys" {
		x := base64.RawURLEncoding.EncodeToString(issuerKey.Public().(ed25519.PublicKey))
		text = `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + x + `"}]}`
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// access returns an access token for a subject. It is valid for five minutes, unless other claims are given.
func access(sub, scope string, claims ...string) string {
	encode := base64.RawURLEncoding.EncodeToString
	exp := fmt.Sprintf(`"exp":%d`, time.Now().Add(5*time.Minute).Unix())
	if len(claims) > 0 {
		exp = strings.Join(claims, ",")
	}
	text := fmt.Sprintf(`{"iss":%q,"sub":%q,"aud":%q,"scope":%q,%s}`, issuer, sub, resource, scope, exp)
	input := encode([]byte(`{"alg":"EdDSA","typ":"at+jwt"}`)) + "." + encode([]byte(text))
	return input + "." + encode(ed25519.Sign(issuerKey, []byte(input)))
}

// accepting returns options with which access tokens for the audience are accepted.
func accepting(tb testing.TB, a *authority, audience string, o httpserve.Options) httpserve.Options {
	tb.Helper()
	v, err := oauth.New(oauth.Options{
		Issuer: issuer, Audience: audience, Transport: a, Logger: slog.New(slog.DiscardHandler),
		Roles: map[string]oauth.Role{"term.read": oauth.Read, "term.write": oauth.Write},
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(v.Close)
	o.OAuth = v
	return o
}

// Without a token for it the server says where its metadata is, and why a token is refused. A static token is accepted
// beside.
func TestOAuthChallenge(t *testing.T) {
	down := new(authority)
	var log strings.Builder
	var answers string
	var tokens []string
	s := newSite(t, accepting(t, down, resource, httpserve.Options{Tokens: allTokens, Logger: slog.New(slog.NewTextHandler(&log, nil))}))
	const metadata = `Bearer realm="ptyctl", resource_metadata="https://mcp.example.net/.well-known/oauth-protected-resource/mcp", ` +
		`scope="term.read term.write"`
	down.down = true
	waits := s.send(message{token: access("alice", "term.write"), body: `{}`})
	s.refused(waits, 503, "cannot be checked now")
	if waits.header.Get("Retry-After") == "" || strings.Contains(waits.text, "connection refused") {
		t.Errorf("without the issuer: %v %s, want a time to wait, and nothing of the way to the issuer", waits.header, waits.text)
	}
	down.down = false
	s.stop()
	s = newSite(t, accepting(t, down, resource, httpserve.Options{Tokens: allTokens, Logger: slog.New(slog.NewTextHandler(&log, nil))}))
	good := access("alice", "term.write")
	for name, test := range map[string]struct {
		token  string
		status int
		advice string
		header string
	}{
		"no token":         {"", 401, "token missing", metadata},
		"an unknown token": {"someone-0123456789abcdef", 401, "no such token", metadata + `, error="invalid_token"`},
		"no JWT":           {"a.b.c", 401, "no signed JWT", metadata + `, error="invalid_token"`},
		"expired":          {access("alice", "term.write", `"exp":1700000000`), 401, "has expired; get another one from " + issuer, metadata + `, error="invalid_token"`},
		"changed":          {good[:len(good)-8] + "AAAAAAAA", 401, "signature is wrong", metadata + `, error="invalid_token"`},
		"not valid yet":    {access("alice", "term.write", `"exp":4102444800,"nbf":4102444700`), 401, "not valid yet", metadata + `, error="invalid_token"`},
		"another scope":    {access("alice", "profile"), 403, "none of the scopes term.read, term.write", metadata + `, error="insufficient_scope"`},
	} {
		r := s.send(message{token: test.token, body: `{}`})
		s.refused(r, test.status, test.advice)
		if got := r.header.Get("WWW-Authenticate"); got != test.header {
			t.Errorf("%s: WWW-Authenticate is\n%s, want\n%s", name, got, test.header)
		}
		tokens, answers = append(tokens, test.token), answers+r.text
	}
	for _, token := range []string{writeToken, good, access("bob", "term.read")} {
		if r := s.initialize(token, latest).ask("tools/list", ""); r.status != 200 {
			t.Errorf("tools/list = %d %s, want success", r.status, r.text)
		}
	}
	// A token in the query is ignored (RFC 6750 section 2.3 allows it, OAuth 2.1 does not).
	s.refused(s.send(message{path: httpserve.Path + "?access_token=" + good, body: `{}`}), 401, "token missing")
	// Two Authorization headers count as no token.
	s.refused(s.send(message{header: http.Header{"Authorization": {"Bearer " + good, "Bearer " + good}}, body: `{}`}), 401, "token missing")
	s.stop()
	if !strings.Contains(log.String(), "no valid token") {
		t.Errorf("the log does not say that tokens were refused: %s", log.String())
	}
	for part := range strings.FieldsFuncSeq(strings.Join(tokens, "."), func(r rune) bool { return r == '.' }) {
		if len(part) > 10 && strings.Contains(answers+log.String(), part) {
			t.Errorf("an answer or the log has the part %s of a token", part)
		}
	}
}

// Without static tokens, a request still needs an access token.
func TestOAuthAlone(t *testing.T) {
	s := newSite(t, accepting(t, new(authority), resource, httpserve.Options{}))
	s.refused(s.send(message{body: `{}`}), 401, "token missing")
	s.handler.SetTokens(nil)
	s.refused(s.send(message{body: `{}`}), 401, "token missing")
	if r := s.initialize(access("alice", "term.write"), latest).ask("tools/list", ""); r.status != 200 {
		t.Errorf("tools/list = %d %s, want success", r.status, r.text)
	}
}

// The metadata of RFC 9728 is served without a token, under the names of this server alone.
func TestOAuthMetadata(t *testing.T) {
	type metadata struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name"`
	}
	const path = "/.well-known/oauth-protected-resource"
	get := func(s *site, path, host string) reply {
		return s.send(message{method: http.MethodGet, path: path, host: host})
	}
	for name, test := range map[string]struct{ audience, host, resource, at string }{
		"a URL":              {resource, "", resource, "https://mcp.example.net" + path + "/mcp"},
		"a URL with a path":  {"https://example.net/a/mcp", "", "https://example.net/a/mcp", "https://example.net" + path + "/a/mcp"},
		"a URL without path": {"https://example.net", "", "https://example.net", "https://example.net" + path},
		"a name":             {"ptyctl", "localhost:8765", "http://localhost:8765/mcp", "http://localhost:8765" + path + "/mcp"},
		"a name, an address": {"api://7", "[::1]:8765", "http://[::1]:8765/mcp", "http://[::1]:8765" + path + "/mcp"},
		"behind a proxy":     {"ptyctl", "mcp.example.net", "https://mcp.example.net/mcp", "https://mcp.example.net" + path + "/mcp"},
	} {
		s := newSite(t, accepting(t, new(authority), test.audience, httpserve.Options{Hosts: []string{"mcp.example.net"}}))
		_, inserted, _ := strings.Cut(test.at, path)
		for _, p := range []string{path, path + "/mcp", path + inserted} {
			r := get(s, p, test.host)
			var got metadata
			if err := json.Unmarshal([]byte(r.text), &got); err != nil || r.status != 200 ||
				r.header.Get("Content-Type") != "application/json" || got.Resource != test.resource ||
				fmt.Sprintf("%v %v %v %s", got.Servers, got.Scopes, got.Methods, got.Name) != "["+issuer+"] [term.read term.write] [header] ptyctl" {
				t.Errorf("%s: %s = %d %s, want the metadata of %s", name, p, r.status, r.text, test.resource)
			}
		}
		r := s.send(message{host: test.host, body: `{}`})
		if got := r.header.Get("WWW-Authenticate"); !strings.Contains(got, `resource_metadata="`+test.at+`"`) {
			t.Errorf("%s: WWW-Authenticate is %s, want %s", name, got, test.at)
		}
		s.refused(get(s, path, "evil.test"), 403, "wrong Host")
		s.refused(get(s, path+"/other", test.host), 404, "nothing at this path")
		s.refused(s.send(message{path: path, host: test.host, body: `{}`}), 405, "use GET or HEAD")
		s.refused(s.send(message{method: http.MethodGet, path: path, header: http.Header{"Origin": {"https://evil.test"}}}), 403, "wrong Origin")
	}
	s := newSite(t, httpserve.Options{Tokens: allTokens})
	s.refused(get(s, path, ""), 404, "nothing at this path")
	if r := s.send(message{body: `{}`}); strings.Contains(r.header.Get("WWW-Authenticate"), "resource_metadata") {
		t.Errorf("without OAuth the challenge is %s", r.header.Get("WWW-Authenticate"))
	}
}

// A subject is a caller of its own: neither another subject nor a static token has its MCP session, its locks, its
// terminals or its requests. Its tokens are one caller, each with its role.
func TestSubjectsAreCallers(t *testing.T) {
	var seen diary
	names := append([]httpserve.Token{{Name: "alice", Value: "alice-0123456789abcdef"}}, allTokens...)
	s := newSite(t, accepting(t, new(authority), resource, httpserve.Options{Tokens: names, Isolate: true}), &seen)
	alice := s.initialize(access("alice", "term.write"), latest)
	id := alice.open()
	if e := seen.of(term.VerbOpen); e.Actor.Token != "oauth:alice" || e.Actor.Issuer != issuer || e.Actor.Transport != "http" {
		t.Errorf("the record has %+v, want the subject and the issuer", e.Actor)
	}
	if r := alice.call("ptyctl_session", `{"action":"lock","session_id":"`+id+`","task_id":"deploy","lock_ttl_ms":60000}`); r.ErrorCode != "" {
		t.Fatalf("lock = %s, want success", r.text)
	}
	others := map[string]string{
		"another subject": access("bob", "term.write"), "a subject in other letters": access("Alice", "term.write"),
		"a subject with the prefix": access("oauth:alice", "term.write"), "a token of that name": "alice-0123456789abcdef",
		"a subject of a token's name": access("writer", "term.write"),
	}
	for name, token := range others {
		thief := alice
		thief.token = token
		s.refused(thief.ask("tools/list", ""), 404, "no such MCP session")
		m := thief.message
		m.method = http.MethodDelete
		s.refused(s.send(m), 404, "no such MCP session")
		m.method = http.MethodGet
		s.refused(s.send(m), 404, "no such MCP session")
		other := s.initialize(token, latest)
		if r := other.call("ptyctl_session", `{"action":"status","session_id":"`+id+`"}`); r.ErrorCode != "NOT_FOUND" {
			t.Errorf("%s sees the terminal: %s", name, r.text)
		}
		if r := other.call("ptyctl_session_io", `{"action":"write","session_id":"`+id+`","task_id":"deploy","data":"x"}`); r.ErrorCode == "" {
			t.Errorf("%s types: %s", name, r.text)
		}
	}
	again := alice
	again.token = access("alice", "term.write", `"exp":4102444800`) // as after a refresh
	if r := again.call("ptyctl_session_io",
		`{"action":"write","session_id":"`+id+`","task_id":"deploy","data":"x","until_regex":"x"}`); r.Chunk != "x" {
		t.Errorf("another token of the subject: %s, want success in the same MCP session", r.text)
	}
	again.token = access("alice", "term.read")
	if r := again.call("ptyctl_session", `{"action":"status","session_id":"`+id+`"}`); r.ErrorCode != "" {
		t.Errorf("a token that reads: %s, want success", r.text)
	}
	if r := again.call("ptyctl_session_io", `{"action":"write","session_id":"`+id+`","task_id":"deploy","data":"x"}`); r.ErrorCode != "POLICY_DENIED" ||
		!strings.Contains(r.Message, "the token oauth:alice has the role read") {
		t.Errorf("a token that reads types: %s, want a refusal", r.text)
	}

	// Without isolation a lock still belongs to its subject.
	s = newSite(t, accepting(t, new(authority), resource, httpserve.Options{}))
	alice = s.initialize(access("alice", "term.write"), latest)
	id = alice.open()
	if r := alice.call("ptyctl_session", `{"action":"lock","session_id":"`+id+`","task_id":"deploy","lock_ttl_ms":60000}`); r.ErrorCode != "" {
		t.Fatalf("lock = %s, want success", r.text)
	}
	refusedAll(t, s.initialize(access("bob", "term.write"), latest), id, "deploy", "another client holds")
	refusedAll(t, s.modern(access("bob", "term.write")), id, "deploy", "another client holds")
}

// An access token does not open the page of people, like any other token of an agent.
func TestOAuthOpensNoPage(t *testing.T) {
	s := servePage(t, nil, accepting(t, new(authority), resource, httpserve.Options{Tokens: withPeople}))
	r := s.send(s.page(http.MethodPost, "api/login", access("ann", "term.write"), ""))
	if r.status != 401 && r.status != 403 {
		t.Errorf("login with an access token = %d %s, want a refusal", r.status, r.text)
	}
	if s.visit(annToken) == "" {
		t.Error("a person's own token begins no visit")
	}
}

// Requests with a token end when it expires, even a silent stream and a waiting call. Later requests with it are
// refused.
func TestOAuthTokenEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newBubbleSite(t, accepting(t, new(authority), resource, httpserve.Options{}))
		begin := time.Now().Truncate(time.Second)
		token := access("alice", "term.write", fmt.Sprintf(`"exp":%d`, begin.Add(10*time.Minute).Unix()))
		alice := s.initialize(token, latest)
		id := alice.open()
		status, stream := alice.listen(t.Context())
		if status != 200 {
			t.Fatalf("status of the stream = %d, want 200", status)
		}
		ended := make(chan time.Duration, 2)
		go func() {
			_, _ = io.Copy(io.Discard, stream)
			ended <- time.Since(begin)
		}()
		time.Sleep(9*time.Minute + 50*time.Second)
		go func() {
			_, _ = s.try(alice.asking("tools/call", calling("ptyctl_session_io",
				`{"action":"read","session_id":"`+id+`","cursor":"0","timeout_ms":30000}`)))
			ended <- time.Since(begin)
		}()
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if len(ended) != 0 {
			t.Fatalf("a request ended after %v, before its token", <-ended)
		}
		for range 2 {
			if after := <-ended; after.Round(time.Second) != 10*time.Minute {
				t.Errorf("a request ended after %v, want 10 min", after)
			}
		}
		s.refused(alice.ask("tools/list", ""), 401, "has expired")
		alice.token = access("alice", "term.write")
		if r := alice.ask("tools/list", ""); r.status != 200 {
			t.Errorf("the next token = %d %s, want it to go on in the same MCP session", r.status, r.text)
		}
	})
}

// Subjects share the number of MCP sessions: the subject with the most loses one to another subject. Each has its own
// rate.
func TestSubjectsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newBubbleSite(t, accepting(t, new(authority), resource, httpserve.Options{RateLimit: 10}))
		s.handler.LimitMCPSessions(20)
		quiet := s.initialize(access("quiet", "term.read"), latest)
		for range 30 {
			s.initialize(access("greedy", "term.read"), latest)
			time.Sleep(time.Second)
		}
		if n := s.handler.MCPSessions(); n != 20 {
			t.Errorf("%d MCP sessions, want 20", n)
		}
		for n := range 10 {
			s.initialize(access(fmt.Sprint("user", n), "term.read"), latest)
		}
		if n := s.handler.MCPSessions(); n != 20 {
			t.Errorf("%d MCP sessions, want 20", n)
		}
		if r := quiet.ask("tools/list", ""); r.status != 200 {
			t.Errorf("who has one session = %d %s, want it kept", r.status, r.text)
		}
		greedy := s.initialize(access("greedy", "term.read"), latest)
		for range 60 {
			greedy.token = access("greedy", "term.read", fmt.Sprintf(`"exp":4102444800,"jti":%q`, fmt.Sprint(time.Now().UnixNano())))
			if r := greedy.ask("tools/list", ""); r.status == 429 {
				if r := quiet.ask("tools/list", ""); r.status != 200 {
					t.Errorf("another subject = %d %s, want success", r.status, r.text)
				}
				return
			}
		}
		t.Error("60 requests at once were served, want a rate of 10 a second for the subject, whatever token it has")
	})
}
