// Package load calculates the load that clusters of different sizes put on the servers of NATS, from the costs of
// single requests in the benchmarks of package cost. It is paper: nothing here was measured as a whole.
// docs/cluster-scale.md has its tables.
package load

import "time"

// A Cost is the cost of one request to the servers.
type Cost struct {
	Leader  time.Duration // processor time of the server that leads the bucket, or that the client is connected with
	Other   time.Duration // of each other server
	In, Out int           // bytes of messages that the leader takes and sends
}

// Costs are the single costs. These are of a virtual machine with two processors that other programs used, too:
//
//	cd cluster && go test -run '^$' -bench . -benchtime 10000x ./sim/cost
type Costs struct {
	Took    time.Duration // for a write, at a leader that does nothing else
	Renewal Cost          // a compare-and-set with three replicas in files, over 200 connections (BenchmarkRenewNodes)
	Deliver Cost          // of a change to one watcher, of all servers (BenchmarkFanOut less BenchmarkCreate, of 100)
	Call    Cost          // request of 256 bytes, answer of 2 KiB, over two servers, 512 under way (BenchmarkCallAll)
}

// A Cluster is a size.
type Cluster struct {
	Nodes    int
	Consoles int
	Sessions int // consoles among them
	Servers  int
}

// Sizes are those of the tables: 100 consoles and 1,000 sessions for each node.
func Sizes() []Cluster {
	var all []Cluster
	for _, n := range []int{3, 30, 100, 300, 1000} {
		all = append(all, Cluster{Nodes: n, Consoles: 100 * n, Sessions: 1000 * n, Servers: 3})
	}
	return all
}

// A Habit is the behaviour of the users and the nodes of a cluster.
type Habit struct {
	Renew    time.Duration // between two renewals of a lease: TTL/6
	Register time.Duration // between two writes of a node
	Count    time.Duration // between two renewals of a count
	Counts   int           // of a node: tokens and hosts with sessions, each a key
	Call     time.Duration // between two calls of a session
	List     time.Duration // between two lists of an agent
	Agent    int           // sessions of an agent
	Keep     time.Duration // for which a console is kept, and a session is open
}

// Usual is the habit of the tables.
var Usual = Habit{
	Renew: 5 * time.Second, Register: 5 * time.Second, Count: 5 * time.Second, Counts: 100,
	Call: time.Minute, List: 10 * time.Minute, Agent: 10, Keep: 30 * time.Minute,
}

// A Part is one kind of load.
type Part struct {
	Name   string
	Growth string  // with the number of nodes
	Rate   float64 // requests a second
	Writes float64 // of the bucket, a second
	Cost   Cost    // of one
}

// Leader is how many processors of the leader the part needs.
func (p Part) Leader() float64 { return p.Rate * p.Cost.Leader.Seconds() }

// Bytes is the number of bytes that the leader sends in a second.
func (p Part) Bytes() float64 { return p.Rate * float64(p.Cost.Out) }

// Of returns the parts of the load of a cluster.
func Of(c Cluster, h Habit, k Costs) []Part {
	per := func(n float64, every time.Duration) float64 { return n / every.Seconds() }
	nodes, consoles, sessions := float64(c.Nodes), float64(c.Consoles), float64(c.Sessions)
	away := (nodes - 1) / nodes // the balancer knows nothing of owners
	// A leader serves all writes. Calls are spread over the servers: of three, each sees two thirds of them.
	call := k.Call
	call.Leader = (k.Call.Leader + time.Duration(c.Servers-1)*k.Call.Other) / time.Duration(c.Servers)
	call.In, call.Out = call.In*2/c.Servers, call.Out*2/c.Servers
	write := func(name, growth string, rate float64) Part { return Part{name, growth, rate, rate, k.Renewal} }
	deliver := k.Deliver // watchers are spread over the servers, too
	deliver.Leader /= time.Duration(c.Servers)
	deliver.Out /= c.Servers
	return []Part{
		write("renewals of leases", "consoles", per(consoles, h.Renew)),
		write("consoles taken and given back", "consoles", per(2*consoles, h.Keep)),
		write("nodes written", "nodes", per(nodes, h.Register)),
		{"nodes told to all nodes", "nodes²", per(nodes*nodes, h.Register), 0, deliver},
		write("counts renewed", "nodes × counts", per(nodes*float64(h.Counts), h.Count)),
		write("counts changed", "sessions", per(4*sessions, h.Keep)),
		{"calls forwarded", "sessions", per(sessions, h.Call) * away, 0, call},
		{"lists gathered, each from all nodes", "sessions × nodes", per(sessions/float64(h.Agent), h.List) * (nodes - 1), 0, call},
	}
}
