package nodes_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/nodes"
)

// TestRead: one read of the keys shows the nodes that are live and those that have become silent, but none that has
// left. It makes no bucket.
func TestRead(t *testing.T) {
	t.Parallel()
	nc, _ := natstest.StartWithRights(t, "doc.go", "BUCKET", "ptyctl-nodes", "NODE", "*")
	o := nodes.Options{Conn: nc, TTL: short}
	if all, err := nodes.Read(t.Context(), o); !errors.Is(err, nodes.ErrNoGroup) {
		t.Errorf("Read without a group = %+v, %v", all, err)
	}
	joined := make(map[string]*nodes.Registry)
	for _, name := range []string{"b", "a", "c"} {
		r, err := nodes.Join(t.Context(), o, self(name))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		joined[name] = r
	}
	read := func() (all []string) {
		t.Helper()
		seen, err := nodes.Read(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range seen {
			all = append(all, n.Name+" "+string(n.State))
			if n.Age < 0 || n.Age > time.Minute {
				t.Errorf("node %s was heard of %v ago", n.Name, n.Age)
			}
		}
		return all
	}
	if all := read(); !slices.Equal(all, []string{"a live", "b live", "c live"}) {
		t.Errorf("Read = %q", all)
	}
	if err := joined["b"].Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	joined["a"].Close() // as if it were killed
	natstest.Eventually(t, "a is silent", func() bool { return slices.Equal(read(), []string{"a silent", "c live"}) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if all, err := nodes.Read(ctx, o); err == nil {
		t.Errorf("Read with a context that has ended = %+v", all)
	}
}
