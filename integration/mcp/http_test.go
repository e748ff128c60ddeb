package mcp

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
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// fetch makes a plain request.
func fetch(tb testing.TB, method, url, token, body string) (status int, text string) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), method, url, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: lab.Bearer(token)}).Do(req)
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
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	p, url := h.StartHTTP(t, "--config", h.Config)
	// On loopback no token is needed.
	if status, text := fetch(t, "POST", url, "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); status != 400 {
		t.Errorf("without a token: %d %s", status, text)
	}
	p.Terminate()

	h.Write(
		t,
		h.Config,
		"[server.http]\ntokens_file = '"+h.TokensFile(
			t,
		)+"'\n[ssh]\nknown_hosts_path = '"+h.KnownHosts+"'\nconfig_path = '"+h.SSHConfig+"'\n",
	)
	p, url = h.StartHTTP(t)
	base := strings.TrimSuffix(url, "/mcp")
	for _, token := range []string{"", lab.OpsToken + "x"} {
		if status, text := fetch(t, "POST", url, token, `{}`); status != 401 || !strings.Contains(text, "token") {
			t.Errorf("with the token %q: %d %s", token, status, text)
		}
	}
	c := p.Dial(t, url, lab.OpsToken)
	id := c.Open(t, s)
	if r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo hello"}`, id); r.Stdout != "hello\n" {
		t.Errorf("exec: %s", r.Text)
	}
	reader := p.Dial(t, url, lab.CiToken)
	if r := reader.Call(
		t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","until_idle_ms":100}`, id,
	); r.ErrorCode != "" {
		t.Errorf("the role read reads: %s", r.Text)
	}
	if r, err := reader.Try(t.Context(), lab.ToolExec, `{"session_id":%s,"cmd":"id"}`, id); err != nil ||
		r.ErrorCode != "POLICY_DENIED" {
		t.Errorf("the role read runs a command: %v %s", err, r.Text)
	}

	if status, text := fetch(t, "GET", base+"/healthz", "", ""); status != 200 || text != "{\"status\":\"ok\"}\n" {
		t.Errorf("/healthz: %d %s", status, text)
	}
	if status, _ := fetch(t, "GET", base+"/metrics", "", ""); status != 401 {
		t.Errorf("/metrics without a token: %d", status)
	}
	// In a cluster the other node has these metrics; the operator collects them there.
	if status, text := fetch(t, "GET", base+"/metrics", lab.CiToken, ""); status != 200 || !lab.ThroughCluster &&
		!strings.Contains(text, `ptyctl_sessions{protocol="ssh",state="open"} 1`) ||
		!strings.Contains(text, `ptyctl_actions_total{action="exec",outcome="POLICY_DENIED"} 1`) {
		t.Errorf("/metrics: %d %s", status, text)
	}
	p.Terminate()
	p.EndEngine()
	s.WaitIdle(t)
	trail, err := os.ReadFile(h.Audit)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"transport":"http","client":"integration","version":"1","token":"ops"`, `"token":"ci"`,
	} {
		if !bytes.Contains(trail, []byte(want)) {
			t.Errorf("the audit log lacks %s:\n%s", want, trail)
		}
	}
}

// Stopped with a stream open and a call waiting, ptyctl must end in time, and close its sessions.
func TestHTTPShutdown(t *testing.T) {
	s := lab.StartSSHD(t)
	p, url := lab.HomeFor(t, []*lab.SSHD{s}).StartHTTP(t)
	c := p.Dial(t, url, "")
	id := c.Open(t, s)
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
	waited := make(chan lab.Result, 1)
	go func() {
		r, err := c.Try(
			context.WithoutCancel(t.Context()),
			lab.ToolIO,
			`{"action":"read","session_id":%s,"until_regex":"never","timeout_ms":40000}`,
			id,
		)
		if err != nil {
			t.Errorf("the read that was cut off: %v", err)
		}
		waited <- r
	}()
	lab.Eventually(t, "a read that waits", func() bool {
		r, err := c.Try(t.Context(), lab.ToolSession, `{"action":"status","session_id":%s}`, id)
		return err == nil && strings.Contains(r.Text, `"waiting_readers":1`)
	})
	p.Terminate()
	if _, err := bufio.NewReader(stream.Body).ReadString(0); err != io.EOF {
		t.Errorf("the stream ended with %v", err)
	}
	if r := <-waited; r.ErrorCode != "CANCELED" || !strings.Contains(r.Message, "ptyctl is stopping") {
		t.Errorf("the read that was cut off: %s, want CANCELED, as ptyctl is stopping", r.Text)
	}
	p.EndEngine()
	s.WaitIdle(t)
}

// Both transports at once show the same sessions, and the end of the one that has started us ends both.
func TestBothTransports(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	local := h.Connect(t, "--transport", "both", "--listen", "127.0.0.1:0")
	remote := local.Dial(t, local.URL(), "")
	id := local.Open(t, s)
	r := remote.Call(t, lab.ToolSession, `{"action":"list"}`)
	if len(r.Sessions) != 1 || r.Sessions[0].SessionID != id {
		t.Fatalf("over HTTP there are %s", r.Text)
	}
	remote.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"echo fr''om-http\r"}`, id)
	if r := local.Call(
		t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","until_regex":"from-http","timeout_ms":20000}`, id,
	); !r.Matched {
		t.Errorf("on stdio: %s", r.Text)
	}
	remote.Session.Close()
	local.Session.Close()
	local.Finish() // its input ends
	local.EndEngine()
	s.WaitIdle(t)
	trail, err := os.ReadFile(h.Audit)
	if err != nil {
		t.Fatal(err)
	}
	for _, transport := range []string{"stdio", "http"} {
		if !bytes.Contains(trail, []byte(`"transport":"`+transport+`"`)) {
			t.Errorf("the audit log speaks of no %s:\n%s", transport, trail)
		}
	}
}

