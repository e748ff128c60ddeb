package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/internal/lab"
)

// serveOAuth starts a ptyctl that accepts tokens of an authorization server for its URL, besides static ones.
func serveOAuth(t *testing.T, a *authorizer, servers ...*lab.SSHD) (h *lab.Home, p *lab.Program, mcpURL string) {
	t.Helper()
	listen := fmt.Sprintf("127.0.0.1:%d", lab.FreePort(t))
	mcpURL = "http://" + listen + "/mcp"
	h = lab.HomeFor(t, servers)
	config, err := os.ReadFile(h.Config)
	if err != nil {
		t.Fatal(err)
	}
	h.Write(t, h.Config, string(config)+"[server.http]\ntokens_file = '"+h.TokensFile(t)+"'\n[server.http.oauth]\nissuer = '"+a.URL+
		"'\naudience = '"+mcpURL+"'\nroles = {\"term.read\" = \"read\", \"term.write\" = \"write\"}\n")
	p, got := h.StartHTTP(t, "--config", h.Config, "--listen", listen)
	if got != mcpURL {
		t.Fatalf("it serves at %s, want %s", got, mcpURL)
	}
	return h, p, mcpURL
}

// hide has a token looked for in all that the program writes.
func hide(p *lab.Program, token string) string {
	parts := strings.Split(token, ".")
	p.Hide(parts[1], parts[2])
	return token
}

