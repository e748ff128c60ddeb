package sim

import "time"

// A Fault is a kind of failure. Each happens once in a history, at a random time, for a random while.
type Fault int

// The kinds of faults.
const (
	KillNode     Fault = iota // and start it again
	StopNode                  // SIGSTOP and SIGCONT
	Suspend                   // of a node: its monotonic clock stops
	CutNode                   // a node cannot reach any server
	SlowNode                  // a node hears the servers seconds late, and then it is cut off
	Split                     // the machines are on two sides
	KillLeader                // of the bucket
	KillMajority              // of the servers
	StopServer                // the leader, by SIGSTOP, and SIGCONT
	JumpNode                  // the wall clock of a node, by up to an hour
	JumpServer                // the wall clock of a server, usually the leader's, forward or back by Config.Jump
	faults                    // their number
)

// String returns the name.
func (f Fault) String() string {
	return [...]string{
		"node killed", "node stopped", "node suspended", "node cut off", "node slow, cut", "network split", "leader killed", "majority killed",
		"leader stopped", "clock of a node", "clock of a server",
	}[f]
}

// AllFaults returns every kind.
func AllFaults() (all []Fault) {
	for f := range faults {
		all = append(all, f)
	}
	return all
}

// leader returns the server that leads, or any if none does.
func (w *world) leader() *server {
	for _, s := range w.servers {
		if s.leads && !s.dead {
			return s
		}
	}
	return w.servers[w.random.IntN(len(w.servers))]
}

// plan has a fault happen.
func (w *world) plan(f Fault) {
	at := w.between(20*time.Second, w.c.Length/2)
	lasts := w.between(time.Second, w.c.Length/4)
	n := w.nodes[w.random.IntN(len(w.nodes))]
	w.at(at, func() {
		over := w.begin(f, n)
		w.at(w.now+lasts, over)
	})
}

// begin begins a fault, and returns the function that ends it.
func (w *world) begin(f Fault, n *node) (over func()) {
	switch f {
	case KillNode:
		n.die()
		return func() { w.revive(n) }
	case StopNode, Suspend:
		if n.dead || n.frozen {
			return func() {}
		}
		n.stops++
		resumed, life := w.typing(n), n.life
		n.freeze(f == Suspend)
		return func() {
			if n.life == life {
				n.thaw()
				resumed()
				w.judge.thawed(n)
			}
		}
	case SlowNode:
		n.lag = w.between(time.Second, 15*time.Second)
		return func() {
			cut := w.begin(CutNode, n)
			w.at(w.now+w.between(time.Second, w.c.Length/4), func() {
				n.lag = 0
				cut()
			})
		}
	case CutNode:
		n.side = 1 + len(w.nodes) + w.random.IntN(1000)
		return func() { n.side = 0 }
	case Split:
		for _, m := range w.machines() {
			m.side = w.random.IntN(2)
		}
		return func() {
			for _, m := range w.machines() {
				m.side = 0
			}
		}
	case KillLeader:
		s := w.leader()
		s.die()
		return s.restart
	case KillMajority:
		killed := w.servers[:len(w.servers)/2+1]
		for _, s := range killed {
			s.die()
		}
		return func() {
			for _, s := range killed {
				s.restart()
			}
		}
	case StopServer:
		s := w.leader()
		if s.frozen {
			return func() {}
		}
		s.freeze(false)
		return s.thaw
	case JumpNode:
		n.wall += w.between(-time.Hour, time.Hour)
		return func() {}
	case JumpServer:
		s := w.leader()
		if w.chance(3) {
			s = w.servers[w.random.IntN(len(w.servers))]
		}
		jump := w.c.Jump
		if w.chance(2) {
			jump = -jump
		}
		s.wall += jump
		return func() { s.wall -= jump } // it is set right
	}
	panic("sim: a fault without a meaning")
}

// revive starts a node again, with new agents.
func (w *world) revive(n *node) {
	if n.dead {
		n.start()
		w.employ(n)
	}
}

// restart starts a server again.
func (s *server) restart() {
	if s.dead {
		s.start()
	}
}
