package limits_test

import (
	"testing"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/limits"
)

// With the rights in the package's documentation and no others all calls work, and no server complains.
func TestRights(t *testing.T) {
	t.Parallel()
	nc, complaints := natstest.StartWithRights(t, "doc.go", "BUCKET", "ptyctl-limits")
	b, err := limits.Open(t.Context(), limits.Options{Conn: nc, Node: "a"})
	if err != nil {
		t.Fatal(err)
	}
	release := take(t, b, host)
	used(t, b, host, map[string]int{"a": 1})
	release()
	used(t, b, host, map[string]int{})
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if all := complaints(); len(all) > 0 {
		t.Errorf("the server complains: %q", all)
	}
}
