package route

import (
	"context"
	"sync"
	"testing"

	"ptyctl/cluster/internal/natstest"
)

// TestAnswers: a node that serves answers, one that is stopped has a connection and does not answer, and one that has
// ended has neither.
func TestAnswers(t *testing.T) {
	url := natstest.URLs(natstest.Start(t, 1))[0]
	r, live, stopped := router(t, url, "ams2", one{}, newKey(t)), router(t, url, "fra1", one{}, newKey(t)), router(t, url, "ber3", one{}, newKey(t))
	ready := make(chan struct{})
	live.o.Ready = func() { close(ready) }
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	serving.Go(func() {
		if err := live.Serve(ctx, sized{}); err != nil {
			t.Error(err)
		}
	})
	if _, err := stopped.o.Conn.SubscribeSync(stopped.o.cancelSubject("ber3")); err != nil {
		t.Fatal(err)
	}
	if err := stopped.o.Conn.Flush(); err != nil {
		t.Fatal(err)
	}
	<-ready
	for node, want := range map[string][2]bool{"fra1": {true, true}, "ber3": {true, false}, "sin4": {false, false}} {
		connected, err := r.Connected(ctx, node)
		if err != nil || connected != want[0] {
			t.Errorf("Connected(%s) = %v, %v; want %v", node, connected, err, want[0])
		}
		if answers, err := r.Answers(ctx, node); err != nil || answers != want[1] {
			t.Errorf("Answers(%s) = %v, %v; want %v", node, answers, err, want[1])
		}
	}
	r.o.Conn.Close()
	if answers, err := r.Answers(ctx, "fra1"); err == nil || answers {
		t.Errorf("Answers without servers = %v, %v; want an error", answers, err)
	}
}
