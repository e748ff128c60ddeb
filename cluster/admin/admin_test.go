package admin_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/cluster/admin"
	"ptyctl/cluster/internal/natstest"
)

// TestStopWaits: a node that ends because of a request answers it first.
func TestStopWaits(t *testing.T) {
	url := natstest.Start(t, 1)[0].URL
	connect := func() *nats.Conn {
		nc, err := nats.Connect(url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	node, operator := connect(), connect()
	asked, stopping := make(chan struct{}), make(chan struct{})
	stop, err := admin.Serve(node, "g", "a", func(r admin.Request) admin.Answer {
		close(asked)
		<-stopping
		time.Sleep(50 * time.Millisecond) // in which the node would close its connection
		return admin.Answer{Draining: r.Drain}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Flush(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-asked
		close(stopping)
		stop()
		node.Close()
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	answer, err := admin.Ask(ctx, operator, "g", "a", admin.Request{Drain: true})
	<-ended
	if err != nil || answer != (admin.Answer{Node: "a", Draining: true}) {
		t.Errorf("the answer of a node that ends is %+v, %v", answer, err)
	}
}

// TestNotOfABucket: a message that JetStream passes on from a bucket is no request. A node that may not publish to another
// one's subject can still name it as the subject of an answer or of a consumer.
func TestNotOfABucket(t *testing.T) {
	url := natstest.Start(t, 1)[0].URL
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "g-devices"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Put(t.Context(), "evil", []byte(`{"drain":true}`)); err != nil {
		t.Fatal(err)
	}
	drained := make(chan bool, 10)
	stop, err := admin.Serve(nc, "g", "a", func(r admin.Request) admin.Answer {
		drained <- r.Drain
		return admin.Answer{}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	passed, err := nc.SubscribeSync(admin.Subject("g", "a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.PublishRequest("$JS.API.DIRECT.GET.KV_g-devices.$KV.g-devices.evil", passed.Subject, nil); err != nil {
		t.Fatal(err)
	}
	consumer := `{"stream_name":"KV_g-devices","config":{"name":"evil","deliver_subject":"` + passed.Subject +
		`","deliver_policy":"last","ack_policy":"none","filter_subject":"$KV.g-devices.evil"}}`
	if _, err := nc.Request("$JS.API.CONSUMER.CREATE.KV_g-devices.evil.$KV.g-devices.evil", []byte(consumer), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := passed.NextMsg(10 * time.Second); err != nil {
			t.Fatal("it is not passed on: ", err)
		}
	}
	if _, err := admin.Ask(t.Context(), nc, "g", "a", admin.Request{}); err != nil { // answered after the others
		t.Fatal(err)
	}
	if <-drained || len(drained) > 0 {
		t.Error("a node was drained by what is in a bucket")
	}
}