// Real tokens of a real issuer: each algorithm, both roles, and each reason to refuse one.
func TestOAuth(t *testing.T) {
	s := lab.StartSSHD(t)
	a := startAuthorizer(t)
	h, p, mcpURL := serveOAuth(t, a, s)
	ask := func(token string) (int, string) {
		return fetch(t, "POST", mcpURL, token, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	}
	const noSession = 400 // the token is accepted; the request then lacks an MCP session
	writes := hide(p, a.token(t, "rsa", "term.write", mcpURL))
	reads := hide(p, a.token(t, "ed", "term.read", mcpURL))
	for _, token := range []string{writes, reads, hide(p, a.token(t, "ec", "term.read term.write other", mcpURL))} {
		if status, text := ask(token); status != noSession {
			t.Errorf("a good token: %d %s", status, text)
		}
	}
	for name, test := range map[string]struct {
		token  string
		status int
		why    string
	}{
		"of another server": {a.token(t, "rsa", "term.write", strings.TrimSuffix(mcpURL, "/mcp")), 401, "another audience"},
		"another scope":     {a.token(t, "rsa", "other", mcpURL), 403, "none of the scopes term.read, term.write"},
	} {
		if status, text := ask(hide(p, test.token)); status != test.status || !strings.Contains(text, test.why) {
			t.Errorf("a token %s: %d %s, want %d: %s", name, status, text, test.status, test.why)
		}
	}
	brief := hide(p, a.token(t, "brief", "term.write", mcpURL))
	lab.Eventually(t, "the token expires", func() bool {
		status, text := ask(brief)
		return status == 401 && strings.Contains(text, "expired")
	})

	c := p.Dial(t, mcpURL, writes)
	id := c.Open(t, s)
	if r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo hello"}`, id); r.Stdout != "hello\n" {
		t.Errorf("exec: %s", r.Text)
	}
	reader := p.Dial(t, mcpURL, reads)
	if r := reader.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","until_idle_ms":100}`, id); r.ErrorCode != "" {
		t.Errorf("the scope term.read reads: %s", r.Text)
	}
	if r, err := reader.Try(t.Context(), lab.ToolExec, `{"session_id":%s,"cmd":"id"}`, id); err != nil || r.ErrorCode != "POLICY_DENIED" {
		t.Errorf("the scope term.read runs a command: %v %s", err, r.Text)
	}
	if r := p.Dial(t, mcpURL, lab.OpsToken).Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo static"}`, id); r.Stdout != "static\n" {
		t.Errorf("a static token beside: %s", r.Text)
	}

	// The issuer rotates its keys: the new one is fetched for the first token that names it, and the old ones are gone.
	if status, _ := ask(writes); status != noSession {
		t.Errorf("before the rotation: %d", status)
	}
	a.rotate(t)
	if status, text := ask(hide(p, a.token(t, "ec", "term.write", mcpURL))); status != noSession {
		t.Errorf("a token of the new key: %d %s", status, text)
	}
	if status, text := ask(writes); status != 401 || !strings.Contains(text, "key is not among those") {
		t.Errorf("a token of a key that was removed: %d %s", status, text)
	}

	out, _, status := h.Run(t, "doctor", "--config", h.Config)
	if want := a.URL + " has 3 usable keys at " + a.URL + "/jwks"; !strings.Contains(out, want) {
		t.Errorf("doctor (status %d) says %s, want %s", status, out, want)
	}
	after := hide(p, a.token(t, "ed", "term.write", mcpURL))
	a.end()
	if status, text := ask(after); status != noSession { // the keys are cached
		t.Errorf("while the issuer is gone: %d %s", status, text)
	}
	if out, _, status := h.Run(t, "doctor", "--config", h.Config); status != 1 || !strings.Contains(out, "its keys cannot be fetched") {
		t.Errorf("doctor (status %d) without the issuer says %s", status, out)
	}
	if status, text := fetch(t, "GET", strings.TrimSuffix(mcpURL, "/mcp")+"/metrics", after, ""); status != 200 ||
		!strings.Contains(text, "ptyctl_oauth_fetch_failures_total 0\n") {
		t.Errorf("/metrics: %d %s", status, text)
	}
	p.Terminate()
	p.EndEngine()
	s.WaitIdle(t)
	log, err := os.ReadFile(h.Audit)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"token":"oauth:rsa","issuer":"` + a.URL + `"`, `"token":"oauth:ed","issuer":"` + a.URL + `"`, `"token":"ops"`,
	} {
		if !bytes.Contains(log, []byte(want)) || bytes.Contains(log, []byte(`"token":"ops","issuer"`)) {
			t.Errorf("the audit log lacks %s:\n%s", want, log)
		}
	}
}

// An MCP client that knows the URL alone finds the issuer by the answer 401, logs a person in there with PKCE, and calls
// a tool as this person.
func TestOAuthLogin(t *testing.T) {
	a := startAuthorizer(t)
	h, p, mcpURL := serveOAuth(t, a)
	resp, err := http.Post(mcpURL, "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	challenge := resp.Header.Get("WWW-Authenticate")
	found := regexp.MustCompile(`resource_metadata="([^"]+)".* scope="([^"]+)"`).FindStringSubmatch(challenge)
	if resp.StatusCode != 401 || found == nil {
		t.Fatalf("without a token: %s %q", resp.Status, challenge)
	}
	_, text := fetch(t, "GET", found[1], "", "")
	var metadata struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
	}
	if err := json.Unmarshal([]byte(text), &metadata); err != nil || metadata.Resource != mcpURL ||
		len(metadata.Servers) != 1 || metadata.Servers[0] != a.URL {
		t.Fatalf("the metadata: %s (%v), want the issuer of %s", text, err, mcpURL)
	}

	store := client.NewMemoryTokenStore()
	c, err := client.NewOAuthStreamableHttpClient(mcpURL, client.OAuthConfig{
		ClientID: "desk", TokenEndpointAuthMethod: "none", RedirectURI: "http://127.0.0.1/callback", TokenStore: store,
		Scopes: strings.Fields(found[2]), PKCEEnabled: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	hello := mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: "2025-11-25", ClientInfo: mcp.Implementation{Name: "desk", Version: "1"},
	}}
	_, err = c.Initialize(t.Context(), hello)
	if !client.IsOAuthAuthorizationRequiredError(err) {
		t.Fatalf("initialize without a token: %v, want the client told to log in", err)
	}
	login := client.GetOAuthHandler(err)
	verifier, err := client.GenerateCodeVerifier()
	if err != nil {
		t.Fatal(err)
	}
	state, err := client.GenerateState()
	if err != nil {
		t.Fatal(err)
	}
	address, err := login.GetAuthorizationURL(t.Context(), state, client.GenerateCodeChallenge(verifier))
	if err != nil {
		t.Fatal(err)
	}
	answer := logIn(t, address, "alice")
	if err := login.ProcessAuthorizationResponse(t.Context(), answer.Get("code"), answer.Get("state"), verifier); err != nil {
		t.Fatal(err)
	}
	token, err := store.GetToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hide(p, token.AccessToken)
	if _, err := c.Initialize(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	call := mcp.CallToolRequest{Params: mcp.CallToolParams{
		Name: lab.ToolSession, Arguments: json.RawMessage(`{"action":"open","protocol":"ssh","host":"no-such-host.invalid"}`),
	}}
	if r, err := c.CallTool(t.Context(), call); err != nil || !r.IsError {
		t.Errorf("open: %+v %v, want an error about the host", r, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	p.Terminate()
	lines := lab.AuditLines(t, h.Audit, "open")
	if len(lines) == 0 || lines[0].Actor == nil || lines[0].Actor.Token != "oauth:alice" || lines[0].Actor.Issuer != a.URL {
		t.Errorf("the audit log has %+v, want the person and the issuer", lines)
	}
}

// logIn opens the page of an authorization request as a browser does, gives a name and consents, and returns the values
// that the client gets.
func logIn(t *testing.T, address, name string) url.Values {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/callback" {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	form := regexp.MustCompile(`action="([^"]+)"[^>]*>\s*<input type="hidden" name="prompt" value="(\w+)"`)
	resp, err := browser.Get(address)
	for range 3 { // the login, the consent, and the way back
		if err != nil {
			t.Fatal(err)
		}
		text, readErr := io.ReadAll(resp.Body)
		resp.Body.Close()
		if readErr != nil {
			t.Fatal(readErr)
		}
		if to, err := resp.Location(); err == nil && to.Path == "/callback" {
			return to.Query()
		}
		page := form.FindSubmatch(text)
		if page == nil {
			t.Fatalf("the issuer's page %s has no form: %s %s", resp.Request.URL, resp.Status, text)
		}
		next, err := resp.Request.URL.Parse(string(page[1]))
		if err != nil {
			t.Fatal(err)
		}
		resp, err = browser.PostForm(next.String(), url.Values{
			"prompt": {string(page[2])}, "login": {name}, "password": {"any"},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the issuer asks for ever more")
	return nil
}
