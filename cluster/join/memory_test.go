package join

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/proof"
	"ptyctl/cluster/route"
	"ptyctl/mcpapi/kept"
	"ptyctl/term"
)

// nobody is an empty directory of nodes.
type nobody struct{}

func (nobody) Key(string) ([]byte, bool)          { return nil, false }
func (nobody) Await(context.Context, string) bool { return false }

// remember joins the memory of a node without credentials.
func remember(tb testing.TB, url, name string) *memory {
	tb.Helper()
	return rememberAs(tb, url, name, nil)
}

// rememberAs joins the memory of a node with a prover; nil: none.
func rememberAs(tb testing.TB, url, name string, prover *proof.Prover, o ...nats.Option) *memory {
	tb.Helper()
	nc, err := nats.Connect(url, o...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	r, err := route.New(route.Options{Conn: nc, Group: "test", Node: name, Key: key, Nodes: nobody{}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.Close)
	m, err := openMemory(tb.Context(), nc, "test", name, r, prover, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// keepOne writes the entry of a session.
func keepOne(tb testing.TB, m *memory, id string) {
	tb.Helper()
	v, err := m.keeps(id, keptAs(id, "web1"), time.Minute, time.Now())
	if err == nil {
		_, err = m.bucket.Put(tb.Context(), m.message(id, v, 0))
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// keptAs is the entry of a session with a host.
func keptAs(id, host string) json.RawMessage {
	return kept.Session{Version: kept.Version, ID: id, Target: kept.Target{Protocol: "ssh", Host: host}}.Encode()
}

// TestClaim: of all nodes that want to reopen a session at once, one gets it, and the others learn the id of the new
// session. If that does not open, the next node can claim the session.
func TestClaim(t *testing.T) {
	url := natstest.Start(t, 1)[0].URL
	all := []*memory{remember(t, url, "b"), remember(t, url, "c"), remember(t, url, "d")}
	const id = "web1-k3f9q2zd@a"
	keepOne(t, all[0], id)
	for range 2 {
		var claims sync.WaitGroup
		taken, release := make([]string, len(all)), make([]func(), len(all))
		for i, m := range all {
			claims.Go(func() {
				var err error
				if taken[i], release[i], err = m.Claim(t.Context(), id, "web1-new@"+m.node); err != nil {
					t.Errorf("Claim at %s: %v", m.node, err)
				}
			})
		}
		claims.Wait()
		winners := 0
		for i, m := range all {
			if taken[i] != taken[0] {
				t.Errorf("%s was told %q, and b %q", m.node, taken[i], taken[0])
			}
			if taken[i] == "web1-new@"+m.node {
				winners++
				defer release[i]()
				release[i]()
			}
		}
		if winners != 1 {
			t.Fatalf("%d nodes have got it, want 1: %q", winners, taken)
		}
	}
	k, err := all[1].Find(t.Context(), id)
	if err != nil || k.Target.Host != "web1" {
		t.Errorf("Find = %+v, %v", k, err)
	}
	if k, err := all[1].Find(t.Context(), "web1-aaaaaaaa@a"); k != nil || err != nil {
		t.Errorf("Find of what is not kept = %+v, %v", k, err)
	}
	if _, _, err := all[1].Claim(t.Context(), "web1-aaaaaaaa@a", "x@c"); term.KindOf(err) != term.NotFound {
		t.Errorf("Claim of what is not kept = %v, want NOT_FOUND", err)
	}
}

// TestClaimOpened: once the new session has opened, a late release does not take its place from it.
func TestClaimOpened(t *testing.T) {
	m := remember(t, natstest.Start(t, 1)[0].URL, "b")
	const id = "web1-k3f9q2zd@a"
	keepOne(t, m, id)
	_, release, err := m.Claim(t.Context(), id, "web1-new@b")
	if err != nil {
		t.Fatal(err)
	}
	m.opened("web1-new@b")
	release()
	if taken, _, err := m.Claim(t.Context(), id, "web1-other@b"); err != nil || taken != "web1-new@b" {
		t.Errorf("Claim = %q, %v; want web1-new@b", taken, err)
	}
}

// TestFindListens: while the servers still have the connection of a node, the node may have its sessions.
func TestFindListens(t *testing.T) {
	url := natstest.Start(t, 1)[0].URL
	m := remember(t, url, "b")
	const id = "web1-k3f9q2zd@a"
	keepOne(t, m, id)
	ctx, stop := context.WithCancel(t.Context())
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := nc.SubscribeSync("test.v1.cancel.a"); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Find(ctx, id); term.KindOf(err) != term.NodeSilent || !strings.Contains(err.Error(), "nothing was reopened") {
		t.Errorf("Find = %v, want NODE_SILENT", err)
	}
	nc.Close()
	for deadline := time.Now().Add(time.Minute); ; { // the server learns of the end a moment later
		k, err := m.Find(ctx, id)
		if err == nil && k != nil {
			break
		}
		if term.KindOf(err) != term.NodeSilent || time.Now().After(deadline) {
			t.Fatalf("Find after the node's end = %v, %v", k, err)
		}
	}
	stop()
	if _, err := m.Find(ctx, id); err == nil {
		t.Error("Find after the end of its call has no error")
	}
}

// TestNoServers: without servers it is not known whether a session is kept, and nothing is done.
func TestNoServers(t *testing.T) {
	server := natstest.Start(t, 1)[0]
	m := remember(t, server.URL, "b")
	keepOne(t, m, "web1-k3f9q2zd@b")
	server.Kill()
	if _, err := m.Find(t.Context(), "web1-k3f9q2zd@b"); term.KindOf(err) != term.NodeUnreachable || !strings.Contains(err.Error(), "nothing was done") {
		t.Errorf("Find = %v, want NODE_UNREACHABLE", err)
	}
	if _, err := m.Find(t.Context(), "web1-k3f9q2zd@a"); term.KindOf(err) != term.NodeUnreachable {
		t.Errorf("Find of another node's = %v, want NODE_UNREACHABLE", err)
	}
}

// TestMessageTTL: a TTL from another node does not keep a key forever.
func TestMessageTTL(t *testing.T) {
	m := remember(t, natstest.Start(t, 1)[0].URL, "b")
	for _, c := range []struct {
		ttl  int64
		want string
	}{{60, "1m0s"}, {-5, "1s"}, {0, "1s"}, {1 << 30, maxTTL.String()}} {
		msg := m.message("x@b", &stored{Session: json.RawMessage("{}"), TTL: c.ttl}, 0)
		if got := msg.Header.Get("Nats-TTL"); got != c.want {
			t.Errorf("TTL of %d s is %q, want %q", c.ttl, got, c.want)
		}
	}
}
