package route_test

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/route"
	"ptyctl/mcpapi/peers"
)

// asks is a route.Server that asks the questions of a test.
type asks func(ctx context.Context, c peers.Client) error

func (a asks) ServePeer(ctx context.Context, _ peers.Call, c peers.Client) (json.RawMessage, error) {
	return json.RawMessage(`{}`), a(ctx, c)
}

// answers is the client of a call.
type answers func(method string, params json.RawMessage) (json.RawMessage, error)

func (answers) Notify(string, json.RawMessage) {}

func (a answers) Ask(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return a(method, params)
}

// askers are an entry node and an owner, which calls a server.
func askers(t *testing.T, srv route.Server) (entry *route.Router, spy *nats.Conn) {
	t.Helper()
	url := natstest.URLs(natstest.Start(t, 1))[0]
	all := &directory{keys: make(map[string][]byte)}
	made := make(map[string]*route.Router)
	ready := make(chan struct{})
	for _, name := range []string{"fra1", "ams2"} {
		key, err := ecdh.X25519().GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		all.keys[name] = key.PublicKey().Bytes()
		made[name], err = route.New(route.Options{
			Conn: connect(t, url), Node: name, Key: key, Nodes: all, Patience: time.Minute, Ready: func() { close(ready) },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(made[name].Close)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- made["fra1"].Serve(ctx, srv) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-ready
	return made["ams2"], connect(t, url)
}

// TestForgedQuestions: a question about a call that does not exist, or is over, gets no answer.
func TestForgedQuestions(t *testing.T) {
	entry, spy := askers(t, asks(func(ctx context.Context, c peers.Client) error {
		_, err := c.Ask(ctx, peers.MethodJudge, json.RawMessage(`"mine"`))
		return err
	}))
	seen, err := spy.SubscribeSync("ptyctl.v1.call.fra1")
	if err != nil {
		t.Fatal(err)
	}
	if err := spy.Flush(); err != nil {
		t.Fatal(err)
	}
	var heard []string
	client := answers(func(method string, params json.RawMessage) (json.RawMessage, error) {
		heard = append(heard, method+string(params))
		return json.RawMessage(`{}`), nil
	})
	if _, err := entry.Forward(t.Context(), "fra1", peers.Call{Tool: "x"}, client); err != nil {
		t.Fatal(err)
	}
	call, err := seen.NextMsg(5 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	replies, err := spy.SubscribeSync(spy.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	inbox := call.Reply[:strings.LastIndexByte(call.Reply, '.')+1]
	for _, subject := range []string{call.Reply, inbox + strings.Repeat("A", 26), inbox + "x"} {
		m := nats.NewMsg(subject)
		m.Header.Set("Ptyctl-Kind", "ask")
		m.Header.Set("Ptyctl-Method", peers.MethodJudge)
		m.Reply, m.Data = replies.Subject, []byte(`"forged"`)
		if err := spy.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := spy.Flush(); err != nil { // the server has passed them on before the next call
		t.Fatal(err)
	}
	if _, err := entry.Forward(t.Context(), "fra1", peers.Call{Tool: "x"}, client); err != nil {
		t.Fatal(err)
	}
	if want := []string{`ptyctl/judge"mine"`, `ptyctl/judge"mine"`}; fmt.Sprint(heard) != fmt.Sprint(want) {
		t.Errorf("the client was asked %q, want %q", heard, want)
	}
	if n, _, err := replies.Pending(); n != 0 || err != nil {
		t.Errorf("%d forged questions were answered, %v", n, err)
	}
}

// TestFaultyAnswer: a panic of the node that is asked ends neither it nor the call.
func TestFaultyAnswer(t *testing.T) {
	entry, _ := askers(t, asks(func(ctx context.Context, c peers.Client) error {
		if _, err := c.Ask(ctx, peers.MethodJudge, nil); err == nil || !strings.Contains(err.Error(), "a fault of ptyctl") {
			return fmt.Errorf("the answer is %w", err)
		}
		return nil
	}))
	_, err := entry.Forward(t.Context(), "fra1", peers.Call{Tool: "x"},
		answers(func(string, json.RawMessage) (json.RawMessage, error) { panic("a question that nobody has thought of") }))
	if err != nil {
		t.Error(err)
	}
}

// TestManyQuestions: an owner that asks without end is refused, and its earlier questions are answered.
func TestManyQuestions(t *testing.T) {
	const all, most = 100, 64
	answer := make(chan struct{})
	var refused atomic.Int32
	entry, _ := askers(t, asks(func(ctx context.Context, c peers.Client) error {
		var asking sync.WaitGroup
		errs := make([]error, all)
		for i := range all {
			asking.Go(func() {
				if _, errs[i] = c.Ask(ctx, peers.MethodJudge, nil); errs[i] != nil && refused.Add(1) == all-most {
					close(answer)
				}
			})
		}
		asking.Wait()
		return errors.Join(errs...)
	}))
	_, err := entry.Forward(t.Context(), "fra1", peers.Call{Tool: "x"},
		answers(func(string, json.RawMessage) (json.RawMessage, error) { <-answer; return json.RawMessage(`{}`), nil }))
	if n := refused.Load(); n != all-most || err == nil || !strings.Contains(err.Error(), "64 questions about one call") {
		t.Errorf("%d of %d questions were refused, want %d; %v", n, all, all-most, err)
	}
}

// TestNoOtherSubject: answers go to inboxes alone, whatever subject a message names for them.
func TestNoOtherSubject(t *testing.T) {
	entry, spy := askers(t, asks(func(ctx context.Context, c peers.Client) error {
		_, err := c.Ask(ctx, peers.MethodJudge, json.RawMessage(`"mine"`))
		return err
	}))
	const other = "$KV.ptyctl-nodes.node.fra1"
	written, err := spy.SubscribeSync(other)
	if err != nil {
		t.Fatal(err)
	}
	calls, err := spy.SubscribeSync("ptyctl.v1.call.fra1")
	if err != nil {
		t.Fatal(err)
	}
	if err := spy.Flush(); err != nil {
		t.Fatal(err)
	}
	var heard []string
	client := answers(func(_ string, params json.RawMessage) (json.RawMessage, error) {
		call, err := calls.NextMsg(5 * time.Second)
		if err != nil {
			t.Error(err)
			return nil, err
		}
		heard = append(heard, string(params))
		for _, change := range []func(*nats.Msg){
			func(m *nats.Msg) { m.Subject = "ptyctl.v1.call.fra1" },
			func(m *nats.Msg) {
				m.Subject = call.Reply
				m.Header.Set("Ptyctl-Kind", "ask")
				m.Data = []byte(`"forged"`)
			},
		} {
			m := &nats.Msg{Header: nats.Header{}, Data: call.Data, Reply: other}
			maps.Copy(m.Header, call.Header)
			change(m)
			if err := spy.PublishMsg(m); err != nil {
				t.Error(err)
			}
		}
		return json.RawMessage(`{}`), spy.Flush()
	})
	for range 2 { // the messages before the second call have been looked at when that is answered
		if _, err := entry.Forward(t.Context(), "fra1", peers.Call{Tool: "x"}, client); err != nil {
			t.Fatal(err)
		}
		for n, _, _ := calls.Pending(); n > 0; n, _, _ = calls.Pending() {
			if _, err := calls.NextMsg(time.Second); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := spy.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, err := written.Pending(); n != 0 || err != nil {
		t.Errorf("%d messages came to %s, %v", n, other, err)
	}
	if fmt.Sprint(heard) != `["mine" "mine"]` {
		t.Errorf("the client was asked %q", heard)
	}
}
