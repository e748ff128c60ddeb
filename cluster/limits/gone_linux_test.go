package limits_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/limits"
)

// If the servers do not answer in time, the error says why, and the call may be tried again. Releases in the meantime
// are written later.
func TestServersGone(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1)
	urls := natstest.URLs(servers)
	a, b := open(t, urls, limits.Options{Node: "a"}), open(t, urls, limits.Options{Node: "b"})
	release := take(t, a, host)
	take(t, a, host)
	fails := func(text string) {
		t.Helper()
		_, err := a.Take(t.Context(), host)
		if _, ok := errors.AsType[*limits.UnavailableError](err); !ok || !strings.Contains(err.Error(), text) {
			t.Errorf("Take = %v, want %q", err, text)
		}
	}
	servers[0].Stop(t)
	fails("the server gives no answer")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := a.Take(ctx, host); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("a canceled call = %v", err)
	}
	servers[0].Kill()
	fails("no NATS server can be reached")
	release()
	servers[0].Run(t)
	used(t, b, host, map[string]int{"a": 1}) // the request to the stopped server is not counted
	take(t, b, host)
}
