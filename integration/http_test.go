package integration

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The tokens of these tests. They are secrets: no log, audit log or output may show one.
const (
	opsToken = "ops-5a0c1f6e9b3d-1138"
	ciToken  = "ci-77d1e2c3b4a5-1138"
)

// tokensFile gives h two tokens.
func (h *home) tokensFile(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(h.dir, "tokens")
	h.write(tb, path, "# who may come in\nops:write:"+opsToken+"\nci:read:"+ciToken+"\n")
	h.secrets = append(h.secrets, opsToken, ciToken)
	return path
}

// startHTTP starts ptyctl with an HTTP transport on a free port, and returns where it is. Unless it has ended by then, it is
// told to when the test is over.
func (h *home) startHTTP(tb testing.TB, args ...string) (p *program, url string) {
	tb.Helper()
	p = h.start(tb, append([]string{"--transport", "http", "--listen", "127.0.0.1:0"}, args...)...)
	tb.Cleanup(p.terminate)
	return p, p.url()
}

// terminate tells the process to end, as a service manager does.
func (p *program) terminate() {
	p.t.Helper()
	if !p.running() {
		return
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Error(err)
	}
	p.checkEnd()
}

var servingAt = regexp.MustCompile(`ptyctl: serving MCP at (https?://\S+)\n`)

// url is where the program says that it serves.
func (p *program) url() string {
	p.t.Helper()
	if !p.log.waitFor("/mcp\n", p.ended) {
		p.t.Fatalf("it does not say where it serves:\n%s", p.log)
	}
	return servingAt.FindStringSubmatch(p.log.String())[1]
}

// bearing adds a token to each request.
type bearing struct {
	token string
	next  http.RoundTripper
}

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(r)
}

// dial shakes hands over HTTP with a program that runs.
func (p *program) dial(tb testing.TB, url, token string) *client {
	tb.Helper()
	return p.client(
		tb,
		&mcp.StreamableClientTransport{
			Endpoint:   url,
			HTTPClient: &http.Client{Transport: bearing{token, http.DefaultTransport}},
		},
		nil,
	)
}

// fetch makes a plain request.
func fetch(tb testing.TB, method, url, token, body string) (status int, text string) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), method, url, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: bearing{token, http.DefaultTransport}}).Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return resp.StatusCode, string(all)
}

