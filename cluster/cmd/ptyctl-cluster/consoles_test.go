package main

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/lease"
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

// free waits until nobody has a console.
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

// TestOneOwner: a console that a node has is refused to the other, which learns which node it is, until the first closes
// it, or until its lease has run out after it was killed.
func TestOneOwner(t *testing.T) {
	t.Parallel()
	url, port := natstest.Start(t, 1)[0].URL, console(t)
	store := judge(t, url)
	a, b := start(t, lines("fra-1", url)), start(t, lines("ber-1", url))
	refused := func(n *node, owner *node, name, session string) {
		t.Helper()
		r := n.open("switch-001", port)
		o := r.Details.DeviceOwner
		if r.ErrorCode != "LOCKED" || !r.Retryable || o.Node != name || o.PID != owner.cmd.Process.Pid || o.SessionID != session ||
			!strings.Contains(r.Message, "on node "+name) {
			t.Fatalf("open = %+v, want LOCKED by session %s of node %s", r, session, name)
		}
	}
	first := a.open("switch-001", port)
	if first.SessionID == "" {
		t.Fatalf("open = %+v, want a session", first)
	}
	refused(b, a, "fra-1", first.SessionID)
	if r := a.call(map[string]any{"action": "close", "session_id": first.SessionID, "task_id": "t"}); r.ErrorCode != "" {
		t.Fatalf("close = %+v", r)
	}
	// The node waits for what it gives back itself: its own next opening comes first, or else that of the other.
	again := a.open("switch-001", port)
	if again.SessionID == "" {
		t.Fatalf("open at once after the close = %+v, want a session", again)
	}
	refused(b, a, "fra-1", again.SessionID)
	a.call(map[string]any{"action": "close", "session_id": again.SessionID, "task_id": "t"})
	free(t, store, "switch-001")
	second := b.open("switch-001", port)
	if second.SessionID == "" {
		t.Fatalf("open after the close = %+v, want a session", second)
	}
	refused(a, b, "ber-1", second.SessionID)
	b.kill()
	refused(a, b, "ber-1", second.SessionID) // its lease has not run out
	free(t, store, "switch-001")
	if r := a.open("switch-001", port); r.SessionID == "" {
		t.Fatalf("open after the lease of a killed node = %+v, want a session", r)
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

// TestWrongStart: what keeps a node from joining is said with status 1 or, where the configuration is wrong, 2.
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
