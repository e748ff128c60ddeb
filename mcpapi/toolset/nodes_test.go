package toolset_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/peers"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/toolset/aiterm"
	"ptyctl/mcpapi/toolset/kpty"
	"ptyctl/mcpapi/toolset/pty"
	"ptyctl/ptyx"
	"ptyctl/session"
	"ptyctl/term"
)

// nodes are servers with the sets of other programs that know each other, without a network.
type nodes struct {
	t       *testing.T
	servers map[string]*mcpapi.Server

	mu       sync.Mutex // guards the following
	place    []string   // nodes of new sessions: the first one that has not just failed
	gone     map[string]term.Kind
	forwards []string // the nodes that calls were passed on to
}

// A member is one of the nodes, as its server sees the others.
type member struct {
	*nodes
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
	for _, node := range m.place {
		if !slices.Contains(n.Not, node) {
			return node, nil
		}
	}
	return "", &term.Error{Op: "open", Kind: term.NodeUnreachable, Msg: "no node takes it"}
}

func (m member) Forward(ctx context.Context, node string, call peers.Call, c peers.Client) (json.RawMessage, error) {
	m.mu.Lock()
	kind := m.gone[node]
	m.forwards = append(m.forwards, node)
	m.mu.Unlock()
	if kind != "" {
		return nil, &term.Error{Kind: kind, Msg: "node " + node + " is away"}
	}
	call.Caller.Node = m.name
	return m.servers[node].ServePeer(ctx, call, c)
}

// newNodes starts the nodes a, b and c. New sessions go to a. Each node gives its callers the notice.
func newNodes(t *testing.T, sets []string, notice string) *nodes {
	t.Helper()
	n := &nodes{t: t, servers: make(map[string]*mcpapi.Server), gone: make(map[string]term.Kind), place: []string{"a"}}
	for _, name := range []string{"a", "b", "c"} {
		chunks := aiterm.New()
		m := session.NewManager(session.Config{
			Dialers: map[string]term.Dialer{"local": ptyx.Host{}.Open}, Logger: leaktest.Log(t),
			Devices: session.DeviceOptions{Node: name}, Observers: []term.Observer{chunks},
		})
		t.Cleanup(func() { m.Close(context.Background()) })
		n.servers[name] = mcpapi.NewServer(mcpapi.Options{
			Sessions: m, Toolsets: sets, Local: []string{"http"}, Logger: leaktest.Log(t),
			More:    []toolset.Set{pty.Toolset(pty.Options{}), kpty.Toolset(kpty.NewBookmarks()), chunks.Toolset()},
			Cluster: mcpapi.ClusterOptions{Peers: member{n, name}, Notice: func() string { return notice }},
		})
	}
	return n
}

// set changes the nodes.
func (n *nodes) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

// A user is a client of a node.
type user struct{ *mcptest.Agent }

// at connects a client with a token to a node.
func (n *nodes) at(node, token string, onlyReads bool) user {
	n.t.Helper()
	caller := identity.Caller{Transport: "http", Token: token, ReadOnly: onlyReads}
	a, _ := mcptest.Connected(n.t, identity.WithCaller(n.t.Context(), caller), n.servers[node], "tester", "")
	return user{a}
}

// say calls a tool and returns the text of its result.
func (u user) say(tool, arguments string) (text string, failed bool) {
	u.T.Helper()
	got := u.Request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
	var r struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(got.Result, &r); err != nil || len(r.Content) != 1 {
		u.T.Fatalf("%s %s = %s, %v", tool, arguments, got.Result, err)
	}
	return r.Content[0].Text, r.IsError
}

// has calls a tool, and requires success and a text in its result.
func (u user) has(tool, arguments, want string) string {
	u.T.Helper()
	text, failed := u.say(tool, arguments)
	if failed || !strings.Contains(text, want) {
		u.T.Errorf("%s %s = %s, want %s", tool, arguments, text, want)
	}
	return text
}

