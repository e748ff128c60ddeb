package mcpapi_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/peers"
	"ptyctl/term"
)

// atPrompt waits until the shell of a session waits, and returns the cursor there.
func atPrompt(a *mcptest.Agent, id string) {
	a.T.Helper()
	r := a.OK(mcptest.IOTool, fmt.Sprintf(`{"action":"read","session_id":%q,"cursor":"0","until_regex":"\\$ $","timeout_ms":20000}`, id))
	if r.Chunk != "$ " {
		a.T.Fatalf("no prompt came: %s", r.Text)
	}
}

// TestWaitAtNodes: a wait for sessions of several nodes is that for sessions of one, through any of them.
func TestWaitAtNodes(t *testing.T) {
	n := newNodes(t, "a", "b", "c")
	opener := n.at("c", "")
	one := n.open(opener, "")
	n.place = "b"
	two := n.open(opener, "")
	if peers.NodeOf(one) != "a" || peers.NodeOf(two) != "b" {
		t.Fatalf("the sessions are %s and %s", one, two)
	}
	atPrompt(opener, one)
	atPrompt(opener, two)
	for _, at := range []string{"a", "b", "c"} {
		agent := n.at(at, "")
		waits := func(args, want string) {
			t.Helper()
			names := strings.NewReplacer("$A", one, "$B", two)
			r := agent.OK(mcptest.SessionTool, names.Replace(`{"action":"wait",`+args+`}`))
			if r.Text != names.Replace(want) {
				t.Errorf("at %s: wait %s = %s, want %s", at, args, r.Text, names.Replace(want))
			}
		}
		waits(`"on":[{"session_id":"$A"},{"session_id":"$B"}],"timeout_ms":0`,
			`{"fired":[],"cursors":{"0":"2","1":"2"},"timed_out":true}`)
		// The call waits only for the first, but the result also has the cursor of the other.
		waits(`"on":[{"session_id":"$A"},{"session_id":"$B","cursor":"0"}],"timeout_ms":30000`,
			`{"fired":[{"on":1,"session_id":"$B","chunk":"$ ","next_cursor":"2"}],"cursors":{"0":"2"},"timed_out":false}`)
		waits(`"on":[{"session_id":"$B","cursor":"1"},{"session_id":"$A","cursor":"0","until_regex":"never"},{"session_id":"$B"}]`,
			`{"fired":[{"on":0,"session_id":"$B","chunk":" ","next_cursor":"2"}],"cursors":{"1":"0","2":"2"},"timed_out":false}`)
		waits(`"mode":"all","on":[{"session_id":"$B","cursor":"0"},{"session_id":"$A","cursor":"1"}]`,
			`{"fired":[{"on":0,"session_id":"$B","chunk":"$ ","next_cursor":"2"},{"on":1,"session_id":"$A","chunk":" ","next_cursor":"2"}],"timed_out":false}`)
		waits(`"mode":"all","on":[{"session_id":"$B"},{"session_id":"$A","cursor":"0"}],"timeout_ms":0`,
			`{"fired":[{"on":1,"session_id":"$A","chunk":"$ ","next_cursor":"2"}],"cursors":{"0":"2"},"timed_out":true}`)
		for _, i := range []string{"0", "1"} {
			bad := map[string]string{"0": `{"session_id":"$A","cursor":"x"},{"session_id":"$B"}`, "1": `{"session_id":"$B"},{"session_id":"$A","cursor":"x"}`}[i]
			agent.Fails(mcptest.SessionTool, strings.NewReplacer("$A", one, "$B", two).Replace(`{"action":"wait","on":[`+bad+`]}`),
				term.InvalidArgument, "on["+i+"].cursor")
		}
		agent.Fails(mcptest.SessionTool, strings.NewReplacer("$A", one).Replace(
			`{"action":"wait","on":[{"session_id":"$A"},{"session_id":"web-none@b"}]}`), term.NotFound, "on[1].session_id")
	}
}

