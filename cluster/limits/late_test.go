package limits

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/internal/natstest"
)

// lateBook opens a book over a connection that can be cut. Messages that are sent meanwhile arrive later. A call waits
// for an answer for a second.
func lateBook(t *testing.T, cut *atomic.Bool) *Book {
	t.Helper()
	nc, err := nats.Connect(natstest.Proxy(t, natstest.Start(t, 1)[0].URL, cut), nats.ReconnectBufSize(-1))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(t.Context(), Options{Conn: nc, Node: "a", TTL: 12 * time.Second, Timeout: 4 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
		nc.Close()
	})
	return b
}

// sending takes in the background, and returns once the write is on its way. It is the next message of the connection,
// because the count is known.
func sending(ctx context.Context, t *testing.T, b *Book, u Use) <-chan error {
	t.Helper()
	before, done := b.o.Conn.Stats().OutMsgs, make(chan error, 1)
	go func() {
		_, err := b.Take(ctx, u)
		done <- err
	}()
	natstest.Eventually(t, "a message is sent", func() bool { return b.o.Conn.Stats().OutMsgs > before })
	return done
}

// arrived waits until the server has answered a call that was sent later than all others, and has the count then.
func arrived(t *testing.T, b *Book, u Use, want int) {
	t.Helper()
	natstest.Eventually(t, "the server answers", func() bool {
		_, err := b.Take(t.Context(), Use{What: "other", Most: 1 << 20})
		return err == nil
	})
	natstest.Eventually(t, "the server has the true count", func() bool {
		nodes, err := b.Used(t.Context(), u.What, u.Name)
		return err == nil && nodes["a"] == want
	})
}

// A session is not counted if its call has ended while the write was on its way.
func TestCallEndsEarly(t *testing.T) {
	t.Parallel()
	var cut atomic.Bool
	b, u := lateBook(t, &cut), Use{What: "host", Name: "rack", Most: 5}
	if _, err := b.Take(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	cut.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	done := sending(ctx, t, b, u)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Take = %v", err)
	}
	cut.Store(false)
	arrived(t, b, u, 1)
}

// A write that arrives after its call has failed, and after the wait for its answer, is corrected.
func TestLateWrite(t *testing.T) {
	t.Parallel()
	var cut atomic.Bool
	b, u := lateBook(t, &cut), Use{What: "host", Name: "rack", Most: 5}
	if _, err := b.Take(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	cut.Store(true)
	if err := <-sending(t.Context(), t, b, u); !errors.As(err, new(*UnavailableError)) {
		t.Errorf("Take = %v", err)
	}
	cut.Store(false)
	arrived(t, b, u, 1)
}

// A write that is confirmed when the key of the process may be gone takes nothing.
func TestLateConfirmation(t *testing.T) {
	t.Parallel()
	var cut atomic.Bool
	b, u := lateBook(t, &cut), Use{What: "host", Name: "rack", Most: 5}
	if _, err := b.Take(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	cut.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	done := sending(ctx, t, b, u)
	b.mu.Lock()
	b.process.renewed = time.Now().Add(-b.o.TTL + b.o.Margin)
	b.mu.Unlock()
	cut.Store(false)
	if err := <-done; err == nil {
		b.mu.Lock()
		valid := b.valid()
		b.mu.Unlock()
		if !valid { // a renewal may have come between
			t.Error("a session was taken without a key")
		}
	}
	natstest.Eventually(t, "the key is renewed", b.Alive)
	b.mu.Lock()
	held := b.counters["count.host.cmFjaw"].held
	b.mu.Unlock()
	arrived(t, b, u, held)
}
