package route_test

import (
	"bufio"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/route"
	"ptyctl/control"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/peers"
	"ptyctl/mcpapi/stdio"
	"ptyctl/mcpapi/subscribe"
	"ptyctl/ptyx"
	"ptyctl/session"
	"ptyctl/term"
)

// directory is a route.Directory that a test fills.
type directory struct {
	mu   sync.Mutex
	keys map[string][]byte
}

func (d *directory) Key(node string) ([]byte, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k, ok := d.keys[node]
	return k, ok
}

func (d *directory) Await(ctx context.Context, node string) bool {
	for {
		if _, ok := d.Key(node); ok {
			return true
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return false
		}
	}
}

// node is a ptyctl in this process, as one of several.
type node struct {
	*route.Router
	name     string
	key      *ecdh.PrivateKey
	all      *directory
	placed   string // the node that opens new sessions; empty: this one
	sessions *session.Manager
	server   *mcpapi.Server
}

func (n *node) Node() string { return n.name }

func (n *node) Others() (others []string) {
	n.all.mu.Lock()
	defer n.all.mu.Unlock()
	for name := range n.all.keys {
		if name != n.name {
			others = append(others, name)
		}
	}
	return others
}

func (n *node) Place(context.Context, peers.Need) (string, error) { return n.placed, nil }

// connect is a connection to a server that ends with the test.
func connect(tb testing.TB, url string) *nats.Conn {
	tb.Helper()
	nc, err := nats.Connect(url, nats.ReconnectWait(20*time.Millisecond), nats.MaxReconnects(-1))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
}

// start starts a node that bears the silence of others for as long as a machine with much to do may need. It serves the
// calls of others until stop is called, or the test ends.
func start(tb testing.TB, all *directory, nc *nats.Conn, name string) (n *node, stop func()) {
	tb.Helper()
	return startImpatient(tb, all, nc, name, time.Minute)
}

// startImpatient is start for a node that bears the silence of others for so long.
func startImpatient(
	tb testing.TB, all *directory, nc *nats.Conn, name string, patience time.Duration,
) (n *node, stop func()) {
	tb.Helper()
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	all.mu.Lock()
	all.keys[name] = key.PublicKey().Bytes()
	all.mu.Unlock()
	n = &node{name: name, key: key, all: all}
	n.Router, err = route.New(route.Options{Conn: nc, Node: name, Key: key, Nodes: all, Patience: patience})
	if err != nil {
		tb.Fatal(err)
	}
	watch := subscribe.NewWatch()
	n.sessions = session.NewManager(session.Config{
		Dialers: map[string]term.Dialer{"local": ptyx.Host{}.Open}, Devices: session.DeviceOptions{Node: name},
		Observers: []term.Observer{watch},
	})
	n.server = mcpapi.NewServer(mcpapi.Options{
		Sessions: n.sessions, Watch: watch, Version: "test", Local: []string{"stdio", "http"}, Results: identity.Full,
		Cluster: mcpapi.ClusterOptions{Peers: n, Rules: func() string { return strings.Repeat("a", 64) }},
	})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- n.Serve(ctx, n.server) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-served; err != nil {
				tb.Errorf("Serve of %s = %v", name, err)
			}
			watch.Close()
			n.sessions.Close(context.Background())
			n.Close()
		})
	}
	tb.Cleanup(stop)
	return n, stop
}

