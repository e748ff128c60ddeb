package main

import (
	"encoding/base64"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/mcpapi/peers"
)

// TestForgedTarget: a node with the rights of docs/cluster.md changes the target of a session of a node that was
// killed. No node dials the new target: reopen says that another node may have written the entry. With the entry of its
// own node the session is reopened.
func TestForgedTarget(t *testing.T) {
	t.Parallel()
	accounts := natstest.NewAccounts(t)
	url, port := natstest.StartWith(t, 1, accounts.Lines)[0].URL, console(t)
	creds := make(map[string]string)
	for _, name := range []string{"a", "b", "evil"} {
		publish, subscribe := rights(t, "node", name)
		creds[name] = accounts.Credentials(t, publish, subscribe)
	}
	conf := func(name string) string { return lines(name, url, fmt.Sprintf("credentials_file = %q", creds[name])) }
	a, b := start(t, conf("a")), start(t, conf("b"))
	var id string
	for i := 0; peers.NodeOf(id) != "a"; i++ {
		r := a.open(fmt.Sprintf("switch-%03d", i), port)
		if id = r.SessionID; r.ErrorCode != "" {
			t.Fatalf("open = %+v", r)
		}
	}
	nc, err := nats.Connect(url, nats.UserCredentials(accounts.Credentials(t, nil, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(t.Context(), "ptyctl-sessions")
	if err != nil {
		t.Fatal(err)
	}
	var e jetstream.KeyValueEntry
	natstest.Eventually(t, "a's session is kept", func() bool {
		e, err = kv.Get(t.Context(), keyOf(id))
		return err == nil
	})
	a.kill()
	dropped(t, nc)
	trap, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer trap.Close()
	at := fmt.Sprintf(`"port":%d`, trap.Addr().(*net.TCPAddr).Port)
	forged := strings.Replace(string(e.Value()), fmt.Sprintf(`"port":%d`, port), at, 1)
	if !strings.Contains(forged, at) {
		t.Fatalf("there is no port to change in %s", forged)
	}
	evil, err := nats.Connect(url, nats.UserCredentials(creds["evil"]), nats.CustomInboxPrefix("_INBOX.evil"))
	if err != nil {
		t.Fatal(err)
	}
	defer evil.Close()
	put := func(text string) {
		t.Helper()
		if _, err := evil.Request("$KV.ptyctl-sessions."+keyOf(id), []byte(text), 10e9); err != nil {
			t.Fatal(err)
		}
	}
	put(forged)
	if r := b.call(reopen(id, nil)); r.ErrorCode != "IO_ERROR" || !strings.Contains(r.Message, "may be another node's words") {
		t.Errorf("reopen = %+v, want that what is kept is not believed", r)
	}
	put(string(e.Value()))
	var r result
	natstest.Eventually(t, "the console of a can be opened", func() bool {
		r = b.call(reopen(id, nil))
		return r.ErrorCode != "LOCKED"
	})
	if r.ReopenedFrom != id || peers.NodeOf(r.SessionID) != "b" {
		t.Errorf("reopen = %+v, want a session of b in place of %s", r, id)
	}
}

// keyOf returns the key of a session in the bucket.
func keyOf(id string) string { return base64.RawURLEncoding.EncodeToString([]byte(id)) }