// opened calls a tool and returns the part of its result after a text, up to a line end or a quote.
func (u user) opened(tool, arguments, before string) (id string) {
	u.T.Helper()
	_, rest, _ := strings.Cut(u.has(tool, arguments, before), before)
	return rest[:max(strings.IndexAny(rest, "\n\""), 0)]
}

// TestListsOfNodes: the lists of the sets have the sessions of all nodes, beginning with the client's node, and name
// the nodes that have not answered.
func TestListsOfNodes(t *testing.T) {
	n := newNodes(t, []string{"pty", "k_pty"}, "")
	b := n.at("b", "ops", false)
	var ids []string
	for _, node := range []string{"a", "b", "c"} {
		n.set(func() { n.place = []string{node} })
		id := b.opened("pty_spawn", `{"command":"cat","title":"at `+node+`"}`, "\nID: ")
		if peers.NodeOf(id) != node {
			t.Fatalf("the session is %s, want it at %s", id, node)
		}
		ids = append(ids, id)
	}
	order := func(text string, at ...int) {
		t.Helper()
		last := -1
		for _, i := range at {
			if found := strings.Index(text, ids[i]); found <= last {
				t.Errorf("%s is not in its place in %s", ids[i], text)
			} else {
				last = found
			}
		}
	}
	order(b.has("pty_list", `{}`, "\n\nTotal: 3 session(s)\n</pty_list>"), 1, 0, 2)
	order(b.has("k_pty", `{"action":"list","agent_id":"x"}`, `"ok":true`), 1, 0, 2)
	order(n.at("c", "ci", true).has("pty_list", `{}`, "\n\nTotal: 3 session(s)\n</pty_list>"), 2, 0, 1)
	n.set(func() { n.gone["a"], n.gone["c"] = term.NodeUnreachable, term.NodeSilent })
	order(b.has("pty_list", `{}`, "\n\n(Node a has not answered: its sessions are missing here)\n"+
		"(Node c has not answered: its sessions are missing here)\nTotal: 1 session(s)\n</pty_list>"), 1)
	order(b.has("k_pty", `{"action":"list"}`, `"unanswered_nodes":["a","c"]`), 1)
}

// TestStartsAtNodes: the sets start programs at the chosen node, and at another one if that was not reached. A program
// that may have started is not started twice.
func TestStartsAtNodes(t *testing.T) {
	for name, set := range map[string]struct{ tool, open, silent string }{
		"pty":    {"pty_spawn", `{"command":"cat"}`, "Error: node a is away; look before you repeat it: pty_list"},
		"k_pty":  {"k_pty", `{"action":"spawn","shell":"/bin/sh"}`, `"error_code":"PTY_SPAWN_FAILED","message":"node a is away; look before you repeat it: list`},
		"aiterm": {"pty_open", `{"argv":["cat"]}`, `{"code":"EIO","message":"node a is away","details":{"retryable":false`},
		"run":    {"shell_run", `{"argv":["true"]}`, `{"code":"EIO","message":"node a is away","details":{"retryable":false`},
	} {
		t.Run(name, func(t *testing.T) {
			sets := []string{"pty", "k_pty"}
			if strings.HasPrefix(set.silent, `{"code"`) {
				sets = []string{"aiterm"}
			}
			n := newNodes(t, sets, "")
			b := n.at("b", "ops", false)
			calls := func(place []string, kind term.Kind, failed bool, want string, forwards ...string) {
				t.Helper()
				n.set(func() { n.place, n.gone["a"], n.forwards = place, kind, nil })
				text, bad := b.say(set.tool, set.open)
				if bad != failed || !strings.Contains(text, want) || !slices.Equal(n.forwards, forwards) {
					t.Errorf("%s = %s, through %v; want %s through %v", set.tool, text, n.forwards, want, forwards)
				}
			}
			at := func(node string) string {
				if name == "run" {
					return `"rc":0`
				}
				return "@" + node
			}
			calls([]string{"b"}, "", false, at("b"))
			calls([]string{"a"}, "", false, at("a"), "a")
			calls([]string{"a", "c"}, term.NodeUnreachable, false, at("c"), "a", "c")
			calls([]string{"a"}, term.NodeUnreachable, true, "no node takes it; try again later", "a")
			calls([]string{"a", "c"}, term.NodeSilent, true, set.silent, "a")
		})
	}
}

