package route

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
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

// router returns a Router of a node, and its connection.
func router(t *testing.T, url, node string, nodes Directory, key *ecdh.PrivateKey) *Router {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	r, err := New(Options{Conn: nc, Node: node, Key: key, Nodes: nodes, MaxCalls: 4, MaxWatches: 8, Patience: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func newKey(t *testing.T) *ecdh.PrivateKey {
	t.Helper()
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestGuessedInbox: a node that knows where answers for another one go cannot guess where that waits for the answer of a
// person at a third one.
func TestGuessedInbox(t *testing.T) {
	url := natstest.URLs(natstest.Start(t, 1))[0]
	r := router(t, url, "fra1", one{}, newKey(t))
	hostile, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer hostile.Close()
	entry, err := hostile.SubscribeSync(hostile.NewInbox()) // the honest node, where the person is
	if err != nil {
		t.Fatal(err)
	}
	if err := hostile.Flush(); err != nil {
		t.Fatal(err)
	}
	c := &entryClient{o: &owner{r: r}, reply: entry.Subject}
	answered := make(chan string, 1)
	go func() {
		answer, err := c.Ask(t.Context(), peers.MethodElicit, json.RawMessage(`{}`))
		answered <- fmt.Sprint(string(answer), err)
	}()
	question, err := entry.NextMsg(10 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(subject, text string) {
		t.Helper()
		m := nats.NewMsg(subject)
		m.Header.Set(headerKind, kindResult)
		m.Data = []byte(text)
		if err := hostile.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	// The client library's next inboxes: the last 10 digits (base 62) count up, by at most 333.
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	known := r.inbox
	count := 0
	for _, d := range known[len(known)-10:] {
		count = count*62 + strings.IndexRune(digits, d)
	}
	for range 5000 {
		count++
		next := make([]byte, 10)
		for i, n := 9, count; i >= 0; i, n = i-1, n/62 {
			next[i] = digits[n%62]
		}
		answer(known[:len(known)-10]+string(next), `"accept"`)
	}
	answer(question.Reply, `"decline"`)
	if got := <-answered; got != `"decline"<nil>` {
		t.Errorf("the person has declined, and the node was told %s", got)
	}
}

// TestReplyElsewhere: a node sends nothing to a subject that is no inbox: it may write where the sender of a call may not.
func TestReplyElsewhere(t *testing.T) {
	url := natstest.URLs(natstest.Start(t, 1))[0]
	r := router(t, url, "fra1", one{}, newKey(t))
	o := &owner{r: r, ctx: t.Context(), joiner: newJoiner(r.pieceOf), room: make(chan struct{})} // without room it answers at once
	elsewhere, err := r.o.Conn.SubscribeSync("$KV.ptyctl-nodes.node.fra1")
	if err != nil {
		t.Fatal(err)
	}
	inbox, err := r.o.Conn.SubscribeSync(r.o.Conn.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	for _, reply := range []string{elsewhere.Subject, inbox.Subject} {
		for _, take := range []func(*nats.Msg){o.take, o.takeLarge} {
			take(&nats.Msg{Header: nats.Header{headerToken: {"x"}}, Reply: reply, Data: []byte("{}")})
		}
	}
	if _, err := inbox.NextMsg(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	if n, _, err := elsewhere.Pending(); n != 0 || err != nil { // it would have come first
		t.Errorf("the registry was sent %d messages, %v", n, err)
	}
}

// TestMemoryIsBounded: messages that any node may send without a token take a limited amount of memory.
func TestMemoryIsBounded(t *testing.T) {
	j := newJoiner(func(nats.Header) (string, bool) { return "ams2", true })
	for range 1000 {
		for _, size := range []int{0, 1, pieceBytes - 1} { // those of nodes are full but for the last
			j.add(&nats.Msg{Header: nats.Header{headerID: {newID()}}, Data: make([]byte, size)}, time.Now())
		}
	}
	if n := len(j.bodies); n != 0 {
		t.Errorf("%d bodies wait for more pieces than a node would send, want none", n)
	}
	o := &owner{early: newMemory(maxEarly)}
	for range maxEarly + 100 {
		o.cancel(&nats.Msg{Header: nats.Header{headerID: {newID()}}})
	}
	if n := len(o.early.recent); n != maxEarly {
		t.Errorf("%d calls are known that were given up before they came, want %d", n, maxEarly)
	}
	for i, id := range []string{"a", "b"} { // which makes room in time
		if o.early.first(id, time.Now().Add(time.Duration(i+1)*4*tokenLife)); i == 1 && !o.early.has(id) {
			t.Error("a call is not known that was given up later")
		}
	}
	c := &sent{node: "ams2", room: newRoom(maxOfAll, maxOfNode), news: make(chan struct{}, 1)}
	for range maxBody/messageCost + 1 {
		c.add(&nats.Msg{})
	}
	if all, err := c.take(); !isKind(err, term.LimitExceeded) || len(all) > maxBody/messageCost {
		t.Errorf("%d empty messages wait, and the error is %v", len(all), err)
	}
}

func isKind(err error, kind term.Kind) bool { return errors.Is(err, kind) }

// TestLastingCall: progress that a call has taken does not count, only waiting messages and the pieces of its result.
func TestLastingCall(t *testing.T) {
	progress := &nats.Msg{Header: nats.Header{headerKind: {kindProgress}}, Data: make([]byte, 1<<20)}
	piece := &nats.Msg{Header: nats.Header{headerKind: {kindPiece}}, Data: progress.Data}
	c := &sent{node: "ams2", room: newRoom(maxOfAll, maxOfNode), news: make(chan struct{}, 1)}
	for range 2 * maxBody / (1 << 20) {
		c.add(progress)
		if _, err := c.take(); err != nil {
			t.Fatal("a call that was told much has failed: ", err)
		}
	}
	for range maxBody/(1<<20) + 1 {
		c.add(piece)
		c.take()
	}
	if _, err := c.take(); !isKind(err, term.LimitExceeded) {
		t.Errorf("a result that is too long: %v", err)
	}
}

// lasting is a Server. Its calls end with their contexts; only those of the tool "quick" end at once.
type lasting struct{ began chan struct{} }

func (l lasting) ServePeer(ctx context.Context, call peers.Call, _ peers.Client) (json.RawMessage, error) {
	if call.Tool == "quick" {
		return json.RawMessage(`{}`), nil
	}
	l.began <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// deaf is a client that ignores notifications and answers no questions.
type deaf struct{}

func (deaf) Notify(string, json.RawMessage) {}
func (deaf) Ask(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, errors.New("there is no person")
}

// TestShares: clients that follow resources take no room from calls, and no caller takes that of the others.
func TestShares(t *testing.T) {
	url := natstest.URLs(natstest.Start(t, 1))[0]
	ams, fra := newKey(t), newKey(t)
	entry := router(t, url, "ams2", one{fra.PublicKey().Bytes()}, ams)
	r := router(t, url, "fra1", one{ams.PublicKey().Bytes()}, fra)
	ready := make(chan struct{})
	r.o.Ready = func() { close(ready) }
	ctx, cancel := context.WithCancel(t.Context())
	l := lasting{make(chan struct{}, 100)}
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		if err := r.Serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	<-ready
	call := func(token, tool string, watch bool) error {
		_, err := entry.Forward(ctx, "fra1", peers.Call{Tool: tool, Watch: watch, Caller: peers.Caller{Token: token}}, deaf{})
		return err
	}
	last := func(token string, watch bool) {
		t.Helper()
		running.Go(func() { _ = call(token, "", watch) }) // it ends with the test
		<-l.began
	}
	for i := range 8 { // all the watches that there may be
		last("reader-"+strconv.Itoa(i/2), true)
	}
	for _, token := range []string{"reader-0", "another"} {
		if err := call(token, "", true); !isKind(err, term.LimitExceeded) {
			t.Errorf("one more watch of %s: %v", token, err)
		}
		if err := call(token, "quick", false); err != nil {
			t.Errorf("a call of %s while others watch: %v", token, err)
		}
	}
	last("reader-0", false) // all that one caller may have
	if err := call("reader-0", "quick", false); !isKind(err, term.LimitExceeded) || !strings.Contains(err.Error(), "of this caller") {
		t.Errorf("a second call of that caller: %v", err)
	}
	if err := call("another", "quick", false); err != nil {
		t.Errorf("a call of another caller: %v", err)
	}
}
