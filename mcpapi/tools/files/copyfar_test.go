//go:build unix

package files_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ptyctl/fsx"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/lending"
	"ptyctl/mcpapi/peers"
	"ptyctl/session"
	"ptyctl/term"
)

// A cluster is nodes that call each other without a network.
type cluster struct {
	labs    map[string]*filesLab
	servers map[string]*mcpapi.Server // that answer the other nodes
	others  map[string]*mcpapi.Server // further ones with the same sessions, as each conversation of a daemon has

	mu      sync.Mutex // guards the following
	instead answering
	lose    answering
}

// An answering changes the answer to a call. Without a call, it gets no answer.
type answering func(call peers.Call, answer json.RawMessage) (json.RawMessage, error)

// A member is one node, as it sees the others.
type member struct {
	*cluster
	name string
}

func (m member) Node() string                                      { return m.name }
func (m member) Others() []string                                  { return nil }
func (m member) Place(context.Context, peers.Need) (string, error) { return m.name, nil }

func (m member) Forward(ctx context.Context, node string, call peers.Call, c peers.Client) (json.RawMessage, error) {
	call.Caller.Node = m.name
	m.mu.Lock()
	instead, lose := m.instead, m.lose
	m.mu.Unlock()
	if instead != nil {
		if answer, err := instead(call, nil); answer != nil || err != nil {
			return answer, err
		}
	}
	answer, err := m.servers[node].ServePeer(ctx, call, c)
	if lose != nil && err == nil {
		return lose(call, answer)
	}
	return answer, err
}

// changes has calls answered by instead, if that has an answer, and answers changed by lose, from now on.
func (c *cluster) changes(instead, lose answering) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.instead, c.lose = instead, lose
}

// newCluster starts nodes a, b and c, with a session on a and on b. deny is a path that no one may read on a.
func newCluster(t *testing.T, deny *string) (c *cluster, ids map[string]string) {
	t.Helper()
	c, ids = &cluster{
		labs: make(map[string]*filesLab), servers: make(map[string]*mcpapi.Server), others: make(map[string]*mcpapi.Server),
	}, make(map[string]string)
	for _, name := range []string{"a", "b", "c"} {
		conf := mcptest.Config{
			Options: mcpapi.Options{Cluster: mcpapi.ClusterOptions{Peers: member{c, name}, Lendings: new(lending.Table)}},
			Sessions: session.Config{
				Devices: session.DeviceOptions{Node: name},
				Gate: func(_ context.Context, a term.Action) (term.Ruling, error) {
					if name == "a" && a.Path == *deny && a.Verb == term.VerbFileRead {
						return term.Ruling{}, &term.Error{
							Kind: term.PolicyDenied, Msg: "not this one", Facts: term.Facts{term.Denial{Rule: "policy.deny"}},
						}
					}
					return term.Ruling{}, nil
				},
			},
		}
		c.labs[name] = filesLabOf(t, conf, fsx.Limits{}, func(conf mcptest.Config) *mcptest.Lab {
			lab, srv := mcptest.NewServer(t, conf)
			c.servers[name] = srv
			conf.Options.Sessions, conf.Options.Results = lab.Manager, identity.Full
			c.others[name] = mcpapi.NewServer(conf.Options)
			return lab
		})
		if name != "c" {
			ids[name] = c.at(t, name, "ops").OK(mcptest.SessionTool, c.labs[name].OpenArgs("")).SessionID
			if peers.NodeOf(ids[name]) != name {
				t.Fatalf("the session on %s is %s", name, ids[name])
			}
		}
	}
	return c, ids
}

// at connects a caller to a node.
func (c *cluster) at(t *testing.T, node, token string, change ...func(*identity.Caller)) *mcptest.Agent {
	t.Helper()
	caller := identity.Caller{Transport: "http", Token: token, Isolated: true}
	for _, f := range change {
		f(&caller)
	}
	a, _ := mcptest.Connected(t, identity.WithCaller(t.Context(), caller), c.servers[node], "tester", "")
	return a
}

