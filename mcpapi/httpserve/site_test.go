package httpserve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ptyctl/internal/bufpipe"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/httpserve"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/subscribe"
	"ptyctl/session"
	"ptyctl/term"
)

// Tokens of the tests.
const (
	writeToken = "write-0123456789abcdef"
	otherToken = "other-0123456789abcdef"
	readToken  = "read-0123456789abcdef"
)

var allTokens = []httpserve.Token{
	{Name: "writer", Value: writeToken}, {Name: "other", Value: otherToken}, {Name: "reader", Value: readToken, ReadOnly: true},
}

const latest = "2025-11-25" // newest revision with a handshake

// A site is a handler that serves, with terminals that echo behind it.
type site struct {
	t        testing.TB
	host     string // with port
	handler  *httpserve.Handler
	mcp      *mcpapi.Server
	sessions *session.Manager
	client   *http.Client
	read     atomic.Int64 // bytes received from clients
	stop     func()       // ends the server and waits for it
}

// newSite serves on a loopback port.
func newSite(tb testing.TB, o httpserve.Options, observers ...term.Observer) *site {
	tb.Helper()
	ln, err := httpserve.Listen("127.0.0.1:0", len(o.Tokens) > 0)
	if err != nil {
		tb.Fatal(err)
	}
	return serveOn(tb, ln, ln.Addr().String(), nil, o, observers...)
}

// newBubbleSite serves in memory, for a synctest bubble.
func newBubbleSite(tb testing.TB, o httpserve.Options) (*site, *bufpipe.Listener) {
	tb.Helper()
	ln := bufpipe.Listen("localhost", 64<<10)
	return serveOn(tb, ln, "localhost", ln.DialContext, o), ln
}

func serveOn(
	tb testing.TB,
	ln net.Listener,
	host string,
	dial func(context.Context, string, string) (net.Conn, error),
	o httpserve.Options,
	observers ...term.Observer,
) *site {
	tb.Helper()
	s := &site{
		t:      tb,
		host:   host,
		client: &http.Client{Transport: &http.Transport{DialContext: dial, MaxConnsPerHost: 0, MaxIdleConnsPerHost: 300}},
	}
	watch := subscribe.NewWatch()
	tb.Cleanup(watch.Close)
	observers = append(observers, watch)
	s.sessions = session.NewManager(session.Config{
		Dialers: map[string]term.Dialer{"ssh": echo, "telnet": asking}, Observers: observers, MaxReads: 500,
	})
	s.mcp = mcpapi.NewServer(mcpapi.Options{
		Sessions: s.sessions, Results: identity.Full, Watch: watch,
		Elicitation: true,
	})
	s.handler = httpserve.New(s.mcp, o)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.handler.Serve(ctx, &counter{ln, &s.read}); err != nil {
			tb.Error(err)
		}
	})
	s.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	tb.Cleanup(func() {
		s.stop()
		s.client.CloseIdleConnections()
		s.sessions.Close(context.Background())
	})
	return s
}

// A counter is a listener that counts received bytes.
type counter struct {
	net.Listener
	read *atomic.Int64
}

func (c *counter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &counted{conn, c.read}, nil
}