// A real session over HTTP, with tokens; the record says by whom.
func TestHTTP(t *testing.T) {
	s := startSSHD(t)
	h := homeFor(t, []*sshd{s})
	p, url := h.startHTTP(t, "--config", h.config)
	if status, text := fetch(t, "POST", url, "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); status != 400 { // on loopback no token is needed
		t.Errorf("without a token: %d %s", status, text)
	}
	p.terminate()

	h.write(
		t,
		h.config,
		"[server.http]\ntokens_file = '"+h.tokensFile(
			t,
		)+"'\n[ssh]\nknown_hosts_path = '"+h.knownHosts+"'\nconfig_path = '"+h.sshConfig+"'\n",
	)
	p, url = h.startHTTP(t)
	base := strings.TrimSuffix(url, "/mcp")
	for _, token := range []string{"", opsToken + "x"} {
		if status, text := fetch(t, "POST", url, token, `{}`); status != 401 || !strings.Contains(text, "token") {
			t.Errorf("with the token %q: %d %s", token, status, text)
		}
	}
	c := p.dial(t, url, opsToken)
	id := c.open(t, s)
	if r := c.call(t, toolExec, `{"session_id":%s,"cmd":"echo hello"}`, id); r.Stdout != "hello\n" {
		t.Errorf("exec: %s", r.text)
	}
	reader := p.dial(t, url, ciToken)
	if r := reader.call(t, toolIO, `{"action":"read","session_id":%s,"cursor":"0","until_idle_ms":100}`, id); r.ErrorCode != "" {
		t.Errorf("the role read reads: %s", r.text)
	}
	if r, err := reader.try(t.Context(), toolExec, `{"session_id":%s,"cmd":"id"}`, id); err != nil ||
		r.ErrorCode != "POLICY_DENIED" {
		t.Errorf("the role read runs a command: %v %s", err, r.text)
	}

	if status, text := fetch(t, "GET", base+"/healthz", "", ""); status != 200 || text != "{\"status\":\"ok\"}\n" {
		t.Errorf("/healthz: %d %s", status, text)
	}
	if status, _ := fetch(t, "GET", base+"/metrics", "", ""); status != 401 {
		t.Errorf("/metrics without a token: %d", status)
	}
	if status, text := fetch(t, "GET", base+"/metrics", ciToken, ""); status != 200 ||
		!strings.Contains(text, `ptyctl_sessions{protocol="ssh",state="open"} 1`) ||
		!strings.Contains(text, `ptyctl_actions_total{action="exec",outcome="POLICY_DENIED"} 1`) {
		t.Errorf("/metrics: %d %s", status, text)
	}
	p.terminate()
	s.idle(t)
	trail, err := os.ReadFile(h.audit)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"transport":"http","client":"integration","version":"1","token":"ops"`, `"token":"ci"`} {
		if !bytes.Contains(trail, []byte(want)) {
			t.Errorf("the audit log lacks %s:\n%s", want, trail)
		}
	}
}

// Told to stop with a stream open and a call waiting, it is gone in time, and has closed its sessions.
func TestHTTPShutdown(t *testing.T) {
	s := startSSHD(t)
	p, url := homeFor(t, []*sshd{s}).startHTTP(t)
	c := p.dial(t, url, "")
	id := c.open(t, s)
	// The client's own revision has no stream; another's has.
	begin, err := http.Post(
		url,
		"application/json",
		strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	begin.Body.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Mcp-Session-Id", begin.Header.Get("Mcp-Session-Id"))
	stream, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if stream.StatusCode != 200 {
		t.Fatalf("the stream: %s", stream.Status)
	}
	waited := make(chan error, 1)
	go func() {
		_, err := c.try(
			context.WithoutCancel(t.Context()),
			toolIO,
			`{"action":"read","session_id":%s,"until_regex":"never","timeout_ms":40000}`,
			id,
		)
		waited <- err
	}()
	eventually(t, "a read that waits", func() bool {
		r, err := c.try(t.Context(), toolSession, `{"action":"status","session_id":%s}`, id)
		return err == nil && strings.Contains(r.text, `"waiting_readers":1`)
	})
	p.terminate()
	if _, err := bufio.NewReader(stream.Body).ReadString(0); err != io.EOF {
		t.Errorf("the stream ended with %v", err)
	}
	if err := <-waited; err == nil {
		t.Error("the read that was cut off was answered as if nothing was")
	}
	s.idle(t)
}

// Both transports at once show the same sessions, and the end of the one that has started us ends both.
func TestBothTransports(t *testing.T) {
	s := startSSHD(t)
	h := homeFor(t, []*sshd{s})
	local := h.connect(t, "--transport", "both", "--listen", "127.0.0.1:0")
	remote := local.dial(t, local.url(), "")
	id := local.open(t, s)
	r := remote.call(t, toolSession, `{"action":"list"}`)
	if len(r.Sessions) != 1 || r.Sessions[0].SessionID != id {
		t.Fatalf("over HTTP there are %s", r.text)
	}
	remote.call(t, toolIO, `{"action":"write","session_id":%s,"data":"echo fr''om-http\r"}`, id)
	if r := local.call(t, toolIO, `{"action":"read","session_id":%s,"cursor":"0","until_regex":"from-http","timeout_ms":20000}`, id); !r.Matched {
		t.Errorf("on stdio: %s", r.text)
	}
	remote.session.Close()
	local.session.Close()
	local.finish() // its input ends
	s.idle(t)
	trail, err := os.ReadFile(h.audit)
	if err != nil {
		t.Fatal(err)
	}
	for _, transport := range []string{"stdio", "http"} {
		if !bytes.Contains(trail, []byte(`"transport":"`+transport+`"`)) {
			t.Errorf("the audit log speaks of no %s:\n%s", transport, trail)
		}
	}
}

// A certificate that nobody vouches for is told by its fingerprint.
func TestHTTPSelfSigned(t *testing.T) {
	h := newHome(t)
	p, url := h.startHTTP(t, "--tls-self-signed")
	if !strings.HasPrefix(url, "https://") {
		t.Fatalf("it serves at %s", url)
	}
	var seen string
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, // VerifyConnection looks at what counts
		VerifyConnection: func(s tls.ConnectionState) error {
			seen = fmt.Sprintf("% X", sha256.Sum256(s.PeerCertificates[0].Raw))
			return nil
		},
	}}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(strings.TrimSuffix(url, "/mcp") + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if want := "ptyctl: certificate SHA-256 " + strings.ReplaceAll(seen, " ", ":") + "\n"; resp.StatusCode != 200 ||
		!strings.Contains(p.log.String(), want) {
		t.Errorf("%s; stderr lacks %q:\n%s", resp.Status, want, p.log)
	}
}

// Tokens come from the environment, too.
func TestTokensFromTheEnvironment(t *testing.T) {
	h := newHome(t)
	h.wrap = []string{
		"/usr/bin/env",
		"PTYCTL_SERVER_HTTP_AUTH_TOKEN=" + opsToken,
		"PTYCTL_SERVER_HTTP_TOKENS=ci:read:" + ciToken,
	}
	h.secrets = append(h.secrets, opsToken, ciToken)
	_, url := h.startHTTP(t)
	metrics := strings.TrimSuffix(url, "/mcp") + "/metrics"
	for token, want := range map[string]int{"": 401, "wrong": 401, opsToken: 200, ciToken: 200} {
		if status, text := fetch(t, "GET", metrics, token, ""); status != want {
			t.Errorf("token %q: %d %s", token, status, text)
		}
	}
}

// Who would open the door by mistake is told so before it is open.
func TestWrongHTTP(t *testing.T) {
	h := newHome(t)
	public, empty := filepath.Join(h.dir, "public"), filepath.Join(h.dir, "empty")
	h.write(t, empty, "# nothing\n")
	if err := os.WriteFile(public, []byte("ops:write:"+opsToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(public, 0o644); err != nil {
		t.Fatal(err)
	}
	twice := filepath.Join(h.dir, "twice")
	h.write(t, twice, "a:write:"+opsToken+"\nb:read:"+opsToken+"\n")
	for _, test := range []struct {
		args   string
		lines  string // of the configuration
		status int
		stderr []string
	}{
		{"--auth-token " + opsToken, "", 2, []string{"--auth-token is refused", "server.http.tokens_file", "PTYCTL_SERVER_HTTP_AUTH_TOKEN"}},
		{"--auth-token=" + opsToken, "", 2, []string{"--auth-token is refused"}},
		{"--transport http --listen 0.0.0.0:0", "", 1, []string{"will not listen on 0.0.0.0:0 without a token", "tokens_file"}},
		{"--transport both --listen [::]:0", "", 1, []string{"without a token"}},
		{"--transport http --listen nowhere", "", 2, []string{"--listen: server.http.listen", "HOST:PORT"}},
		{"--transport http", "tokens_file = '" + public + "'", 1, []string{public, "mode 0644", "chmod 600"}},
		{"--transport http", "tokens_file = '" + empty + "'", 1, []string{empty, "NAME:ROLE:VALUE"}},
		{"--transport http", "tokens_file = '" + empty + ".missing'", 1, []string{empty + ".missing", "create it"}},
		{"--transport http", "tokens_file = '" + twice + "'", 1, []string{"a and b have the same value"}},
		{"--transport http", "tokens = 'ops:write:" + opsToken + " ops:read:" + ciToken + "'", 2, []string{"two tokens called ops"}},
		{"--transport http --tls-self-signed", "tls_cert_file = '/c'\ntls_key_file = '/k'", 2, []string{"exclude each other"}},
		{"--transport http", "tls_cert_file = '" + empty + "'\ntls_key_file = '" + empty + "'", 1, []string{"tls_cert_file"}},
		{"--toolsets core,kitchen", "", 2, []string{`"kitchen"`, "core"}},
	} {
		t.Run(test.args+" "+test.lines, func(t *testing.T) {
			h.write(t, h.config, "[server.http]\n"+test.lines+"\n")
			stdout, stderr, status := h.run(t, append([]string{"mcp", "--config", h.config}, strings.Fields(test.args)...)...)
			if status != test.status || stdout != "" {
				t.Errorf("status %d, want %d; stdout %q", status, test.status, stdout)
			}
			for _, part := range test.stderr {
				if !strings.Contains(stderr, part) {
					t.Errorf("stderr does not say %q:\n%s", part, stderr)
				}
			}
			if strings.Contains(stderr, opsToken) || strings.Contains(stderr, ciToken) {
				t.Errorf("stderr shows a token:\n%s", stderr)
			}
		})
	}
}

// A server that is read-only is so on stdio as well.
func TestReadOnlyProgram(t *testing.T) {
	c := newHome(t).connect(t, "--read-only", "--toolsets", "core")
	list, err := c.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(list.Tools)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != 3 || strings.Contains(string(text), "write") {
		t.Errorf("it lists %s", text)
	}
	r, err := c.try(t.Context(), toolSession, `{"action":"open","protocol":"ssh","host":"localhost"}`)
	if err != nil || r.ErrorCode != "POLICY_DENIED" || !strings.Contains(r.Message, "read-only") {
		t.Errorf("open: %v %s", err, r.text)
	}
	c.call(t, toolSession, `{"action":"list"}`)
}
