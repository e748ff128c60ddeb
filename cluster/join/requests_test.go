package join

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/internal/natstest"
)

// TestRepeatedRequest: a request that is repeated keeps its node for longer than the time of its entry, because what it has
// begun may still run there. One that is not repeated is forgotten.
func TestRepeatedRequest(t *testing.T) {
	t.Parallel()
	nc, err := nats.Connect(natstest.Start(t, 1)[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	const life = 3 * time.Second
	r, err := openRequests(t.Context(), nc, "test", life, func(node string) string { return "process of " + node })
	if err != nil {
		t.Fatal(err)
	}
	at := func(place string) string {
		t.Helper()
		node, err := r.at(t.Context(), "deploy-1", func() (string, error) { return place, nil })
		if err != nil {
			t.Fatal(err)
		}
		return node
	}
	if node := at("a"); node != "a" {
		t.Fatalf("it is placed at %s", node)
	}
	for end := time.Now().Add(3 * life); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if node := at("b"); node != "a" {
			t.Fatalf("it was repeated all the time, and is placed at %s", node)
		}
	}
	time.Sleep(life + time.Second)
	natstest.Eventually(t, "it is forgotten", func() bool {
		time.Sleep(life) // each look prolongs it
		return at("c") == "c"
	})
}
