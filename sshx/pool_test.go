package sshx

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestHandshakesWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewNetwork(Options{})
		ctx, cancel := context.WithCancel(t.Context())
		var done []func()
		for range maxHandshakes {
			d, err := n.pool.turn(ctx, "a:22")
			if err != nil {
				t.Fatal(err)
			}
			done = append(done, d)
		}
		if w := n.HandshakesWaiting(); w != 0 {
			t.Errorf("%d wait although all have their turn", w)
		}
		for range 3 {
			go func() {
				if d, err := n.pool.turn(ctx, "a:22"); err == nil {
					defer d()
					<-ctx.Done()
				}
			}()
		}
		synctest.Wait()
		if w := n.HandshakesWaiting(); w != 3 {
			t.Errorf("%d wait, want 3", w)
		}
		done[0]()
		synctest.Wait()
		if w := n.HandshakesWaiting(); w != 2 {
			t.Errorf("%d wait, want 2", w)
		}
		cancel()
		synctest.Wait()
		if w := n.HandshakesWaiting(); w != 0 {
			t.Errorf("%d wait after the calls were canceled", w)
		}
	})
}
