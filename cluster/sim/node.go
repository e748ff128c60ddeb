package sim

import (
	"fmt"
	"time"

	"ptyctl/cluster/lease/rules"
)

// timeout is the longest time of a call, as in lease.Options. spare is the part of it that is left for the explanation
// of a failure.
const (
	timeout = 10 * time.Second
	spare   = 500 * time.Millisecond
)

// A node is a process of ptyctl with a lease.Store.
type node struct {
	*machine
	gate    *server // that it is connected with
	missed  int     // pings in a row
	held    map[string]*held
	counter int
	stops   int // how often it was stopped
}

// A held is a lease of a node: devlock.Lease and the state of its renewer.
type held struct {
	rules.Lease[time.Time]
	n      *node
	life   int
	device string
	id     string
	until  time.Duration // by node.clock
	over   bool          // released or lost
	due    time.Time     // of the next renewal
	timer  int           // counts, so that only the last one rings
	ended  func()        // called once it is over
}

func newNode(w *world, name string) *node {
	n := &node{machine: newMachine(w, name)}
	n.start()
	return n
}

// start begins a life of the process.
func (n *node) start() {
	n.dead, n.missed, n.held = false, 0, make(map[string]*held)
	n.connect()
	n.ping()
}

// connect chooses a server.
func (n *node) connect() { n.gate = n.w.servers[n.w.random.IntN(len(n.w.servers))] }

// ping finds out whether the server is there, as the connection of nats.go does.
func (n *node) ping() {
	every := n.w.times().Every()
	if n.gate.dead { // the kernel of its machine says so
		every = time.Second
	}
	n.after(every, func() {
		switch {
		case n.gate.dead:
			n.connect()
		case n.gate.frozen || n.gate.side != n.side:
			if n.missed++; n.missed > 2 {
				n.missed = 0
				n.connect()
			}
		default:
			n.missed = 0
		}
		n.ping()
	})
}

// clock is the clock of the rules: the monotonic clock, or the one that counts sleep, too.
func (n *node) clock() time.Duration {
	if n.w.c.Boottime {
		return n.boottime()
	}
	return n.monotonic()
}

// stamp returns a time of node.clock for the rules.
func stamp(d time.Duration) time.Time { return time.Unix(0, 0).Add(d) }

// since is the reverse of stamp.
func since(t time.Time) time.Duration { return t.Sub(time.Unix(0, 0)) }

// check is devlock.Lease.Check.
func (h *held) check() bool {
	return !h.over && (h.n.clock() < h.until || h.n.w.c.Break&NoEnd != 0)
}

// runs reports whether the process of the lease could check it now.
func (h *held) runs() bool { return !h.n.dead && !h.n.frozen && h.n.life == h.life }

// extend is devlock.Lease.Extend.
func (h *held) extend(until time.Duration) bool {
	if !h.check() {
		return false
	}
	h.until = max(h.until, until)
	h.n.w.judge.look(h.device, "is renewed")
	return true
}

// end ends the lease. Only the first call counts.
func (h *held) end() {
	if h.over {
		return
	}
	h.over = true
	delete(h.n.held, h.id)
	if h.ended != nil {
		h.ended()
	}
}

// ask sends a request. The answer may never come.
func (n *node) ask(q request, answered func(answer)) {
	gate, life := n.gate, n.life
	n.w.result.Messages++
	n.w.send(n.machine, gate.machine, func() {
		gate.serve(q, func(a answer) {
			n.w.send(gate.machine, n.machine, func() {
				if n.life == life {
					answered(a)
				}
			})
		})
	})
}

// call sends a request and waits that long for its answer; ok is false if none came.
func (n *node) call(q request, wait time.Duration, answered func(a answer, ok bool)) {
	over := false
	n.ask(q, func(a answer) {
		if !over {
			over = true
			answered(a, a.code != noResponders)
		}
	})
	n.after(max(wait, 0), func() {
		if !over {
			over = true
			answered(answer{}, false)
		}
	})
}

// key is the leader's answer as the lease sees it.
func (h *held) key(r record) rules.Key {
	k := rules.Key{
		Held: r.id != "", Mine: r.id != "" && r.id == h.id, Expired: r.expired, Revision: r.revision, Token: r.token,
	}
	if h.n.w.c.Break&ClaimHeld != 0 && h.Token == 0 {
		k.Held = false
	}
	return k
}

// An outcome is the result of a call.
type outcome int

const (
	won outcome = iota
	heldByOther
	unavailable
)

// acquire is Store.Acquire.
func (n *node) acquire(device string, done func(h *held, o outcome)) {
	n.counter++
	h := &held{n: n, life: n.life, device: device, id: fmt.Sprintf("%s.%d.%d", n.name, n.life, n.counter)}
	end, attempts := n.monotonic()+timeout-spare, 0
	done = n.w.judge.promise(n, "acquire", done)
	var try func()
	again := func() {
		pause := rules.Pause(attempts)
		attempts++
		pause = n.w.between(pause/2, pause)
		if n.monotonic()+pause >= end {
			done(nil, unavailable)
			return
		}
		n.after(pause, try)
	}
	wait := func() time.Duration { return min(n.w.times().Answer(), end-n.monotonic()) }
	try = func() {
		sent := n.clock()
		n.call(request{key: device, expect: h.Revision, id: h.id, token: h.Token}, wait(), func(a answer, ok bool) {
			if ok && a.code == 0 {
				h.Won(a.revision)
				if n.w.c.Break&CountFromAnswer != 0 {
					sent = n.clock()
				}
				if h.until = since(n.w.times().Until(stamp(sent))); !h.check() { // it came too late
					done(nil, unavailable)
					return
				}
				n.held[h.id] = h
				h.schedule(stamp(sent).Add(n.w.times().Every()))
				if h.Heir && n.w.c.Break&Impatient == 0 {
					n.inherit(h)
					done(nil, heldByOther)
					return
				}
				n.w.judge.acquired(h)
				done(h, won)
				return
			}
			n.call(request{key: device, read: true}, wait(), func(a answer, ok bool) {
				if ok && h.Claim(h.key(a.record)) {
					done(nil, heldByOther)
					return
				}
				again()
			})
		})
	}
	try()
}

// inherit is Store.inherit.
func (n *node) inherit(h *held) {
	n.after(n.w.times().Patience(), func() {
		if h.check() {
			n.release(h, func(*held, outcome) {})
		}
	})
}

// release is Store.Release.
func (n *node) release(h *held, done func(h *held, o outcome)) {
	done = n.w.judge.promise(n, "release", done)
	if h.over {
		done(nil, won)
		return
	}
	if n.w.c.Break&ReleaseFirst != 0 { // the key, and then the lease
		n.after(200*time.Millisecond, h.end)
	} else {
		h.end()
	}
	end, attempts := n.monotonic()+timeout-spare, 0
	var try func()
	try = func() {
		wait := min(n.w.times().Answer(), end-n.monotonic())
		n.call(request{key: h.device, expect: h.Revision}, wait, func(a answer, ok bool) {
			if ok && a.code == 0 {
				done(nil, won)
				return
			}
			wait := min(n.w.times().Answer(), end-n.monotonic())
			n.call(request{key: h.device, read: true}, wait, func(a answer, ok bool) {
				switch {
				case ok && a.record.id != h.id:
					done(nil, won)
					return
				case ok:
					h.Revision = a.record.revision
				}
				pause := n.w.between(rules.Pause(attempts)/2, rules.Pause(attempts))
				if attempts++; n.monotonic()+pause >= end {
					done(nil, unavailable)
					return
				}
				n.after(pause, try)
			})
		})
	}
	try()
}