// TestLostNode: the sets say in their own forms, and with their own codes, that the node of a session is away.
func TestLostNode(t *testing.T) {
	forms := map[string][]string{
		`pty_write {"id":"pty_a1b2c3d4@a","data":"x"}`: {"Error: node a is away; try again later: if it stays so, the session is lost, and pty_spawn", "Error: node a is away; look before you repeat it"},
		`pty_kill {"id":"pty_a1b2c3d4@a"}`:             {"Error: node a is away; try again later", "Error: node a is away; look before you repeat it"},
	}
	for action, code := range map[string]string{
		`write","data":"x"`: "WRITE", `read"`: "READ", `run","command":"x"`: "WRITE", `talk","command":"x"`: "WRITE", `resize","cols":9,"rows":9`: "WRITE", `kill"`: "WRITE",
	} {
		want := func(kind term.Kind, text string) string {
			return fmt.Sprintf(`{"ok":false,"error_code":"PTY_%s_FAILED","message":"node a is away; %s","retryable":%t,"cause":%q,"session_id":"sh-x@a"`,
				code, text, kind.Retryable(), kind)
		}
		forms[`k_pty {"session_id":"sh-x@a","action":"`+action+`}`] = []string{
			want(term.NodeUnreachable, "try again later: if it stays so, the session is lost, and spawn starts a new one"),
			want(term.NodeSilent, "look before you repeat it: list shows the sessions, read the output of one"),
		}
	}
	for call, at := range map[string]string{
		`pty_read {"id":"sh-x@a"}`: "", `pty_send {"id":"sh-x@a","data":""}`: "", `pty_close {"id":"sh-x@a"}`: "",
	} {
		forms["aiterm "+call] = []string{
			`{"code":"EIO","message":"node a is away; try again later: if it stays so, the terminal is lost, and pty_open opens a new one","details":{"retryable":true,"id":"sh-x@a"` + at,
			`{"code":"EIO","message":"node a is away; look with pty_read before you repeat it","details":{"retryable":false,"id":"sh-x@a"` + at,
		}
	}
	text, programs := newNodes(t, []string{"pty", "k_pty"}, ""), newNodes(t, []string{"aiterm"}, "")
	for call, want := range forms {
		n := text
		rest, ofAITerm := strings.CutPrefix(call, "aiterm ")
		if ofAITerm {
			n = programs
		}
		tool, arguments, _ := strings.Cut(rest, " ")
		for i, kind := range []term.Kind{term.NodeUnreachable, term.NodeSilent} {
			n.set(func() { n.gone["a"] = kind })
			if text, failed := n.at("b", "ops", false).say(tool, arguments); !failed || !strings.HasPrefix(text, want[i]) {
				t.Errorf("%s = %s, want %s", call, text, want[i])
			}
		}
	}
}

// TestReadersAtNodes: the state that a set keeps for a session is at the session's node. A read-only caller of k_pty
// has one position in the output, whichever nodes it reads through, and takes no output from callers that type.
func TestReadersAtNodes(t *testing.T) {
	n := newNodes(t, []string{"k_pty"}, "")
	id := n.at("b", "ops", false).opened("k_pty", `{"action":"spawn","shell":"/bin/sh"}`, `"session_id":"`)
	read := fmt.Sprintf(`{"action":"read","session_id":%q,"timeout_ms":`, id)
	for i, reader := range []user{n.at("b", "ci", true), n.at("c", "ci", true), n.at("a", "ci", true)} {
		if i == 0 {
			reader.has("k_pty", read+`20000}`, `"output":"`)
			continue
		}
		reader.has("k_pty", read+`0}`, `"timed_out":true`)
	}
	n.at("c", "other", true).has("k_pty", read+`0}`, `"timed_out":false`)
	n.at("c", "ops", false).has("k_pty", read+`0}`, `"timed_out":false`)
	n.at("a", "ops", false).has("k_pty", read+`0}`, `"timed_out":true`)
}