// recorded returns the last event with a verb, and forgets all.
func (l *filesLab) recorded(verb term.Verb) (last term.Event) {
	for _, e := range l.seen.Take() {
		if e.Verb == verb {
			last = e
		}
	}
	return last
}

// TestCopyAtNodes: a client of any node can copy a file between sessions of two nodes. The copy acts in the caller's
// name, and an error names the node.
func TestCopyAtNodes(t *testing.T) {
	deny := ""
	c, ids := newCluster(t, &deny)
	from, to := filepath.Join(c.labs["a"].far, "file"), filepath.Join(c.labs["b"].far, "copy")
	deny = from + "-denied"
	data := noise(3 << 20)
	write(t, from, data, 0o640)
	write(t, deny, nil, 0o640)
	args := func(from, to, more string) string {
		return fmt.Sprintf(`{"action":"copy","from":{"session_id":%q,"path":%q},"to":{"session_id":%q,"path":%q}%s}`, ids["a"], from, ids["b"], to, more)
	}
	for _, at := range []string{"a", "b", "c"} {
		agent := c.at(t, at, "ops")
		for _, lab := range c.labs {
			lab.seen.Take()
		}
		r := agent.OK(mcptest.FilesTool, args(from, to, ""))
		if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, data) || !strings.Contains(r.Text, `"sha256"`) {
			t.Errorf("at %s: copy = %s, and the target has %d bytes, %v", at, r.Text, len(got), err)
		}
		read, wrote := c.labs["a"].recorded(term.VerbFileRead), c.labs["b"].recorded(term.VerbFileWrite)
		if read.Path != from || read.Size != len(data) || read.Actor.Token != "ops" || read.Actor.Node != "" && read.Actor.Node != at {
			t.Errorf("at %s: the record of a is %+v", at, read)
		}
		if wrote.Copy == "" || wrote.Copy != read.Copy || wrote.Exec == "" || wrote.Exec != read.Exec || wrote.Path != to {
			t.Errorf("at %s: the record of b is %+v, want the copy of a's %+v", at, wrote, read)
		}
		for _, f := range []struct {
			from, to string
			kind     term.Kind
			has      []string
		}{
			{deny, to, term.PolicyDenied, []string{"not this one", "policy.deny", ids["a"]}},
			{from + "-none", to, term.NotFound, []string{"file-none", ids["a"]}},
			{from, to + "/none/x", term.NotFound, []string{"none/x", ids["b"]}},
		} {
			r := agent.Fails(mcptest.FilesTool, args(f.from, f.to, ""), f.kind)
			for _, part := range f.has {
				if !strings.Contains(r.Text, part) {
					t.Errorf("at %s: copy of %s to %s = %s, want %q in it", at, f.from, f.to, r.Text, part)
				}
			}
		}
		agent.Fails(mcptest.FilesTool, args(from, to, `,"recursive":true`), term.InvalidArgument, "from.path")
		agent.Fails(mcptest.FilesTool, args(from, to, `,"via":"ymodem"`), term.InvalidArgument, "via")
		c.at(t, at, "other").Fails(mcptest.FilesTool, args(from, to, ""), term.NotFound, ids["a"])
		c.at(t, at, "ops", func(c *identity.Caller) { c.ReadOnly = true }).Fails(mcptest.FilesTool, args(from, to, ""), term.PolicyDenied, "role read")

		// A repetition is the result of the copy that was made.
		once := agent.OK(mcptest.FilesTool, args(from, to, `,"request_id":"`+at+`"`)).Text
		write(t, to, []byte("mine"), 0o640)
		for _, again := range []string{"a", "b", "c"} {
			if r := c.at(t, again, "ops").OK(mcptest.FilesTool, args(from, to, `,"request_id":"`+at+`"`)); r.Text != once {
				t.Errorf("at %s, after %s: the same request = %s, want %s", again, at, r.Text, once)
			}
		}
		if got, err := os.ReadFile(to); string(got) != "mine" {
			t.Errorf("at %s: a request was done twice: the target has %d bytes, %v", at, len(got), err)
		}
	}
}

