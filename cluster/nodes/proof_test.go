package nodes_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/nodes"
	"ptyctl/cluster/proof"
)

// TestForgedEntry: an entry that the user of its node has not made is ignored, however it came into the bucket. The
// entry of a node that is there stays.
func TestForgedEntry(t *testing.T) {
	t.Parallel()
	accounts := natstest.NewAccounts(t)
	url := natstest.StartWith(t, 1, accounts.Lines)[0].URL
	options := func(name string) nodes.Options {
		rights := []string{"$JS.>", "_INBOX.>", "$KV.ptyctl-nodes.node." + name}
		file := accounts.Credentials(t, rights, []string{"_INBOX.>"})
		nc, err := nats.Connect(url, nats.UserCredentials(file), nats.ReconnectBufSize(-1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := proof.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		return nodes.Options{Conn: nc, Prover: p}
	}
	join := func(name string) *nodes.Registry {
		r, err := nodes.Join(t.Context(), options(name), self(name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		return r
	}
	a := join("a")
	sees(t, a, "a", nodes.Live)
	own := a.Lookup("a")
	forger, err := nats.Connect(url, nats.UserCredentials(accounts.Credentials(t, nil, nil))) // as JetStream may write
	if err != nil {
		t.Fatal(err)
	}
	defer forger.Close()
	b := options("b")
	for _, name := range []string{"a", "c", "d"} {
		n := self(name)
		n.Key = make([]byte, 32)
		switch name { // the forger of d has no credentials
		case "a": // the proof of its own entry, for another key
			n.Proof = own.Proof
		case "c": // one of its own
			if n.Proof, err = b.Prover.Make("$KV.ptyctl-nodes.node.c", "c", n.Key); err != nil {
				t.Fatal(err)
			}
		}
		text, err := json.Marshal(struct {
			Format int    `json:"v"`
			ID     string `json:"id"`
			nodes.Node
		}{1, "x", n})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := forger.Request("$KV.ptyctl-nodes.node."+name, text, 10e9); err != nil {
			t.Fatal(err)
		}
	}
	join("b")
	sees(t, a, "b", nodes.Live) // which was written last
	for _, name := range []string{"c", "d"} {
		if s := a.Lookup(name); s.State != nodes.Unknown {
			t.Errorf("the forged node %s is %s", name, s.State)
		}
	}
	if s := a.Lookup("a"); string(s.Key) != string(own.Key) {
		t.Error("a has the key that was forged for it")
	}
}
