package sim

import "time"

// An agent uses one console after the other: it acquires it at its node, keeps it for a while, and gives it back.
type agent struct {
	w *world
	n *node
}

// begin is the agent's next turn. The life of the node ends it; another agent comes with the next life.
func (a *agent) begin() {
	a.n.after(a.w.between(100*time.Millisecond, 3*time.Second), func() {
		if a.w.now > a.w.c.Length {
			return
		}
		all := a.w.devices()
		a.n.acquire(all[a.w.random.IntN(len(all))], func(h *held, o outcome) {
			if o != won {
				a.begin()
				return
			}
			left := false
			h.ended = func() { // it was lost, or is released
				if !left {
					left = true
					a.begin()
				}
			}
			keep := a.w.between(time.Second, 60*time.Second)
			a.n.after(keep, func() {
				if !left {
					left = true
					a.n.release(h, func(*held, outcome) { a.begin() })
				}
			})
		})
	})
}

// typing is a write that a node has checked and not yet made when it stops. It makes it when it goes on.
func (w *world) typing(n *node) (resumed func()) {
	type stroke struct {
		h   *held
		end time.Duration // of the lease, by the clock of a process that was not stopped
	}
	var all []stroke
	for _, d := range w.devices() {
		for _, h := range w.judge.devices[d] {
			if h.n == n && h.runs() && h.check() {
				all = append(all, stroke{h, h.n.boottime() + h.until - h.n.clock()})
			}
		}
	}
	return func() {
		for _, s := range all {
			if s.h.n.dead || w.judge.last[s.h.device] <= s.h.Token { // no other node has had it
				continue
			}
			w.result.Late++
			if n.boottime() < s.end { // the fence process had no reason to close the connection
				w.result.Unfenced++
			}
		}
	}
}
