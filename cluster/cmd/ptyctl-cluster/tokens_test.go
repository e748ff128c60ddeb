package main

import (
	"strings"
	"testing"

	"ptyctl/cluster/internal/natstest"
)

// TestTokens: a token has the same rights to a session at another node as at the session's own.
func TestTokens(t *testing.T) {
	t.Parallel()
	const rules = "[policy]\ndeny = [\"reboot\"]\n"
	url := natstest.Start(t, 1)[0].URL
	far, near := serve(t, rules+httpLines(t, "far", url)), serve(t, rules+httpLines(t, "near", url, entry))
	ops := near.dial(t, opsToken)
	id := ops.call(map[string]any{"action": "open", "protocol": "local", "argv": []string{"sh"}}).SessionID
	if !strings.HasSuffix(id, "@far") {
		t.Fatalf("the session is %q", id)
	}
	write := map[string]any{"session_id": id, "cmd": "echo here"}
	if r := ops.tool("ptyctl_session_exec", write); r.Stdout != "here\n" {
		t.Fatalf("exec = %s", r.text)
	}
	missing := "sh-aaaaaaaa@far"
	read := func(id string) map[string]any {
		return map[string]any{"action": "read", "session_id": id, "cursor": "0", "timeout_ms": 0}
	}
	for name, n := range map[string]*served{"the node of the session": far, "another": near} {
		if r := n.dial(t, opsToken).tool("ptyctl_session_exec", map[string]any{"session_id": id, "cmd": "reboot"}); r.ErrorCode != "POLICY_DENIED" {
			t.Errorf("at %s: a command that a rule denies = %s", name, r.text)
		}
		reads := n.dial(t, readToken)
		if r := reads.tool("ptyctl_session_exec", write); r.ErrorCode != "POLICY_DENIED" {
			t.Errorf("at %s: a command of a token that only reads = %s", name, r.text)
		}
		if r := reads.call(map[string]any{"action": "open", "protocol": "local", "argv": []string{"sh"}}); r.ErrorCode != "POLICY_DENIED" {
			t.Errorf("at %s: an open of a token that only reads = %s", name, r.text)
		}
		other := n.dial(t, otherToken)
		hidden, none := other.tool("ptyctl_session_io", read(id)), other.tool("ptyctl_session_io", read(missing))
		if hidden.ErrorCode != "NOT_FOUND" || strings.ReplaceAll(hidden.text, id, missing) != none.text {
			t.Errorf("at %s: another token's session is %s, and one that does not exist %s; want the same", name, hidden.text, none.text)
		}
		if r := other.call(map[string]any{"action": "list"}); r.Count != 0 {
			t.Errorf("at %s: another token's list = %s", name, r.text)
		}
		if r := n.dial(t, opsToken).call(map[string]any{"action": "list"}); r.Count != 1 {
			t.Errorf("at %s: the token's own list = %s", name, r.text)
		}
	}
}
