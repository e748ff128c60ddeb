package route

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/mcpapi/peers"
	"ptyctl/term"
)

// keys is a directory of nodes.
type keys map[string][]byte

func (k keys) Key(node string) ([]byte, bool)            { public, ok := k[node]; return public, ok }
func (k keys) Await(_ context.Context, node string) bool { return k[node] != nil }

// A sender has the name and the key of a node that sends pieces of calls to fra1.
type sender struct {
	name string
	key  *pairKey
}

// pieces returns the messages of a call with so many pieces, as node sends them.
func (s sender) pieces(id, node string, body []byte) (all []*nats.Msg) {
	_ = split(body, func(piece []byte, last bool) error {
		m := &nats.Msg{Header: nats.Header{}, Data: piece}
		if last {
			sign(m.Header, s.key, id, node, "fra1", body, time.Now())
			m.Header.Set(headerPieces, strconv.Itoa(pieces(len(body))))
		} else {
			signPiece(m.Header, s.key, id, node, "fra1", time.Now())
		}
		all = append(all, m)
		return nil
	})
	return all
}

// TestPieces: a node has room for the pieces of one body, which it cannot take from another node, nor in its name.
func TestPieces(t *testing.T) {
	own, dir, senders := newKey(t), make(keys), make(map[string]sender)
	for _, name := range []string{"evil", "ams2", "ber3"} {
		private := newKey(t)
		dir[name] = private.PublicKey().Bytes()
		key, err := newSecrets(private, name).of(name, "fra1", own.PublicKey().Bytes())
		if err != nil {
			t.Fatal(err)
		}
		senders[name] = sender{name, key}
	}
	r := &Router{o: Options{Node: "fra1", Nodes: dir}, secrets: newSecrets(own, "fra1")}
	j, now := newJoiner(r.pieceOf), time.Now()
	j.most = 8 * pieceBytes
	body := bytes.Repeat([]byte("0123456789abcdef"), 3*pieceBytes/16) // the last piece is full, too
	whole := func(name string) ([]byte, error) {
		t.Helper()
		for _, m := range senders[name].pieces(newID(), name, body) {
			got, complete, err := j.add(m, now)
			if complete || err != nil {
				return got, err
			}
		}
		return nil, errors.New("it is not complete")
	}
	waits := func(what string, pieces int) {
		t.Helper()
		if j.waiting != pieces*pieceBytes {
			t.Errorf("%s: %d bytes wait, want %d pieces of %d", what, j.waiting, pieces, pieceBytes)
		}
	}
	for range 100 { // each is the first piece of another body
		j.add(senders["evil"].pieces(newID(), "evil", body)[0], now)
	}
	waits("many bodies of a node", 1)
	long := senders["evil"].pieces(newID(), "evil", body)[0]
	for range 5 {
		j.add(long, now)
	}
	waits("a body of a node", 5)
	for name, m := range map[string]*nats.Msg{
		"a piece in another's name":  senders["evil"].pieces(newID(), "ams2", body)[0],
		"a piece of an unknown node": senders["evil"].pieces(newID(), "sin4", body)[0],
		"a piece without a token":    {Header: nats.Header{headerID: {newID()}, headerEntry: {"ams2"}}, Data: body[:pieceBytes]},
	} {
		j.add(m, now)
		waits(name, 5)
	}
	if got, err := whole("ams2"); err != nil || !bytes.Equal(got, body) {
		t.Errorf("the body of another node meanwhile has %d bytes, %v; want all %d", len(got), err, len(body))
	}
	for range 3 {
		j.add(long, now)
	}
	waits("all that there is room for", 8)
	if _, err := whole("ams2"); !errors.Is(err, errNoRoom) {
		t.Errorf("a body without room: %v, want that there is none", err)
	}
	j.add(long, now)
	waits("more than there is room for", 0) // the body can no longer be whole
	for range 5 {
		j.add(long, now)
	}
	waits("a body that was refused", 0)
	all := senders["ber3"].pieces(newID(), "ber3", body)
	j.add(all[0], now)
	if _, _, err := j.add(all[2], now); !errors.Is(err, errLost) {
		t.Errorf("a body without its second piece: %v, want that a part was lost", err)
	}
	waits("a body of which a piece was lost", 0)
	j.add(all[0], now)
	now = now.Add(stalled + time.Second)
	if got, err := whole("ams2"); err != nil || len(got) != len(body) {
		t.Errorf("the body of another node later has %d bytes, %v", len(got), err)
	}
	waits("a body whose other pieces do not come", 0)
}

