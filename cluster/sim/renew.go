package sim

import (
	"time"

	"ptyctl/cluster/lease/rules"
)

// times returns the times of the leases, as the nodes have them.
func (w *world) times() rules.Times { return rules.Times{TTL: w.c.TTL, Margin: w.c.Margin} }

// schedule sets the time of the next renewal.
func (h *held) schedule(due time.Time) {
	h.due = due
	h.timer++
	timer := h.timer
	h.n.after(since(due)-h.n.clock(), func() {
		if h.timer == timer && !h.over {
			h.attempt()
		}
	})
}

// attempt is renewer.attempt.
func (h *held) attempt() {
	if !h.check() {
		h.n.w.result.Lost++
		h.end()
		return
	}
	now := stamp(h.n.clock())
	h.schedule(now.Add(h.n.w.times().Every()))
	if h.Attempt(now) {
		h.read()
		return
	}
	number := h.Number
	h.n.ask(request{key: h.device, expect: h.Revision, id: h.id, token: h.Token}, func(a answer) {
		if !h.over {
			h.written(number, a)
		}
	})
}

// written is renewer.written.
func (h *held) written(number uint64, a answer) {
	switch {
	case a.code == 0:
		sent, ok := h.Confirmed(number, a.revision)
		if !ok {
			return
		}
		if h.n.w.c.Break&CountFromAnswer != 0 {
			sent = stamp(h.n.clock())
		}
		h.extend(since(h.n.w.times().Until(sent)))
	case rules.Refused(a.code):
		h.Refuse(a.code)
		h.read()
	default:
		h.schedule(h.n.w.times().Retry(stamp(h.n.clock()), h.due))
	}
}

// read is renewer.read, and what follows.
func (h *held) read() {
	h.n.ask(request{key: h.device, read: true}, func(a answer) {
		if h.over || !h.Reading {
			return
		}
		if a.code != 0 {
			h.schedule(h.n.w.times().Retry(stamp(h.n.clock()), h.due))
			return
		}
		if h.Lease.Read(h.key(a.record)) {
			h.n.w.result.Lost++
			h.end()
			return
		}
		h.schedule(stamp(h.n.clock()).Add(h.n.w.times().Settle()))
	})
}
