package join

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/config"
	"ptyctl/mcpapi/peers"
	"ptyctl/term"
)

// text is the output so far.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// TestLostServers: a node that has lost the servers says so in its log and to callers. It says nothing about the other
// nodes, because it then knows nothing of them.
func TestLostServers(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, 1)[0]
	var cfg config.Config
	cfg.Cluster = config.Cluster{Servers: []string{server.URL}, Node: "a", Group: "test", LeaseTTL: 2 * time.Second}
	logged := new(text)
	joined, err := Cluster(t.Context(), cfg, slog.New(slog.NewTextHandler(logged, nil)), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = joined.Close(context.Background()) }() // there is no server to tell
	n := joined.(*node)
	server.Kill()
	const lost = "the connection to the NATS servers is lost"
	natstest.Eventually(t, "the log says that the servers are lost", func() bool { return strings.Contains(logged.String(), lost) })
	_, err = n.Forward(t.Context(), "b", peers.Call{Tool: "reboot"}, nil)
	_, placing := n.Place(t.Context(), peers.Need{Host: "web1", Once: "request"})
	for what, err := range map[string]error{"a call": err, "a request": placing} {
		if term.KindOf(err) != term.NodeUnreachable || !strings.Contains(err.Error(), "this node has no connection to the NATS servers") ||
			!strings.Contains(err.Error(), "nothing was done") {
			t.Errorf("%s without servers: %v, want NODE_UNREACHABLE and why", what, err)
		}
	}
}
