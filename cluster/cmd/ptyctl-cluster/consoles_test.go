package main

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/lease"
	"ptyctl/mcpapi/peers"
)

// judge asks the servers themselves who has a console.
func judge(tb testing.TB, url string) *lease.Store {
	tb.Helper()
	s, err := lease.Open(tb.Context(), lease.Options{Servers: []string{url}, Node: "judge", TTL: 2 * time.Second})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

// free waits until a console has no owner.
func free(tb testing.TB, s *lease.Store, device string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	states, err := s.Watch(ctx, device)
	if err != nil {
		tb.Fatal(err)
	}
	for h := range states {
		if !h.Held {
			return
		}
	}
	tb.Fatalf("device %s is not free after a minute", device)
}

// TestOneOwner: a console that is open on one node is the same session at every node. After that node was killed, no
// other node has the console until the lease has run out.
func TestOneOwner(t *testing.T) {
	t.Parallel()
	url, port := natstest.Start(t, 1)[0].URL, console(t)
	store := judge(t, url)
	all := map[string]*node{"fra-1": start(t, lines("fra-1", url)), "ber-1": start(t, lines("ber-1", url))}
	first := all["fra-1"].open("switch-001", port)
	owner := peers.NodeOf(first.SessionID)
	if all[owner] == nil {
		t.Fatalf("open = %+v, want a session of one of the nodes", first)
	}
	other := map[string]string{"fra-1": "ber-1", "ber-1": "fra-1"}[owner]
	if h, err := store.Lookup(t.Context(), "switch-001"); err != nil || h.Owner.Node != owner || h.Owner.Session != first.SessionID {
		t.Errorf("the lease is %+v, %v; want that of session %s", h, err, first.SessionID)
	}
	if second := all[other].open("switch-001", port); second.SessionID != first.SessionID {
		t.Errorf("open at %s = %+v, want the session %s", other, second, first.SessionID)
	}
	// The clients of the two nodes differ, so a task of the same name at the other node does not have the lock.
	end := map[string]any{"action": "close", "session_id": first.SessionID, "task_id": "t"}
	if r := all["ber-1"].call(end); r.ErrorCode != "LOCKED" || !strings.Contains(r.Message, "another client holds") {
		t.Fatalf("close at ber-1 of a session that fra-1's client has locked = %+v, want LOCKED", r)
	}
	if r := all["fra-1"].call(end); r.ErrorCode != "" {
		t.Fatalf("close at fra-1 = %+v", r)
	}
	// A node that releases a console itself waits for that.
	again := all[other].open("switch-001", port)
	if peers.NodeOf(again.SessionID) != owner || again.SessionID == first.SessionID {
		t.Fatalf("open at once after the close = %+v, want a new session at %s", again, owner)
	}
	all[owner].kill()
	// Its lease has not run out, or the other node still takes it for one that runs.
	if r := all[other].open("switch-001", port); r.ErrorCode != "LOCKED" || r.Details.DeviceOwner.Node != owner || !r.Retryable ||
		!strings.Contains(r.Message, "node "+owner+", which does not answer") || !strings.Contains(r.Message, "its lease ") {
		t.Errorf("open after the kill of %s = %+v, want LOCKED by it, and that it does not answer", owner, r)
	}
	if r := all[other].call(map[string]any{"action": "status", "session_id": again.SessionID}); r.ErrorCode != "NODE_UNREACHABLE" {
		t.Errorf("status of a session of a killed node = %+v, want NODE_UNREACHABLE", r)
	}
	free(t, store, "switch-001")
	var r result
	natstest.Eventually(t, "the console of a killed node can be opened", func() bool { // a lease after it has run out
		r = all[other].open("switch-001", port)
		return r.ErrorCode != "LOCKED" || !r.Retryable
	})
	if peers.NodeOf(r.SessionID) != other {
		t.Fatalf("open after the lease of a killed node = %+v, want a session of %s", r, other)
	}
}

// TestLeave: a node that ends gives its consoles back, and does not let them wait for their leases.
func TestLeave(t *testing.T) {
	t.Parallel()
	url, port := natstest.Start(t, 1)[0].URL, console(t)
	store := judge(t, url)
	a := start(t, lines("a", url))
	if r := a.open("switch-001", port); r.SessionID == "" {
		t.Fatalf("open = %+v, want a session", r)
	}
	if h, err := store.Lookup(t.Context(), "switch-001"); err != nil || h.Owner.Node != "a" {
		t.Fatalf("the owner is %+v, %v; want node a", h, err)
	}
	if err := a.client.Close(); err != nil {
		t.Fatal(err)
	}
	<-a.ended
	if h, err := store.Lookup(t.Context(), "switch-001"); err != nil || h.Held {
		t.Errorf("after the end of its node the console is %+v, %v; want it free", h, err)
	}
}

// TestServersGone: without servers no console is opened, and the answer says what to start. A session without a device
// does not need them.
func TestServersGone(t *testing.T) {
	t.Parallel()
	server, port := natstest.Start(t, 1)[0], console(t)
	a := start(t, lines("a", server.URL))
	server.Kill()
	r := a.open("switch-001", port)
	if r.ErrorCode != "IO_ERROR" || !r.Retryable || !strings.Contains(r.Message, "no NATS server can be reached") ||
		!strings.Contains(r.Message, "start a NATS server of the cluster") || strings.Contains(r.Message, "locks.device_dir") {
		t.Errorf("open = %+v, want which servers to start", r)
	}
	if r := a.call(map[string]any{"action": "open", "protocol": "telnet", "host": "127.0.0.1", "port": port}); r.SessionID == "" {
		t.Errorf("open without a device = %+v, want a session", r)
	}
}

// TestWrongStart: a node that cannot join says why, with status 1 or, if the configuration is wrong, 2.
func TestWrongStart(t *testing.T) {
	t.Parallel()
	server := natstest.StartWith(t, 1, "authorization { token: \"token-of-the-servers\" }\n")[0]
	fails := func(text string, status int, want ...string) {
		t.Helper()
		cmd := program(t, text, "mcp")
		var stderr logText
		cmd.Stderr = &stderr
		err := cmd.Run()
		if e, ok := err.(*exec.ExitError); !ok || e.ExitCode() != status {
			t.Errorf("it ends with %v, want status %d", err, status)
		}
		for _, w := range want {
			if !strings.Contains(stderr.String(), w) {
				t.Errorf("it says\n%s\nwant %q", &stderr, w)
			}
		}
	}
	fails(lines("a", server.URL), 1, "ptyctl-cluster: node a does not join its cluster: ", "Authorization Violation", server.URL)
	fails(lines("a", server.URL, `credentials_file = "/no/such/file"`), 2, "cluster.credentials_file: open /no/such/file")
	fails(lines("a", server.URL, `tls_ca_file = "/no/such/file"`), 2, "cluster.tls_ca_file: open /no/such/file")
	fails(lines("a", "nats://me:hunter2@127.0.0.1:1"), 2, "cluster.servers holds a user or a password")
	fails(lines("a b", server.URL), 2, `cluster.node is "a b"; give up to 32 letters`)
}

// TestLimitOfAllNodes: a session that one node has opened counts at the other until it ends.
func TestLimitOfAllNodes(t *testing.T) {
	t.Parallel()
	url, port := natstest.Start(t, 1)[0].URL, console(t)
	a := start(t, lines("fra-1", url, "max_sessions_per_host = 1"))
	b := start(t, lines("ber-1", url, "max_sessions_per_host = 1"))
	open := map[string]any{"action": "open", "protocol": "telnet", "host": "127.0.0.1", "port": port}
	first := a.call(open)
	if first.SessionID == "" {
		t.Fatalf("open = %+v, want a session", first)
	}
	for _, n := range []*node{a, b} {
		if r := n.call(open); r.ErrorCode != "LIMIT_EXCEEDED" || !strings.Contains(r.Message, "1 of at most 1 sessions on all nodes") {
			t.Errorf("a second session with the host = %+v, want LIMIT_EXCEEDED", r)
		}
	}
	if r := a.call(map[string]any{"action": "close", "session_id": first.SessionID}); r.ErrorCode != "" {
		t.Fatalf("close = %+v", r)
	}
	natstest.Eventually(t, "room for a session after the close", func() bool { return b.call(open).SessionID != "" })
}
