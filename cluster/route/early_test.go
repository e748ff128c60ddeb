package route

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/mcpapi/peers"
)

// one is a Directory with one node.
type one struct{ key []byte }

func (o one) Key(string) ([]byte, bool)          { return o.key, true }
func (o one) Await(context.Context, string) bool { return true }

// counted is a Server that counts its calls.
type counted int

func (c *counted) ServePeer(context.Context, peers.Call, peers.Client) (json.RawMessage, error) {
	*c++
	return json.RawMessage("{}"), nil
}

// TestGivenUpBefore: a call that its entry node has given up before the owner takes it is not done. After a pause of the
// owner both wait for it.
func TestGivenUpBefore(t *testing.T) {
	nc, err := nats.Connect(natstest.URLs(natstest.Start(t, 1))[0])
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := newSecrets(entry, "ams2").of("ams2", "fra1", key.PublicKey().Bytes())
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Options{Conn: nc, Node: "fra1", Key: key, Nodes: one{entry.PublicKey().Bytes()}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var calls counted
	o := &owner{
		r: r, ctx: t.Context(), srv: &calls, joiner: newJoiner(r.pieceOf), memory: newMemory(0), early: newMemory(0), room: make(chan struct{}, 1),
		callers: newShares(4), watchers: newShares(4),
		running: make(map[string]context.CancelCauseFunc),
	}
	body, err := json.Marshal(peers.Call{Tool: "reboot", Caller: peers.Caller{Node: "ams2"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, given := range []bool{false, true} {
		inbox, err := nc.SubscribeSync(nc.NewInbox())
		if err != nil {
			t.Fatal(err)
		}
		m := nats.NewMsg(r.o.callSubject("fra1"))
		id := newID()
		sign(m.Header, shared, id, "ams2", "fra1", body, time.Now())
		m.Data, m.Reply = body, inbox.Subject
		if given {
			o.cancel(&nats.Msg{Header: nats.Header{headerID: []string{id}}})
		}
		o.answer(m, body, func() {})
		answer, err := inbox.NextMsg(5 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		text := answer.Header.Get(headerKind) + " " + string(answer.Data)
		if refused := strings.HasPrefix(text, "refused ") && strings.Contains(text, "nothing was done"); refused != given || calls != 1 {
			t.Errorf("given up %t: %s after %d calls, want it done unless it was given up", given, text, calls)
		}
	}
}