type counted struct {
	net.Conn
	read *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// echo is a terminal that shows the typed text.
func echo(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
	near, far := bufpipe.New(64 << 10)
	go func() {
		_, _ = io.Copy(far, far) // until the near side closes
		far.Close()
	}()
	return echoing{near}, nil
}

type echoing struct{ net.Conn }

func (echoing) Resize(int, int) error { return nil }

// A message is a request of a test. The zero value is a POST without headers and body.
type message struct {
	method, path   string // empty: POST, /mcp
	token, session string
	revision       string // header MCP-Protocol-Version
	body           string
	header         http.Header // more headers
	host           string
}

// A reply is the server's answer.
type reply struct {
	status int
	header http.Header
	text   string

	ID     any
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

func (s *site) request(ctx context.Context, m message) *http.Request {
	s.t.Helper()
	if m.method == "" {
		m.method = http.MethodPost
	}
	if m.path == "" {
		m.path = httpserve.Path
	}
	req, err := http.NewRequestWithContext(ctx, m.method, "http://"+s.host+m.path, strings.NewReader(m.body))
	if err != nil {
		s.t.Fatal(err)
	}
	if m.header != nil {
		req.Header = m.header.Clone()
	}
	if req.Header.Get("Content-Type") == "" && m.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range map[string]string{"Mcp-Session-Id": m.session, "Mcp-Protocol-Version": m.revision} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if m.token != "" {
		req.Header.Set("Authorization", "Bearer "+m.token)
	}
	if m.host != "" {
		req.Host = m.host
	}
	return req
}

// send makes a request and returns the whole answer.
func (s *site) send(m message) reply {
	s.t.Helper()
	r, err := s.try(m)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *site) try(m message) (reply, error) { return s.tryRequest(s.request(context.Background(), m)) }

// do sends a request that send cannot make.
func (s *site) do(req *http.Request) reply {
	s.t.Helper()
	r, err := s.tryRequest(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *site) tryRequest(req *http.Request) (reply, error) {
	resp, err := s.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return reply{}, err
	}
	r := reply{status: resp.StatusCode, header: resp.Header, text: string(text)}
	data := text
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		_, data, _ = bytes.Cut(text, []byte("data: "))
	}
	_ = json.Unmarshal(bytes.TrimSpace(data), &r) // each test checks the fields that it needs
	return r, nil
}

// refused checks that an answer is a refusal with advice.
func (s *site) refused(r reply, status int, advice string) {
	s.t.Helper()
	if r.status != status || r.Error == nil || !strings.Contains(r.Error.Message, advice) ||
		r.header.Get("Content-Type") != "application/json" {
		s.t.Errorf(
			"got %d %s %s, want %d and JSON that says %q",
			r.status,
			r.header.Get("Content-Type"),
			r.text,
			status,
			advice,
		)
	}
}

// An agent is a client that has completed the handshake.
type agent struct {
	*site
	message // the parts that all its requests share
}

func (s *site) initialize(token, revision string) agent {
	s.t.Helper()
	r := s.send(
		message{
			token: token,
			body: fmt.Sprintf(
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"tester","version":"7"}}}`,
				revision,
			),
		},
	)
	id := r.header.Get("Mcp-Session-Id")
	if r.status != 200 || id == "" || r.Error != nil {
		s.t.Fatalf("initialize = %d, session %q, %s; want a session", r.status, id, r.text)
	}
	a := agent{s, message{token: token, session: id}}
	if revision >= "2025-06-18" {
		a.revision = revision
	}
	if r := a.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); r.status != 202 {
		s.t.Fatalf("notifications/initialized = %d %s, want it accepted", r.status, r.text)
	}
	return a
}

// modern returns a client of the revision without a handshake.
func (s *site) modern(token string) agent {
	return agent{s, message{token: token, revision: "2026-07-28"}}
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"modern","version":"8"},"io.modelcontextprotocol/clientCapabilities":{}}`

func (a agent) post(body string) reply {
	a.t.Helper()
	m := a.message
	m.body = body
	return a.send(m)
}

// ask sends a JSON-RPC request. params is an object or empty.
func (a agent) ask(method, params string) reply {
	a.t.Helper()
	return a.send(a.asking(method, params))
}

func (a agent) asking(method, params string) message {
	m := a.message
	if params == "" {
		params = "{}"
	}
	if m.revision == "2026-07-28" {
		params = strings.Replace(params, "{", "{"+modernMeta+map[bool]string{true: "", false: ","}[params == "{}"], 1)
		m.header = http.Header{"Mcp-Method": {method}}
		var named struct{ Name string }
		if json.Unmarshal([]byte(params), &named) == nil && named.Name != "" {
			m.header.Set("Mcp-Name", named.Name)
		}
	}
	m.body = fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":%q,"params":%s}`, method, params)
	return m
}

// A result holds the fields of a tool's answer that the tests look at.
type result struct {
	text       string
	structured bool

	ErrorCode string `json:"error_code"`
	Message   string
	SessionID string `json:"session_id"`
	Existing  string `json:"existing_session_id"`
	Count     int
	Chunk     string
	State     string
	TimedOut  bool `json:"timed_out"`
}

func (a agent) call(tool, args string) result {
	a.t.Helper()
	return a.result(a.ask("tools/call", calling(tool, args)))
}

func calling(tool, args string) string { return fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args) }

func (a agent) result(r reply) result {
	a.t.Helper()
	var raw struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
	}
	if err := json.Unmarshal(r.Result, &raw); err != nil || len(raw.Content) != 1 {
		a.t.Fatalf("answer = %d %s, want the result of a tool", r.status, r.text)
	}
	got := result{text: raw.Content[0].Text, structured: raw.StructuredContent != nil}
	if err := json.Unmarshal([]byte(got.text), &got); err != nil {
		a.t.Fatal(err)
	}
	return got
}

// open opens a terminal and returns its id.
func (a agent) open() string {
	a.t.Helper()
	r := a.call("ptyctl_session", `{"action":"open","protocol":"ssh","host":"echo"}`)
	if r.ErrorCode != "" || r.SessionID == "" {
		a.t.Fatalf("open = %s, want a session", r.text)
	}
	return r.SessionID
}

// listen opens the stream of a session and returns all of it when it ends.
func (a agent) listen(ctx context.Context) (status int, body io.ReadCloser) {
	a.t.Helper()
	m := a.message
	m.method = http.MethodGet
	return a.stream(ctx, m)
}

func (s *site) stream(ctx context.Context, m message) (status int, body io.ReadCloser) {
	s.t.Helper()
	resp, err := s.client.Do(s.request(ctx, m))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	return resp.StatusCode, resp.Body
}
