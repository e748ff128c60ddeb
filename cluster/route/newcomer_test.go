package route

import (
	"context"
	"crypto/ecdh"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/mcpapi/peers"
	"ptyctl/term"
)

// A hearsay is a Directory that hears of a node late, and of others never.
type hearsay struct {
	node    string
	key     *ecdh.PrivateKey
	came    chan struct{} // closed when it has
	asked   chan string   // has each node that is waited for
	waiting atomic.Int32
	most    atomic.Int32
}

func (h *hearsay) Key(node string) ([]byte, bool) {
	select {
	case <-h.came:
		return h.key.PublicKey().Bytes(), node == h.node
	default:
		return nil, false
	}
}

func (h *hearsay) Await(ctx context.Context, node string) bool {
	n := h.waiting.Add(1)
	defer h.waiting.Add(-1)
	for m := h.most.Load(); n > m && !h.most.CompareAndSwap(m, n); m = h.most.Load() {
	}
	h.asked <- node
	if node == h.node {
		select {
		case <-h.came:
			return true
		case <-ctx.Done():
			return false
		}
	}
	<-ctx.Done()
	return false
}

// TestNewcomer: a call of a node that the owner has not heard of waits for a moment, and so do few at a time.
func TestNewcomer(t *testing.T) {
	url := natstest.URLs(natstest.Start(t, 1))[0]
	owner, entry, stranger := newKey(t), newKey(t), newKey(t)
	h := &hearsay{node: "ams2", key: entry, came: make(chan struct{}), asked: make(chan string, 1000)}
	known := one{owner.PublicKey().Bytes()}
	r, from, other := router(t, url, "fra1", h, owner), router(t, url, "ams2", known, entry), router(t, url, "lon3", known, stranger)
	r.o.MaxCalls = 100
	serving := make(chan struct{})
	r.o.Ready = func() { close(serving) }
	ctx, stop := context.WithCancel(t.Context())
	var calls counted
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx, &calls) }()
	<-serving
	forward := func(r *Router) error {
		_, err := r.Forward(t.Context(), "fra1", peers.Call{Tool: "x", Caller: peers.Caller{Node: r.o.Node}}, nil)
		return err
	}
	answered := make(chan error, 1)
	go func() { answered <- forward(from) }()
	if node := <-h.asked; node != "ams2" {
		t.Errorf("the owner waits for %q", node)
	}
	close(h.came)
	if err := <-answered; err != nil {
		t.Errorf("the call of a node that has just come = %v", err)
	}
	var all sync.WaitGroup
	for range 3 * maxNewcomers {
		all.Go(func() {
			if err := forward(other); !errors.Is(err, term.NodeUnreachable) {
				t.Errorf("the call of a node that does not come = %v", err)
			}
		})
	}
	all.Wait()
	stop()
	if err := <-served; err != nil || calls != 1 || h.most.Load() > maxNewcomers {
		t.Errorf("Serve = %v after %d calls, of which %d waited at a time", err, calls, h.most.Load())
	}
}
