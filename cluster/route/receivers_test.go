package route

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/internal/workers"
	"ptyctl/term"
)

// TestReceivers: each message is taken although those before it are still being taken, few goroutines stay, and the end
// waits for the messages that were taken.
func TestReceivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = 1000
		var mu sync.Mutex
		taken, ended := 0, 0
		release := make(chan struct{})
		pool := workers.New()
		r := newReceivers(pool, func(*nats.Msg) {
			mu.Lock()
			taken++
			mu.Unlock()
			<-release
			mu.Lock()
			ended++
			mu.Unlock()
		})
		counts := func(wantTaken, wantEnded, idle int) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if taken != wantTaken || ended != wantEnded {
				t.Errorf("%d messages were taken and %d of them have ended, want %d and %d", taken, ended, wantTaken, wantEnded)
			}
			if n := r.idle.Load(); n < 1 || n > int32(idle) {
				t.Errorf("%d receivers wait, want 1 to %d", n, idle)
			}
		}
		r.start()
		counts(0, 0, 1)
		for range 3 { // the receivers that have ended are missed by none
			for range all {
				r.messages <- &nats.Msg{}
			}
			counts(all, 0, 1)
			for range all {
				release <- struct{}{}
			}
			counts(all, all, maxIdle)
			taken, ended = 0, 0
		}
		r.messages <- &nats.Msg{}
		counts(1, 0, maxIdle)
		time.AfterFunc(time.Hour, func() { close(release) })
		r.end()
		if ended != 1 {
			t.Error("the end has not waited for a message that was taken")
		}
		pool.End()
		pool.Wait()
	})
}

// TestPiecesElsewhere: if the other pieces of a call went to another subject, its last piece is refused, and not taken
// for a whole call.
func TestPiecesElsewhere(t *testing.T) {
	r := router(t, natstest.URLs(natstest.Start(t, 1))[0], "fra1", one{}, newKey(t))
	inbox, err := r.o.Conn.SubscribeSync(newInbox("ams2"))
	if err != nil {
		t.Fatal(err)
	}
	o := &owner{r: r, ctx: t.Context(), room: make(chan struct{}, 1)}
	o.take(&nats.Msg{Header: nats.Header{headerToken: {"x"}, headerPieces: {"2"}}, Reply: inbox.Subject, Data: []byte("{}")})
	m, err := inbox.NextMsg(10 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := decode("fra1", m.Data); m.Header.Get(headerKind) != kindRefused || !isKind(err, term.NodeUnreachable) {
		t.Errorf("the answer is %q: %v; want a refusal", m.Header.Get(headerKind), err)
	}
}