// The error for a self-signed certificate must show its fingerprint.
func TestHTTPSelfSigned(t *testing.T) {
	h := lab.NewHome(t)
	p, url := h.StartHTTP(t, "--tls-self-signed")
	if !strings.HasPrefix(url, "https://") {
		t.Fatalf("it serves at %s", url)
	}
	var seen string
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, // VerifyConnection makes the real check
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
	if resp.StatusCode != http.StatusOK {
		t.Error(resp.Status)
	}
	p.Log.Wait(t, "ptyctl: certificate SHA-256 "+strings.ReplaceAll(seen, " ", ":")+"\n")
}

// Tokens come from the environment, too.
func TestTokensFromTheEnvironment(t *testing.T) {
	h := lab.NewHome(t)
	h.Wrap = []string{
		"/usr/bin/env",
		"PTYCTL_SERVER_HTTP_AUTH_TOKEN=" + lab.OpsToken,
		"PTYCTL_SERVER_HTTP_TOKENS=ci:read:" + lab.CiToken,
	}
	h.Secrets = append(h.Secrets, lab.OpsToken, lab.CiToken)
	_, url := h.StartHTTP(t)
	metrics := strings.TrimSuffix(url, "/mcp") + "/metrics"
	for token, want := range map[string]int{"": 401, "wrong": 401, lab.OpsToken: 200, lab.CiToken: 200} {
		if status, text := fetch(t, "GET", metrics, token, ""); status != want {
			t.Errorf("token %q: %d %s", token, status, text)
		}
	}
}

// A configuration that would open the port to everyone by mistake must fail before the port is open.
func TestWrongHTTP(t *testing.T) {
	h := lab.NewHome(t)
	public, empty := filepath.Join(h.Dir, "public"), filepath.Join(h.Dir, "empty")
	h.Write(t, empty, "# nothing\n")
	if err := os.WriteFile(public, []byte("ops:write:"+lab.OpsToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(public, 0o644); err != nil {
		t.Fatal(err)
	}
	twice := filepath.Join(h.Dir, "twice")
	h.Write(t, twice, "a:write:"+lab.OpsToken+"\nb:read:"+lab.OpsToken+"\n")
	for _, test := range []struct {
		args   string
		lines  string // of the configuration
		status int
		stderr []string
	}{
		{"--auth-token " + lab.OpsToken, "", 2, []string{"--auth-token is refused", "server.http.tokens_file", "PTYCTL_SERVER_HTTP_AUTH_TOKEN"}},
		{"--auth-token=" + lab.OpsToken, "", 2, []string{"--auth-token is refused"}},
		{"--transport http --listen 0.0.0.0:0", "", 1, []string{"will not listen on 0.0.0.0:0 without a token", "tokens_file"}},
		{"--transport both --listen [::]:0", "", 1, []string{"without a token"}},
		{"--transport http --listen nowhere", "", 2, []string{"--listen: server.http.listen", "HOST:PORT"}},
		{"--transport http", "tokens_file = '" + public + "'", 1, []string{public, "mode 0644", "chmod 600"}},
		{"--transport http", "tokens_file = '" + empty + "'", 1, []string{empty, "`ptyctl tokens add NAME` makes one"}},
		{"--transport http", "tokens_file = '" + empty + ".missing'", 1, []string{empty + ".missing", "create it"}},
		{"--transport http", "tokens_file = '" + twice + "'", 1, []string{"a and b have the same value"}},
		{"--transport http", "tokens = 'ops:write:" + lab.OpsToken + " ops:read:" + lab.CiToken + "'", 2, []string{"two tokens called ops"}},
		{"--transport http --tls-self-signed", "tls_cert_file = '/c'\ntls_key_file = '/k'", 2, []string{"exclude each other"}},
		{"--transport http", "tls_cert_file = '" + empty + "'\ntls_key_file = '" + empty + "'", 1, []string{"tls_cert_file"}},
		{"--toolsets core,kitchen", "", 2, []string{`"kitchen"`, "core"}},
	} {
		t.Run(test.args+" "+test.lines, func(t *testing.T) {
			h.Write(t, h.Config, "[server.http]\n"+test.lines+"\n")
			stdout, stderr, status := h.Run(t, append([]string{"mcp", "--config", h.Config}, strings.Fields(test.args)...)...)
			if status != test.status || stdout != "" {
				t.Errorf("status %d, want %d; stdout %q", status, test.status, stdout)
			}
			for _, part := range test.stderr {
				if !strings.Contains(stderr, part) {
					t.Errorf("stderr does not say %q:\n%s", part, stderr)
				}
			}
			if strings.Contains(stderr, lab.OpsToken) || strings.Contains(stderr, lab.CiToken) {
				t.Errorf("stderr shows a token:\n%s", stderr)
			}
		})
	}
}

// A server that is read-only is so on stdio as well.
func TestReadOnlyProgram(t *testing.T) {
	c := lab.NewHome(t).Connect(t, "--read-only", "--toolsets", "core")
	list, err := c.Session.ListTools(t.Context(), nil)
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
	r, err := c.Try(t.Context(), lab.ToolSession, `{"action":"open","protocol":"ssh","host":"localhost"}`)
	if err != nil || r.ErrorCode != "POLICY_DENIED" || !strings.Contains(r.Message, "read-only") {
		t.Errorf("open: %v %s", err, r.Text)
	}
	c.Call(t, lab.ToolSession, `{"action":"list"}`)
}
