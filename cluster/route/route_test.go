package route_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
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
	"ptyctl/ptyx"
	"ptyctl/session"
	"ptyctl/term"
)

// directory is a route.Directory that a test fills.
type directory struct {
	mu   sync.Mutex
	keys map[string]ed25519.PublicKey
}

func (d *directory) Key(node string) (ed25519.PublicKey, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k, ok := d.keys[node]
	return k, ok
}

// node is a ptyctl in this process, as one of several.
type node struct {
	*route.Router
	name     string
	key      ed25519.PrivateKey
	all      *directory
	placed   string // where it opens what is new; empty: here
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

// start starts a node. It serves the calls of others until stop is called, or the test ends.
func start(tb testing.TB, all *directory, nc *nats.Conn, name string) (n *node, stop func()) {
	tb.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		tb.Fatal(err)
	}
	all.mu.Lock()
	all.keys[name] = public
	all.mu.Unlock()
	n = &node{name: name, key: key, all: all}
	n.Router, err = route.New(route.Options{Conn: nc, Node: name, Key: key, Nodes: all, Patience: 2 * time.Second})
	if err != nil {
		tb.Fatal(err)
	}
	n.sessions = session.NewManager(session.Config{
		Dialers: map[string]term.Dialer{"local": ptyx.Host{}.Open}, Devices: session.DeviceOptions{Node: name},
	})
	n.server = mcpapi.NewServer(mcpapi.Options{
		Sessions: n.sessions, Version: "test", Local: []string{"stdio", "http"}, Peers: n, Results: identity.Full,
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
	all := &directory{keys: make(map[string]ed25519.PublicKey)}
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
	ran := ok(t, atB, "ptyctl_session_exec", `{"session_id":"`+id+`","cmd":"echo here; exit 3"}`)
	if ran.Stdout != "here\n" || ran.ExitCode == nil || *ran.ExitCode != 3 {
		t.Errorf("exec at ams2 = %+v", ran)
	}
	// More than one message can carry, in both directions.
	long := strings.Repeat("0123456789abcde\n", 90_000)
	text, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	ok(t, atB, "ptyctl_session_exec", `{"session_id":"`+id+`","cmd":"cat","stdin":`+string(text)+`,"max_bytes":1000000}`)
	back := ok(t, atB, "ptyctl_session_exec", `{"session_id":"`+id+`","cmd":"seq 100000","max_bytes":1000000}`)
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
	if r, err := atB.Get(t.Context(), ""); err == nil {
		t.Errorf("%v", r)
	}
	// Its node ends.
	stopA()
	_, err = call(t, atB, "ptyctl_session_io", `{"action":"read","session_id":"`+id+`"}`)
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
	all := &directory{keys: make(map[string]ed25519.PublicKey)}
	url := natstest.URLs(servers)[0]
	b, _ := start(t, all, connect(t, url), "ams2")
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	all.mu.Lock()
	all.keys["fra1"] = public
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
	all := &directory{keys: make(map[string]ed25519.PublicKey)}
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
		if got := send(change); !strings.HasPrefix(got, `refused {"kind":"POLICY_DENIED"`) {
			t.Errorf("%s: %s, want a refusal", name, got)
		}
	}
}
