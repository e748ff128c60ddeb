package mcpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/leaktest"
	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/kept"
	"ptyctl/mcpapi/peers"
	"ptyctl/session"
	"ptyctl/sshx"
	"ptyctl/term"
)

// A group is several servers that know each other, without a network, and the kept records of their sessions.
type group struct {
	servers map[string]*mcpapi.Server

	mu       sync.Mutex // guards the following
	gone     map[string]term.Kind
	place    string // the node of new sessions
	forwards []string
	kept     map[string]json.RawMessage
	again    map[string]string
}

// A member is a server of a group, as a cluster shows the others to it.
type member struct {
	*group
	name string
}

func (m member) Node() string { return m.name }

func (m member) Others() (others []string) {
	for name := range m.servers {
		if name != m.name {
			others = append(others, name)
		}
	}
	return others
}

func (m member) Place(_ context.Context, n peers.Need) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Contains(n.Not, m.place) {
		return m.name, nil
	}
	return m.place, nil
}

func (m member) Forward(ctx context.Context, node string, call peers.Call, c peers.Client) (json.RawMessage, error) {
	m.mu.Lock()
	kind := m.gone[node]
	m.forwards = append(m.forwards, node)
	m.mu.Unlock()
	if kind != "" {
		return nil, &term.Error{Kind: kind, Msg: "node " + node + " is " + string(kind)}
	}
	call.Caller.Node = m.name
	return m.servers[node].ServePeer(ctx, call, c)
}

func (m member) Changed(string) {}

func (m member) Find(_ context.Context, id string) (*kept.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if node := peers.NodeOf(id); node != m.name && m.gone[node] != term.NodeUnreachable {
		return nil, term.Errorf(term.NodeSilent, "node %s is there", node)
	}
	if m.kept[id] == nil {
		return nil, nil
	}
	return kept.Decode(id, m.kept[id])
}

func (m member) Claim(_ context.Context, id, as string) (string, func(), error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if other := m.again[id]; other != "" {
		return other, nil, nil
	}
	m.again[id] = as
	return as, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.again, id)
	}, nil
}

// nodes are two servers of a group, with one SSH server that both reach.
type nodes struct {
	*group
	t    *testing.T
	ssh  *sshserver.Server
	lab  map[string]*mcptest.Lab
	deny string // a host that no rule allows
}

const password = "correct-horse-1138"