// client is a client of a node.
func client(tb testing.TB, n *node) *control.Client {
	tb.Helper()
	c, err := control.Within(tb.Context(), n.server.Protocol().MCPServer, control.Options{Version: "test"})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

type result struct {
	SessionID string `json:"session_id"`
	Stdout    string `json:"stdout"`
	Chunk     string `json:"chunk"`
	ExitCode  *int   `json:"exit_code"`
	State     string `json:"state"`
	Sessions  []struct {
		SessionID string `json:"session_id"`
	} `json:"sessions"`
	Count    int      `json:"count"`
	Warnings []string `json:"warnings"`
}

func call(tb testing.TB, c *control.Client, tool, args string) (r result, err error) {
	tb.Helper()
	err = c.Call(tb.Context(), tool, json.RawMessage(args), &r)
	return r, err
}

func ok(tb testing.TB, c *control.Client, tool, args string) result {
	tb.Helper()
	r, err := call(tb, c, tool, args)
	if err != nil {
		tb.Fatalf("%s %.200s: %v", tool, args, err)
	}
	return r
}

// A client of b uses a session of a as if it were there.
func TestForward(t *testing.T) {
	servers := natstest.Start(t, 1)
	all := &directory{keys: make(map[string][]byte)}
	url := natstest.URLs(servers)[0]
	a, stopA := start(t, all, connect(t, url), "fra1")
	b, _ := start(t, all, connect(t, url), "ams2")
	b.placed = "fra1"
	atB, atA := client(t, b), client(t, a)

	opened := ok(t, atB, "ptyctl_session", `{"action":"open","protocol":"local","argv":["sh"]}`)
	id := opened.SessionID
	if !strings.HasSuffix(id, "@fra1") || peers.NodeOf(id) != "fra1" {
		t.Fatalf("the id of a session of fra1 is %q", id)
	}
	if _, err := a.sessions.Get(id); err != nil {
		t.Errorf("fra1 has not the session: %v", err)
	}
	if _, err := b.sessions.Get(id); err == nil {
		t.Error("ams2 has the session")
	}
	ran := ok(t, atB, "ptyctl_session_exec", `{"session_id":"`+id+`","cmd":"echo here; (exit 3)"}`)
	if ran.Stdout != "here\n" || ran.ExitCode == nil || *ran.ExitCode != 3 {
		t.Errorf("exec at ams2 = %+v", ran)
	}
	// More than one message can carry.
	back := ok(t, atB, "ptyctl_session_exec", `{"session_id":"`+id+`","cmd":"seq 100000","max_output_bytes":1000000}`)
	if len(back.Stdout) != 588895 {
		t.Errorf("a result of %d bytes, want 588895", len(back.Stdout))
	}
	// Both see it in the list.
	for name, c := range map[string]*control.Client{"fra1": atA, "ams2": atB} {
		list := ok(t, c, "ptyctl_session", `{"action":"list"}`)
		if list.Count != 1 || len(list.Sessions) != 1 || list.Sessions[0].SessionID != id || len(list.Warnings) > 0 {
			t.Errorf("list at %s = %+v", name, list)
		}
	}
	// Its node ends.
	stopA()
	_, err := call(t, atB, "ptyctl_session_io", `{"action":"read","session_id":"`+id+`"}`)
	wantCode(t, err, term.NodeUnreachable, true)
	list := ok(t, atB, "ptyctl_session", `{"action":"list"}`)
	if list.Count != 0 || len(list.Warnings) != 1 || !strings.Contains(list.Warnings[0], "fra1") {
		t.Errorf("list without fra1 = %+v", list)
	}
	_, err = call(t, atB, "ptyctl_session_io", `{"action":"read","session_id":"sh-k3f9q2zd@nowhere"}`)
	wantCode(t, err, term.NodeUnreachable, true)
}

// wantCode checks the code of an error of a tool.
func wantCode(tb testing.TB, err error, kind term.Kind, retryable bool) {
	tb.Helper()
	tool, ok := errors.AsType[*control.ToolError](err)
	if !ok || tool.Code != string(kind) || tool.Retryable != retryable {
		tb.Errorf("error %T %v, want %s, retryable %v", err, err, kind, retryable)
	}
}

// An owner that is stopped says nothing: the caller learns within its patience that the outcome is unknown.
func TestSilentOwner(t *testing.T) {
	servers := natstest.Start(t, 1)
	all := &directory{keys: make(map[string][]byte)}
	url := natstest.URLs(servers)[0]
	b, _ := startImpatient(t, all, connect(t, url), "ams2", 2*time.Second)
	other, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	all.mu.Lock()
	all.keys["fra1"] = other.PublicKey().Bytes()
	all.mu.Unlock()
	nc := connect(t, url)
	taken, err := nc.SubscribeSync("ptyctl.v1.call.fra1") // takes calls and never answers
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	_, err = call(t, client(t, b), "ptyctl_session_exec", `{"session_id":"sh-k3f9q2zd@fra1","cmd":"reboot"}`)
	wantCode(t, err, term.NodeSilent, false)
	if n, _, err := taken.Pending(); err != nil || n != 1 {
		t.Errorf("the owner got %d messages, %v, want one", n, err)
	}
}

// A call that is not exactly as its entry node has signed it is refused, and so is one that comes twice.
func TestToken(t *testing.T) {
	servers := natstest.Start(t, 1)
	all := &directory{keys: make(map[string][]byte)}
	url := natstest.URLs(servers)[0]
	a, _ := start(t, all, connect(t, url), "fra1")
	b, _ := start(t, all, connect(t, url), "ams2")
	spy := connect(t, url)
	seen, err := spy.SubscribeSync("ptyctl.v1.call.fra1")
	if err != nil {
		t.Fatal(err)
	}
	if err := spy.Flush(); err != nil {
		t.Fatal(err)
	}
	atA := client(t, a)
	id := ok(t, atA, "ptyctl_session", `{"action":"open","protocol":"local","argv":["sh"]}`).SessionID
	ok(t, client(t, b), "ptyctl_session_exec", `{"session_id":"`+id+`","cmd":"true"}`)
	original, err := seen.NextMsg(5 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	send := func(change func(m *nats.Msg)) string {
		m := nats.NewMsg(original.Subject)
		m.Header, m.Data = nats.Header{}, slices.Clone(original.Data)
		for k, v := range original.Header {
			m.Header[k] = slices.Clone(v)
		}
		change(m)
		m.Reply = spy.NewInbox()
		answers, err := spy.SubscribeSync(m.Reply)
		if err != nil {
			t.Fatal(err)
		}
		if err := spy.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
		answer, err := answers.NextMsg(5 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return answer.Header.Get("Ptyctl-Kind") + " " + string(answer.Data)
	}
	fresh := func(m *nats.Msg) { m.Header.Set("Ptyctl-Id", strings.Repeat("A", 26)) }
	for name, change := range map[string]func(m *nats.Msg){
		"again":         func(*nats.Msg) {},
		"other id":      fresh,
		"other entry":   func(m *nats.Msg) { m.Header.Set("Ptyctl-Entry", "fra1") },
		"unknown entry": func(m *nats.Msg) { m.Header.Set("Ptyctl-Entry", "mallory") },
		"later":         func(m *nats.Msg) { m.Header.Set("Ptyctl-Expires", "99999999999999") },
		"no time":       func(m *nats.Msg) { m.Header.Del("Ptyctl-Expires") },
		"other token":   func(m *nats.Msg) { m.Header.Set("Ptyctl-Token", "AAAA") },
		"other body":    func(m *nats.Msg) { m.Data = []byte(strings.Replace(string(m.Data), "true", "date", 1)) },
		"other caller": func(m *nats.Msg) {
			m.Data = []byte(strings.Replace(string(m.Data), `"caller":{`, `"caller":{"token":"ops",`, 1))
		},
	} {
		code := "POLICY_DENIED"
		if name == "unknown entry" { // which may only be new
			code = "NODE_UNREACHABLE"
		}
		if got := send(change); !strings.HasPrefix(got, `refused {"kind":"`+code+`"`) {
			t.Errorf("%s: %s, want a refusal", name, got)
		}
	}
}

// echo is a route.Server that notifies and asks its client, and answers with the arguments of the call.
type echo struct{}

func (echo) ServePeer(ctx context.Context, call peers.Call, c peers.Client) (json.RawMessage, error) {
	c.Notify("notifications/progress", json.RawMessage(`{"progress":1}`))
	answer, err := c.Ask(ctx, peers.MethodElicit, json.RawMessage(`{"message":"who?"}`))
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"arguments": call.Arguments, "answer": answer, "caller": call.Caller})
}

// asked is a peers.Client that passes on notifications and answers questions.
type asked struct{ told chan string }

func (a asked) Notify(method string, params json.RawMessage) { a.told <- method + string(params) }

func (asked) Ask(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(`"me, ` + strings.Trim(string(params), `{}"`)[:7] + `"`), nil
}

// Large calls and results go in pieces; the client gets notifications and questions meanwhile.
func TestConversation(t *testing.T) {
	servers := natstest.Start(t, 1)
	all := &directory{keys: make(map[string][]byte)}
	url := natstest.URLs(servers)[0]
	b, _ := start(t, all, connect(t, url), "ams2")
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	all.mu.Lock()
	all.keys["fra1"] = key.PublicKey().Bytes()
	all.mu.Unlock()
	r, err := route.New(route.Options{Conn: connect(t, url), Node: "fra1", Key: key, Nodes: all, MaxCalls: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx, echo{}) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Errorf("Serve = %v", err)
		}
	}()
	for _, size := range []int{0, 1, 500_000, 1_048_576, 3_000_000} {
		c := asked{make(chan string, 1)}
		arguments, err := json.Marshal(strings.Repeat("x", size))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Arguments, Answer string
			Caller            peers.Caller
		}
		var raw json.RawMessage
		for began := time.Now(); ; { // the other node has to subscribe first
			raw, err = b.Forward(t.Context(), "fra1", peers.Call{
				Tool: "echo", Arguments: arguments, Caller: peers.Caller{Token: "ci", Node: "forged"},
			}, c)
			if !errors.Is(err, term.NodeUnreachable) || time.Since(began) > 20*time.Second {
				break
			}
		}
		if err == nil {
			err = json.Unmarshal(raw, &got)
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if len(got.Arguments) != size || got.Answer != `me, message` || got.Caller != (peers.Caller{Token: "ci", Node: "ams2"}) {
			t.Errorf("%d bytes: got %d bytes, answer %q of %+v", size, len(got.Arguments), got.Answer, got.Caller)
		}
		if told := <-c.told; told != `notifications/progress{"progress":1}` {
			t.Errorf("the client was told %q", told)
		}
	}
}

