package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"
)

// A Config describes histories. Zero fields have defaults.
type Config struct {
	Seed     uint64
	Servers  int           // 0: 3
	Nodes    int           // 0: 3
	Consoles int           // 0: 4
	Agents   int           // on each node; 0: 2
	Length   time.Duration // of the part with faults; 0: 2 min
	TTL      time.Duration // 0: 30 s
	Margin   time.Duration // 0: TTL/6, negative: none
	Service  time.Duration // that a leader takes for a request; 0: 100 us
	Faults   []Fault
	Jump     time.Duration // of the clocks of servers; 0: a tenth of a second less than the margin
	Boottime bool          // the nodes count the time for which they sleep
	Break    Break         // rules that are broken, to test the judge
}

// Break are rules that are broken on purpose: the judge must find it.
type Break uint

// The broken rules.
const (
	CountFromAnswer Break = 1 << iota // a lease counts from the answer to a renewal, not from its sending
	NoEnd                             // a lease ends only when the servers say so
	ClaimHeld                         // an acquirer takes the key of another
	ReleaseFirst                      // a release frees the key before it ends the lease
	Impatient                         // an acquirer has a device at once if its key has expired
)

func (c Config) withDefaults() Config {
	c.Servers = cmp.Or(c.Servers, 3)
	c.Nodes = cmp.Or(c.Nodes, 3)
	c.Consoles = cmp.Or(c.Consoles, 4)
	c.Agents = cmp.Or(c.Agents, 2)
	c.Length = cmp.Or(c.Length, 2*time.Minute)
	c.TTL = cmp.Or(c.TTL, 30*time.Second)
	c.Margin = max(cmp.Or(c.Margin, c.TTL/6), 0)
	c.Service = cmp.Or(c.Service, 100*time.Microsecond)
	c.Jump = cmp.Or(c.Jump, max(c.Margin-100*time.Millisecond, 0))
	return c
}

// slack is how much longer than its timeout a call may take: timers are not exact.
func (c Config) slack() time.Duration { return time.Millisecond }

// A Result is the summary of a history.
type Result struct {
	Violations  []Violation
	Events      int
	Messages    int // requests of nodes
	Calls       int // Acquire and Release
	Acquired    int
	Unavailable int // calls that no server has carried out
	Lost        int // leases that have ended without a release
	Late        int // writes that were checked in time and made after a take-over, because the node was stopped in between
	Unfenced    int // of these, those that a fence process would have let pass
}

// Run runs a history.
func Run(c Config) Result {
	c = c.withDefaults()
	var r Result
	w := &world{c: c, random: rand.New(rand.NewPCG(c.Seed, 28)), result: &r}
	w.judge = newJudge(w)
	for i := range c.Servers {
		w.servers = append(w.servers, newServer(w, i, fmt.Sprintf("nats%d", i+1)))
	}
	for i := range c.Nodes {
		n := newNode(w, fmt.Sprintf("node%d", i+1))
		w.nodes = append(w.nodes, n)
		w.employ(n)
	}
	for _, f := range c.Faults {
		w.plan(f)
	}
	w.run(c.Length)
	w.run(c.Length + 2*c.TTL + 2*longestVote) // the agents end
	w.judge.free()
	w.run(w.now + 2*timeout)
	return r
}

// Sum runs n histories, with seeds from that of c on, and returns the sum of their results.
func Sum(c Config, n int) (sum Result) {
	for range n {
		r := Run(c)
		sum.Violations = append(sum.Violations, r.Violations...)
		sum.Events += r.Events
		sum.Messages += r.Messages
		sum.Calls += r.Calls
		sum.Acquired += r.Acquired
		sum.Unavailable += r.Unavailable
		sum.Lost += r.Lost
		sum.Late += r.Late
		sum.Unfenced += r.Unfenced
		c.Seed++
	}
	return sum
}

// employ gives a node its agents.
func (w *world) employ(n *node) {
	for range w.c.Agents {
		(&agent{w, n}).begin()
	}
}

// devices returns the names of the consoles.
func (w *world) devices() []string {
	if w.names == nil {
		for i := range w.c.Consoles {
			w.names = append(w.names, fmt.Sprintf("console%d", i+1))
		}
	}
	return w.names
}

// machines returns all machines.
func (w *world) machines() (all []*machine) {
	for _, s := range w.servers {
		all = append(all, s.machine)
	}
	for _, n := range w.nodes {
		all = append(all, n.machine)
	}
	return all
}
