package admin_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

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