// A client of b that subscribes to a session of a gets notices of its changes, and of its end.
func TestSubscription(t *testing.T) {
	servers := natstest.Start(t, 1)
	all := &directory{keys: make(map[string][]byte)}
	url := natstest.URLs(servers)[0]
	a, stopA := start(t, all, connect(t, url), "fra1")
	b, _ := start(t, all, connect(t, url), "ams2")
	id := ok(t, client(t, a), "ptyctl_session", `{"action":"open","protocol":"local","argv":["cat"]}`).SessionID

	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- stdio.Serve(ctx, b.server, fromClient, toClient, stdio.Options{}) }()
	defer func() {
		_ = toServer.Close()
		stop()
		<-served
		_ = toClient.Close()
	}()
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(fromServer); in.Scan(); {
			lines <- in.Text()
		}
	}()
	send := func(line string) {
		if _, err := io.WriteString(toServer, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	want := func(part string) {
		t.Helper()
		for after := time.After(20 * time.Second); ; {
			select {
			case line := <-lines:
				if strings.Contains(line, part) {
					return
				}
			case <-after:
				t.Fatalf("no message with %s", part)
			}
		}
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"t","version":"1"}}}`)
	want(`"id":1`)
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	tail := "ptyctl://sessions/" + id + "/tail"
	send(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"` + tail + `"}}`)
	want(`"id":2`)
	write := `{"action":"write","session_id":"` + id + `","data":"hello\r"}`
	told := make(chan struct{})
	go func() { // until the subscription has reached the other node
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case <-tick.C:
				_, _ = call(t, client(t, a), "ptyctl_session_io", write)
			case <-told:
				tick.Stop()
				told <- struct{}{}
				return
			}
		}
	}()
	want(`"notifications/resources/updated","params":{"uri":"` + tail)
	told <- struct{}{}
	<-told
	send(`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"` + tail + `"}}`)
	want(`hello`)
	stopA()
	want(`"notifications/resources/updated","params":{"uri":"` + tail)
}