// TestCopyOfAnotherServer: a copy works for the client of any server of a node, although one of them answers the other nodes.
func TestCopyOfAnotherServer(t *testing.T) {
	c, ids := newCluster(t, new(string))
	from, to := filepath.Join(c.labs["a"].far, "file"), filepath.Join(c.labs["b"].far, "copy")
	data := noise(100_000)
	write(t, from, data, 0o640)
	args := fmt.Sprintf(`{"action":"copy","from":{"session_id":%q,"path":%q},"to":{"session_id":%q,"path":%q}}`, ids["a"], from, ids["b"], to)
	for _, at := range []string{"a", "b", "c"} {
		caller := identity.Caller{Transport: "http", Token: "ops", Isolated: true}
		agent, _ := mcptest.Connected(t, identity.WithCaller(t.Context(), caller), c.others[at], "tester", "")
		agent.OK(mcptest.FilesTool, args)
		if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, data) {
			t.Errorf("at %s: the target has %d bytes, %v; want %d", at, len(got), err, len(data))
		}
		_ = os.Remove(to)
	}
}

// TestCopyLosesANode: the error of a copy when a node gives no answer, and the state of the target then.
func TestCopyLosesANode(t *testing.T) {
	c, ids := newCluster(t, new(string))
	from, to := filepath.Join(c.labs["a"].far, "file"), filepath.Join(c.labs["b"].far, "copy")
	write(t, from, noise(3<<20), 0o640)
	write(t, to, []byte("old"), 0o640)
	args := fmt.Sprintf(`{"action":"copy","from":{"session_id":%q,"path":%q},"to":{"session_id":%q,"path":%q}}`, ids["a"], from, ids["b"], to)
	silent := &term.Error{Kind: term.NodeSilent, Msg: "there is no answer", Facts: term.Facts{term.UnreachedNode{Node: "x"}}}
	for _, at := range []string{"a", "b", "c"} {
		agent := c.at(t, at, "ops")
		kept := func(when string) {
			t.Helper()
			if got, err := os.ReadFile(to); string(got) != "old" {
				t.Errorf("at %s, %s: the target has %d bytes, %v; want the old ones", at, when, len(got), err)
			}
			if left := names(t, c.labs["b"].far); len(left) != 1 {
				t.Errorf("at %s, %s: beside the target are %q", at, when, left)
			}
		}
		if at != "a" {
			c.changes(func(call peers.Call, _ json.RawMessage) (json.RawMessage, error) {
				if call.Lend != "" {
					return nil, silent
				}
				return nil, nil
			}, nil)
			agent.Fails(mcptest.FilesTool, args, term.NodeUnreachable, "node a, which has the source of the copy", "nothing was copied")
			c.changes(func(call peers.Call, _ json.RawMessage) (json.RawMessage, error) {
				if call.Lend != "" {
					return json.RawMessage(`{"content":[{"type":"text","text":"{}"}]}`), nil
				}
				return nil, nil
			}, nil)
			agent.Fails(mcptest.FilesTool, args, term.Unsupported, "does not lend")
			kept("after nothing was lent")
		}
		var blocks atomic.Int32
		c.changes(nil, func(call peers.Call, answer json.RawMessage) (json.RawMessage, error) {
			if strings.Contains(string(call.Files), `"do":"read"`) && blocks.Add(1) > 2 {
				return nil, silent
			}
			return answer, nil
		})
		agent.Fails(mcptest.FilesTool, args, term.NodeUnreachable, "node a, from which the copy reads", "replaced nothing")
		kept("after the loss of the source")
		if at == "b" {
			continue
		}
		c.changes(nil, func(call peers.Call, answer json.RawMessage) (json.RawMessage, error) {
			if call.Lent != nil {
				return nil, silent
			}
			return answer, nil
		})
		agent.Fails(mcptest.FilesTool, args, term.NodeSilent, "there is no answer", "it had read 3145728 bytes")
		write(t, to, []byte("old"), 0o640)
	}
}