// TestChunksAtNodes: chunks that were returned from a terminal of aiterm have the same numbers and bytes at each node.
func TestChunksAtNodes(t *testing.T) {
	n := newNodes(t, []string{"aiterm"}, "")
	b, c := n.at("b", "ops", false), n.at("c", "ops", false)
	id := b.opened("pty_open", `{"argv":["sh","-c","echo first; read x; echo second; exec cat"],"env":{"PATH":"/usr/bin:/bin"}}`, `"id":"`)
	chunks := func(u user, since uint64) (all []struct {
		Seq  uint64
		Data []byte
		TS   string
	}) {
		t.Helper()
		var r struct {
			Chunks []struct {
				Seq  uint64
				Data []byte
				TS   string
			}
		}
		text := u.has("pty_read", fmt.Sprintf(`{"id":%q,"since_seq":%d,"timeout_ms":20000}`, id, since), `"chunks":[{`)
		if err := json.Unmarshal([]byte(text), &r); err != nil || len(r.Chunks) == 0 {
			t.Fatalf("pty_read = %s, %v", text, err)
		}
		return r.Chunks
	}
	first := chunks(b, 0)
	c.has("pty_send", `{"id":"`+id+`","data":"DQ=="}`, `"bytes_written":1`)
	last := first[len(first)-1]
	if next := chunks(c, last.Seq); next[0].Seq != last.Seq+1 {
		t.Errorf("after %+v comes %+v", last, next[0])
	}
	for i, again := range chunks(c, 0)[:len(first)] {
		if again.Seq != first[i].Seq || string(again.Data) != string(first[i].Data) || again.TS != first[i].TS {
			t.Errorf("chunk %+v is %+v at another node", first[i], again)
		}
	}
}

// TestNoticeInSets: callers of the sets get the notice about a drained node once, with the first result that has room
// for it.
func TestNoticeInSets(t *testing.T) {
	const notice = "node a is drained"
	n := newNodes(t, []string{"pty", "k_pty"}, notice)
	b := n.at("b", "ops", false)
	id := b.opened("pty_spawn", `{"command":"cat"}`, "\nID: ")
	b.has("pty_write", `{"id":"`+id+`","data":"x"}`, "\nWarning: "+notice)
	if text, _ := b.say("pty_write", `{"id":"`+id+`","data":"x"}`); strings.Contains(text, notice) {
		t.Errorf("pty_write says it again: %s", text)
	}
	id = b.opened("k_pty", `{"action":"spawn","shell":"/bin/sh"}`, `"session_id":"`)
	b.has("k_pty", `{"action":"run","session_id":"`+id+`","command":"true"}`, `"warnings":["`+notice+`"]`)
	id = b.opened("k_pty", `{"action":"spawn","shell":"/bin/sh"}`, `"session_id":"`)
	b.has("k_pty", `{"action":"write","session_id":"`+id+`","data":"x"}`, `"warnings":["`+notice+`"]`)
	n = newNodes(t, []string{"aiterm"}, notice)
	b = n.at("b", "ops", false)
	id = b.opened("pty_open", `{"argv":["cat"]}`, `"id":"`)
	b.has("pty_send", `{"id":"`+id+`","data":"`+base64.StdEncoding.EncodeToString([]byte("x"))+`"}`, `"warnings":["`+notice+`"]`)
}
