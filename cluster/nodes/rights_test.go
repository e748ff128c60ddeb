package nodes_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/nodes"
)

// With the rights in the package's documentation and no others all calls work, and no server complains. A node cannot
// join under another name.
func TestRights(t *testing.T) {
	t.Parallel()
	nc, complaints := natstest.StartWithRights(t, "doc.go", "BUCKET", "ptyctl-nodes", "NODE", "a")
	o := nodes.Options{Conn: nc, TTL: short}
	r, err := nodes.Join(t.Context(), o, self("a"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = nodes.Join(t.Context(), o, self("a"))
	taken(t, err, "a")
	if err := r.Update(func(n *nodes.Node) { n.Draining = true }); err != nil {
		t.Error(err)
	}
	watcher, err := nodes.Observe(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "a drains", func() bool { return watcher.Lookup("a").Draining })
	if err := r.Leave(t.Context()); err != nil {
		t.Error(err)
	}
	sees(t, watcher, "a", nodes.Unknown)
	watcher.Close()
	if all := complaints(); len(all) > 0 {
		t.Errorf("the server complains: %q", all)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := nodes.Join(ctx, o, self("b")); !errors.As(err, new(*nodes.UnavailableError)) {
		t.Errorf("Join under another name = %v", err)
	}
	if all := strings.Join(complaints(), " "); !strings.Contains(all, "$KV.ptyctl-nodes.node.b") {
		t.Errorf("the server complains of %s, want of the other name", all)
	}
}