// TestWaitFires: output from any node ends a wait at several nodes.
func TestWaitFires(t *testing.T) {
	n := newNodes(t, "a", "b")
	agent, typist := n.at("a", ""), n.at("a", "")
	one := n.open(agent, "")
	n.place = "b"
	two := n.open(agent, "")
	atPrompt(agent, one)
	atPrompt(agent, two)
	for i, id := range []string{one, two} {
		var typing sync.WaitGroup
		typing.Go(func() {
			typist.OK(mcptest.IOTool, fmt.Sprintf(`{"action":"write","session_id":%q,"data":"sleep 0.3; echo do''ne%d\r"}`, id, i))
		})
		r := agent.OK(mcptest.SessionTool, fmt.Sprintf(
			`{"action":"wait","on":[{"session_id":%q,"cursor":"0","until_regex":"done%d"},{"session_id":%q,"cursor":"0","until_regex":"done%d"}]}`,
			one, i, two, i))
		typing.Wait()
		if want := fmt.Sprintf(`{"fired":[{"on":%d,"session_id":%q,`, i, id); !strings.HasPrefix(r.Text, want) || !strings.Contains(r.Text, fmt.Sprint("done", i)) {
			t.Errorf("wait = %s, want %s", r.Text, want)
		}
	}
}

// TestWaitWithoutANode: the result names each session at a node that gives no answer. A wait for the first session
// returns that at once; a wait for all has the other nodes' results, too.
func TestWaitWithoutANode(t *testing.T) {
	n := newNodes(t, "a", "b")
	agent := n.at("b", "")
	one := n.open(agent, "")
	n.place = "b"
	two := n.open(agent, "")
	atPrompt(agent, two)
	for _, kind := range []term.Kind{term.NodeUnreachable, term.NodeSilent} {
		n.lose("a", kind)
		call := func(args string) string {
			return agent.OK(mcptest.SessionTool, strings.NewReplacer("$A", one, "$B", two).Replace(`{"action":"wait",`+args+`}`)).Text
		}
		unanswered := strings.NewReplacer("$A", one, "$K", string(kind)).Replace(
			`"unanswered":[{"on":1,"session_id":"$A","error_code":"$K","message":"node a is $K"}]`)
		r := call(`"on":[{"session_id":"$B"},{"session_id":"$A"}],"timeout_ms":30000`)
		if want := `{"fired":[],"cursors":{"0":"2"},"timed_out":false,` + unanswered + `}`; r != want {
			t.Errorf("any = %s, want %s", r, want)
		}
		r = call(`"mode":"all","on":[{"session_id":"$B","cursor":"0"},{"session_id":"$A","cursor":"0"}]`)
		if !strings.HasPrefix(r, `{"fired":[{"on":0,"session_id":"`+two+`","chunk":"$ "`) || !strings.Contains(r, unanswered) ||
			!strings.Contains(r, `"cursors":{"1":"0"},"timed_out":true`) {
			t.Errorf("all = %s, want b's output and %s", r, unanswered)
		}
	}
}

// TestWaitAsksItsRules: nodes that wait for their part of a call ask the rules of the node of the client, as for any call, and
// cannot ask the client.
func TestWaitAsksItsRules(t *testing.T) {
	var mu sync.Mutex
	var judged []term.Action
	_, srv := mcptest.NewServer(t, mcptest.Config{Options: mcpapi.Options{Cluster: mcpapi.ClusterOptions{
		Peers: owner(func(ctx context.Context, _ peers.Call, c peers.Client) error {
			if answer, err := c.Ask(ctx, peers.MethodJudge, []byte(`{"verb":"read"}`)); err != nil {
				t.Errorf("a node that waits asks the rules: %s, %v", answer, err)
			}
			if answer, err := c.Ask(ctx, peers.MethodElicit, []byte(`{}`)); err == nil {
				t.Errorf("a node that waits has asked the client: %s", answer)
			}
			return nil
		}),
		Judge: func(_ context.Context, a term.Action) (term.Ruling, error) {
			mu.Lock()
			defer mu.Unlock()
			judged = append(judged, a)
			return term.Ruling{}, nil
		},
	}}})
	caller := identity.Caller{Transport: "http", Token: "ops"}
	agent, _ := mcptest.Connected(t, identity.WithCaller(t.Context(), caller), srv, "tester", "")
	agent.OK(mcptest.SessionTool, `{"action":"wait","on":[{"session_id":"x-aaaaaaaa@b","cursor":"0"},{"session_id":"x-aaaaaaaa@c","cursor":"0"}]}`)
	if len(judged) != 2 || judged[0].Actor.Token != "ops" || judged[1].Actor.Token != "ops" {
		t.Errorf("the rules have judged %+v, want a read of the client at each node", judged)
	}
}
