package sshx

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/sshx/plan"
	"ptyctl/sshx/reach"
)

// One call may bound its connection, and another leave that to ssh_config: both use the same jump host.
func TestShareKeyWithoutTheTime(t *testing.T) {
	hop := func(within plan.Within, host string) []*plan.Hop {
		return []*plan.Hop{{Endpoint: reach.Endpoint{Host: host}, Within: within}}
	}
	whole, short := shareKey(hop(plan.Within{}, "a")), shareKey(hop(plan.Within{Limit: time.Second, Where: "config:1"}, "a"))
	if whole != short {
		t.Error("another ConnectTimeout makes another connection to a jump host")
	}
	if whole == shareKey(hop(plan.Within{}, "b")) {
		t.Error("two hosts have the same key")
	}
}

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