func newNodes(t *testing.T, names ...string) *nodes {
	t.Helper()
	leaktest.Secret(t, password)
	far, err := sshserver.Listen(sshserver.Config{
		KeyboardInteractive: func(_ string, challenge ssh.KeyboardInteractiveChallenge) error {
			if answers, err := challenge("", "", []string{"Word: "}, []bool{true}); err != nil || answers[0] != password && answers[0] != "alice" {
				return term.AuthFailed
			}
			return nil
		},
		Passwords: map[string]string{"demo": password}, Shell: "/bin/sh", Env: []string{"PATH=" + os.Getenv("PATH"), "PS1=$ "},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".ssh", "known_hosts"), []byte(far.KnownHostsLine()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := &nodes{t: t, ssh: far, lab: make(map[string]*mcptest.Lab), group: &group{
		servers: make(map[string]*mcpapi.Server), gone: make(map[string]term.Kind), place: names[0],
		kept: make(map[string]json.RawMessage), again: make(map[string]string),
	}}
	for _, name := range names {
		m := member{n.group, name}
		network := sshx.NewNetwork(sshx.Options{NoConfig: true, HomeDir: home, IdentityAgent: "none", Logger: leaktest.Log(t)})
		n.lab[name], n.servers[name] = mcptest.NewServer(t, mcptest.Config{
			Options: mcpapi.Options{Elicitation: true, Cluster: mcpapi.ClusterOptions{Peers: m, Memory: m}},
			Sessions: session.Config{
				Devices: session.DeviceOptions{Node: name}, Dialers: map[string]term.Dialer{"ssh": network.OpenShell},
				Gate: func(_ context.Context, a term.Action) (term.Ruling, error) {
					if a.Target != nil && a.Target.Host == n.deny {
						return term.Ruling{}, term.Errorf(term.PolicyDenied, "not there")
					}
					return term.Ruling{}, nil
				},
			},
		})
	}
	return n
}

// at connects a client to a node. An empty token is of a caller that sees all sessions.
func (n *nodes) at(name, token string, change ...func(*identity.Caller)) *mcptest.Agent {
	n.t.Helper()
	c := identity.Caller{Transport: "http", Token: token, Isolated: token != ""}
	for _, f := range change {
		f(&c)
	}
	a, _ := mcptest.Connected(n.t, identity.WithCaller(n.t.Context(), c), n.servers[name], "tester", "")
	return a
}

// open opens a session and keeps its record.
func (n *nodes) open(a *mcptest.Agent, more string) (id string) {
	n.t.Helper()
	id = a.OK(mcptest.SessionTool, fmt.Sprintf(
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%d,"username":"demo","auth":{"password":%q}%s}`,
		n.ssh.Port(), password, more)).SessionID
	s, err := n.lab[peers.NodeOf(id)].Manager.Get(id)
	if err != nil {
		n.t.Fatal(err)
	}
	r, err := s.ServerView().Remembered()
	if err != nil {
		n.t.Fatal(err)
	}
	k, err := kept.Of(id, r)
	if err != nil {
		n.t.Fatal(err)
	}
	n.kept[id] = k.Encode()
	if strings.Contains(string(n.kept[id]), password) {
		n.t.Errorf("what is kept has the password: %s", n.kept[id])
	}
	return id
}

func (n *nodes) lose(node string, kind term.Kind) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gone[node], n.place = kind, "b"
}

// again is a call of reopen, with the password.
func again(id string) string {
	return fmt.Sprintf(`{"action":"reopen","session_id":%q,"auth":{"password":%q}}`, id, password)
}

func from(r mcptest.Reply) string { return strings.Trim(string(r.Members["reopened_from"]), `"`) }

// TestReopenElsewhere: a session of a lost node is reopened once, as a new session at another node, from its kept
// record and the credentials of the call.
func TestReopenElsewhere(t *testing.T) {
	n := newNodes(t, "a", "b")
	b := n.at("b", "")
	id := n.open(b, `,"pty":{"cols":101},"expect":{"profile":"posix"}`)
	if peers.NodeOf(id) != "a" {
		t.Fatalf("open at b, placed at a = %q", id)
	}
	n.lose("a", term.NodeUnreachable)
	n.place, n.forwards = "a", nil // as before the loss is noticed
	r := b.OK(mcptest.SessionTool, again(id))
	if peers.NodeOf(r.SessionID) != "b" || r.SessionID == id || from(r) != id || r.State != "open" ||
		string(r.Members["opens"]) != "1" {
		t.Fatalf("reopen at b = %s, want a new session there from %s", r.Text, id)
	}
	if len(n.forwards) != 1 {
		t.Errorf("the call was passed on to %q, want a alone, once", n.forwards)
	}
	b.Session = r.SessionID
	st := b.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`)
	if !strings.Contains(st.Text, `"cols":101`) || st.Session.Profile != "posix" {
		t.Errorf("its status is %s, want 101 columns and profile posix", st.Text)
	}
	if r := b.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"echo here"}`); r.Stdout != "here\n" {
		t.Errorf("exec = %s", r.Text)
	}
	b.Fails(mcptest.SessionTool, again(id), term.AlreadyClosed, "goes on as "+b.Session)
	if all := n.lab["b"].Manager.List(); len(all) != 1 {
		t.Errorf("b has %d sessions, want 1", len(all))
	}
}

// TestReopenPlaced: the reopened session goes to the node chosen for new ones, or to another if that does not answer.
func TestReopenPlaced(t *testing.T) {
	n := newNodes(t, "a", "b", "c")
	c := n.at("c", "")
	id, second := n.open(c, ""), n.open(c, "")
	n.lose("a", term.NodeUnreachable)
	if r := c.OK(mcptest.SessionTool, again(id)); peers.NodeOf(r.SessionID) != "b" || from(r) != id {
		t.Errorf("reopen at c, placed at b = %s", r.Text)
	}
	n.lose("b", term.NodeUnreachable)
	if r := c.OK(mcptest.SessionTool, again(second)); peers.NodeOf(r.SessionID) != "c" || from(r) != second {
		t.Errorf("reopen at c, placed at b, which is gone = %s", r.Text)
	}
}

// TestReopenAlive: a node that has the session reopens it itself; a node that was restarted opens a new one.
func TestReopenAlive(t *testing.T) {
	n := newNodes(t, "a", "b")
	b := n.at("b", "")
	id := n.open(b, "")
	b.Fails(mcptest.SessionTool, again(id), term.InvalidArgument, "nothing to reopen")
	s, err := n.lab["a"].Manager.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	s.Close(t.Context(), session.CloseOptions{})
	b.Fails(mcptest.SessionTool, again(id), term.AlreadyClosed, "ended for good")
	n.lab["a"].Manager.Forget(s) // as after a start
	r := b.OK(mcptest.SessionTool, again(id))
	if peers.NodeOf(r.SessionID) != "a" || r.SessionID == id || from(r) != id {
		t.Errorf("reopen of a session that its node does not know = %s, want a new one there", r.Text)
	}
}

// TestReopenSilent: a session that its node may still have is not reopened elsewhere.
func TestReopenSilent(t *testing.T) {
	n := newNodes(t, "a", "b")
	b := n.at("b", "")
	id := n.open(b, "")
	n.lose("a", term.NodeSilent)
	b.Fails(mcptest.SessionTool, again(id), term.NodeSilent)
	if all := n.lab["b"].Manager.List(); len(all) != 0 {
		t.Errorf("b has sessions %+v, want none", all)
	}
}

// TestReopenWhose: another isolated caller gets the same error as for a session that never existed, and a read-only
// caller reopens nothing.
func TestReopenWhose(t *testing.T) {
	n := newNodes(t, "a", "b")
	owner, other := n.at("b", "one"), n.at("b", "two")
	id := n.open(owner, "")
	n.lose("a", term.NodeUnreachable)
	const none = "127.0.0.1-aaaaaaaa@a"
	hidden := other.Fails(mcptest.SessionTool, again(id), term.NotFound).Message
	if missing := other.Fails(mcptest.SessionTool, again(none), term.NotFound).Message; missing != strings.ReplaceAll(hidden, id, none) {
		t.Errorf("another's session is refused with %q, none with %q, want the same", hidden, missing)
	}
	reader := n.at("b", "one", func(c *identity.Caller) { c.ReadOnly = true })
	if r := reader.Call(mcptest.SessionTool, again(id)); !r.IsError || r.ErrorCode == term.NodeUnreachable {
		t.Errorf("reopen by a reader = %s, want a refusal", r.Text)
	}
	if all := n.lab["b"].Manager.List(); len(all) != 0 || len(n.again) != 0 {
		t.Fatalf("b has sessions %+v, want none", all)
	}
	if r := owner.OK(mcptest.SessionTool, again(id)); from(r) != id {
		t.Errorf("reopen by the owner = %s", r.Text)
	}
}

// TestReopenFails: after a failed reopen, a later call can reopen the session.
func TestReopenFails(t *testing.T) {
	n := newNodes(t, "a", "b")
	b := n.at("b", "")
	id := n.open(b, "")
	n.lose("a", term.NodeUnreachable)
	b.Fails(mcptest.SessionTool, fmt.Sprintf(`{"action":"reopen","session_id":%q,"auth":{"password":"wrong-horse-1138","interactive":false}}`, id),
		term.AuthFailed)
	n.deny = "127.0.0.1"
	b.Fails(mcptest.SessionTool, again(id), term.PolicyDenied)
	n.deny = ""
	// Without a password the login asks, as it does for an open.
	r := b.OK(mcptest.SessionTool, fmt.Sprintf(`{"action":"reopen","session_id":%q}`, id))
	if r.Prompt == nil || from(r) != id || peers.NodeOf(r.SessionID) != "b" {
		t.Fatalf("reopen without a password = %s, want the login's question", r.Text)
	}
	b.Session = r.SessionID
	b.OK(mcptest.IOTool, fmt.Sprintf(`{"action":"write","session_id":"$S","sensitive":true,"data":"%s\r"}`, password))
	if r := b.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"echo here"}`); r.Stdout != "here\n" {
		t.Errorf("exec = %s", r.Text)
	}
}

// TestReopenQuestion: the login's question goes to the person at the client. The answer may come to any node, and is
// passed on to the node that asks.
func TestReopenQuestion(t *testing.T) {
	n := newNodes(t, "a", "b", "c")
	b, c := n.at("b", ""), n.at("c", "")
	state := regexp.MustCompile(`"requestState":"(@[^"]*)"`)
	call := func(a *mcptest.Agent, id, more string) string {
		t.Helper()
		got := a.Request("tools/call", fmt.Sprintf(
			`{"name":%q,"arguments":{"action":"reopen","session_id":%q},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
				`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}%s}`, mcptest.SessionTool, id, more))
		if got.Error != nil {
			t.Fatalf("error %+v, want a result", got.Error)
		}
		return string(got.Result)
	}
	opens := func() (id string) {
		t.Helper()
		n.lose("a", "")
		n.place = "a"
		id = n.open(b, "")
		n.kept[id] = json.RawMessage(strings.Replace(string(n.kept[id]), `"method":"password"`, `"method":"auto"`, 1))
		n.lose("a", term.NodeUnreachable)
		return id
	}
	for i, asked := range []*mcptest.Agent{b, c} { // the node that opens it, and another
		id := opens()
		question := call(asked, id, "")
		m := state.FindStringSubmatch(question)
		if m == nil || !strings.HasPrefix(m[1], "@b ") {
			t.Fatalf("reopen = %s, want a question of b's", question)
		}
		got := call(c, id, fmt.Sprintf(`,"requestState":%q,"inputResponses":{"answer":{"action":"accept","content":{"answer":"alice"}}}`, m[1]))
		if !strings.Contains(got, `\"reopened_from\":\"`+id) || !strings.Contains(got, `\"state\":\"open\"`) {
			t.Errorf("the answer's result is %s, want the open session", got)
		}
		if all := n.lab["b"].Manager.List(session.Open); len(all) != i+1 || len(n.lab["c"].Manager.List()) != 0 {
			t.Errorf("b has sessions %+v, want %d", all, i+1)
		}
	}
	// The answer may also come to the node that asks.
	id := opens()
	m := state.FindStringSubmatch(call(b, id, ""))
	if m == nil {
		t.Fatal("no question")
	}
	got := call(b, id, fmt.Sprintf(`,"requestState":%q,"inputResponses":{"answer":{"action":"accept","content":{"answer":"alice"}}}`, m[1]))
	if !strings.Contains(got, `\"reopened_from\":\"`+id) || !strings.Contains(got, `\"state\":\"open\"`) {
		t.Errorf("the answer's result at b is %s, want the open session", got)
	}
}

// TestReopenHostile: a malformed record from another node opens nothing.
func TestReopenHostile(t *testing.T) {
	n := newNodes(t, "a", "b")
	b := n.at("b", "")
	id := n.open(b, "")
	n.lose("a", term.NodeUnreachable)
	n.kept[id] = json.RawMessage(strings.Replace(string(n.kept[id]), `"protocol":"ssh"`, `"protocol":"local"`, 1))
	b.Fails(mcptest.SessionTool, again(id), term.IOError, "not valid", "protocol is")
	if all := n.lab["b"].Manager.List(); len(all) != 0 {
		t.Errorf("b has sessions %+v, want none", all)
	}
}
