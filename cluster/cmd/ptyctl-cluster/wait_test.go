package main

import (
	"fmt"
	"strings"
	"testing"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/mcpapi/peers"
)

// TestWaitAtNodes: one call waits for sessions of two nodes. It ends with the first session that has output, and at
// once when a node was killed.
func TestWaitAtNodes(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t, 1)[0].URL
	all := map[string]*node{"a": start(t, lines("a", url)), "b": start(t, lines("b", url))}
	open := map[string]any{"action": "open", "protocol": "local", "argv": []string{"cat"}}
	ids := map[string]string{}
	for name, n := range all {
		if ids[name] = n.call(open).SessionID; peers.NodeOf(ids[name]) != name {
			t.Fatalf("the session of %s is %s", name, ids[name])
		}
	}
	wait := map[string]any{"action": "wait", "timeout_ms": 40000, "on": []map[string]any{
		{"session_id": ids["a"], "cursor": "0"}, {"session_id": ids["b"], "cursor": "0"},
	}}
	answer := make(chan result, 1)
	go func() {
		r, err := all["a"].try(t.Context(), "ptyctl_session", wait)
		if err != nil {
			t.Error(err)
		}
		answer <- r
	}()
	if r := all["b"].tool("ptyctl_session_io", map[string]any{"action": "write", "session_id": ids["b"], "data": "hello\r"}); r.ErrorCode != "" {
		t.Fatalf("write = %s", r.text)
	}
	if r, want := <-answer, fmt.Sprintf(`{"fired":[{"on":1,"session_id":%q,"chunk":"hello`, ids["b"]); !strings.HasPrefix(r.text, want) ||
		!strings.Contains(r.text, `"cursors":{"0":"0"}`) {
		t.Errorf("wait = %s, want %s", r.text, want)
	}
	all["b"].kill()
	if r := all["a"].call(wait); !strings.Contains(r.text, fmt.Sprintf(`"unanswered":[{"on":1,"session_id":%q,"error_code":"NODE_`, ids["b"])) {
		t.Errorf("wait for a session of a node that was killed = %s", r.text)
	}
}