// sized answers with the length of a call's arguments.
type sized struct{}

func (sized) ServePeer(_ context.Context, call peers.Call, _ peers.Client) (json.RawMessage, error) {
	return json.RawMessage(strconv.Itoa(len(call.Arguments))), nil
}

// TestLargeCalls: calls in pieces that are passed on at the same time all arrive. A call that has lost a piece is
// refused at once.
func TestLargeCalls(t *testing.T) {
	url := natstest.URLs(natstest.Start(t, 1))[0]
	ams, fra := newKey(t), newKey(t)
	entry, r := router(t, url, "ams2", one{fra.PublicKey().Bytes()}, ams), router(t, url, "fra1", one{ams.PublicKey().Bytes()}, fra)
	ready := make(chan struct{})
	r.o.Ready = func() { close(ready) }
	ctx, cancel := context.WithCancel(t.Context())
	var serving, calls sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	serving.Go(func() {
		if err := r.Serve(ctx, sized{}); err != nil {
			t.Error(err)
		}
	})
	<-ready
	for i := range 4 {
		calls.Go(func() {
			text := json.RawMessage(strconv.Quote(strings.Repeat("x", 3*pieceBytes+i)))
			got, err := entry.Forward(ctx, "fra1", peers.Call{Arguments: text, Caller: peers.Caller{Token: fmt.Sprint(i)}}, deaf{})
			if err != nil || string(got) != strconv.Itoa(len(text)) {
				t.Errorf("call %d = %s, %v; want %d", i, got, err, len(text))
			}
		})
	}
	calls.Wait()
	id := newID()
	c := &sent{node: "fra1", client: deaf{}, room: entry.room, news: make(chan struct{}, 1)}
	entry.mu.Lock()
	entry.calls[id] = c
	entry.mu.Unlock()
	key, err := entry.secrets.of("ams2", "fra1", fra.PublicKey().Bytes())
	if err != nil {
		t.Fatal(err)
	}
	last := sender{"ams2", key}.pieces(id, "ams2", make([]byte, 2*pieceBytes))[1]
	last.Subject, last.Reply = entry.o.largeSubject("fra1"), entry.inbox+"."+id
	if err := entry.o.Conn.PublishMsg(last); err != nil {
		t.Fatal(err)
	}
	if _, err := entry.await(ctx, id, c); !isKind(err, term.NodeUnreachable) || !strings.Contains(err.Error(), "lost on the way") {
		t.Errorf("a call without its first piece: %v, want NODE_UNREACHABLE", err)
	}
}

// TestRoom: waiting results of one node take no room from those of the others, and the room is given back.
func TestRoom(t *testing.T) {
	all := newRoom(10_000, 4_000)
	result := func(node string) *sent { return &sent{node: node, room: all, news: make(chan struct{}, 1)} }
	piece := func() *nats.Msg {
		return &nats.Msg{Header: nats.Header{headerKind: {kindPiece}}, Data: make([]byte, 1000)}
	}
	a, b, other := result("a"), result("a"), result("b")
	a.add(piece())
	a.add(piece())
	if m, err := a.take(); len(m) != 2 || err != nil || all.of["a"] != 2000 {
		t.Fatalf("take = %d messages, %v; %d bytes of node a wait", len(m), err, all.of["a"])
	}
	b.add(piece())
	b.add(piece())
	if m, err := b.take(); len(m) != 1 || !isKind(err, term.LimitExceeded) || !strings.Contains(err.Error(), "node a") {
		t.Errorf("more than the room of a node: %d messages, %v; want one and LIMIT_EXCEEDED", len(m), err)
	}
	other.add(piece())
	if m, err := other.take(); len(m) != 1 || err != nil {
		t.Errorf("another node meanwhile: %d messages, %v", len(m), err)
	}
	for _, c := range []*sent{a, b, other} {
		c.end()
		c.add(piece()) // which comes too late
	}
	if all.all != 0 || len(all.of) != 0 {
		t.Errorf("after the calls %d bytes wait, of %v; want none", all.all, all.of)
	}
}
