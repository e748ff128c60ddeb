package mux

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"
)

// answering is a connection to a server that answers after a delay.
type answering struct {
	ssh.Conn
	after time.Duration
	ctx   context.Context
}

func (a answering) SendRequest(string, bool, []byte) (bool, []byte, error) {
	select {
	case <-time.After(a.after):
		return false, nil, nil
	case <-a.ctx.Done():
		return false, nil, a.ctx.Err()
	}
}

// The channels of a lost connection end before it does. On a busy machine that is a long time, and the answer of the
// server decides.
func TestLostSoon(t *testing.T) {
	lost := errors.New("lost")
	for _, tt := range []struct {
		answer, end time.Duration // after which each comes
		want        error
		took        time.Duration
	}{
		{answer: 10 * time.Millisecond, end: time.Hour, took: 10 * time.Millisecond},
		{answer: time.Hour, end: time.Second, want: lost, took: time.Second},
		{answer: time.Hour, end: time.Hour, took: drainLimit},
	} {
		synctest.Test(t, func(t *testing.T) {
			k := new(Link)
			k.ctx, k.cancel = context.WithCancelCause(t.Context())
			k.Conn = answering{after: tt.answer, ctx: k.ctx}
			timer := time.AfterFunc(tt.end, func() { k.cancel(lost) })
			defer timer.Stop()
			began := time.Now()
			if err := k.LostSoon(nil); !errors.Is(err, tt.want) || time.Since(began) != tt.took {
				t.Errorf("LostSoon with an answer after %v and the end after %v = %v after %v, want %v after %v",
					tt.answer, tt.end, err, time.Since(began), tt.want, tt.took)
			}
			k.cancel(nil)
			k.wg.Wait()
		})
	}
}
