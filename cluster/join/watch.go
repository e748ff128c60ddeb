package join

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"ptyctl/cluster/nodes"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/peers"
	"ptyctl/metrics"
	"ptyctl/term"
)

// The states of a node for a load balancer, in words that anybody may read.
var (
	errDraining     = errors.New("this node is drained: it takes no new sessions, and ends with its last one")
	errServersLost  = errors.New("this node has no connection to the NATS servers of its cluster")
	errUnregistered = errors.New("the other nodes do not know of this one: the NATS servers do not take its writes")
)

// Ready implements app.Cluster.
func (n *node) Ready() error {
	switch {
	case n.draining.Load():
		return errDraining
	case !n.nc.IsConnected():
		return errServersLost
	case !n.registry.Alive():
		return errUnregistered
	}
	return nil
}

// The outcomes of calls that are passed on.
const (
	done        = "ok" // there was an answer, which may be that the tool has failed
	unreachable = "unreachable"
	silent      = "silent"
	canceled    = "canceled"
	failed      = "failed"
)

// outcomeOf returns how a call that was passed on has ended.
func outcomeOf(err error) string {
	switch term.KindOf(err) {
	case "":
		return done
	case term.NodeUnreachable:
		return unreachable
	case term.NodeSilent:
		return silent
	case term.Canceled:
		return canceled
	}
	return failed
}

// counts are the counters of a node.
type counts struct {
	forwarded, served *metrics.Durations
	anchored, missed  atomic.Int64 // anchors that were kept, and that could not be
	judged            atomic.Int64 // questions about actions to nodes with other rules
}

func newCounts() *counts {
	outcomes := []string{done, unreachable, silent, canceled, failed}
	return &counts{
		forwarded: metrics.NewDurations("ptyctl_cluster_forwarded_seconds", "Duration of calls that other nodes have answered, by outcome.",
			"outcome", outcomes...),
		served: metrics.NewDurations("ptyctl_cluster_served_seconds", "Duration of calls that were answered for other nodes, by outcome.",
			"outcome", outcomes...),
	}
}

// A countedServer counts the calls that it answers, without the blocks of copies. A call that follows a resource lasts
// as long as its client likes.
type countedServer struct {
	*mcpapi.Server
	counts *counts
}

// A countedClient counts the questions about actions that its client gets.
type countedClient struct {
	peers.Client
	judged *atomic.Int64
}

// Ask implements peers.Client.
func (c countedClient) Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method == peers.MethodJudge {
		c.judged.Add(1)
	}
	return c.Client.Ask(ctx, method, params)
}

// ServePeer implements route.Server.
func (s countedServer) ServePeer(ctx context.Context, call peers.Call, client peers.Client) (json.RawMessage, error) {
	began := time.Now()
	result, err := s.Server.ServePeer(ctx, call, countedClient{client, &s.counts.judged})
	if !call.Watch && call.Files == nil {
		s.counts.served.Observe(outcomeOf(err), time.Since(began))
	}
	return result, err
}

// leasesTime is how long a scrape waits for the number of leases.
const leasesTime = time.Second

// Metrics implements app.Cluster.
func (n *node) Metrics() []metrics.Family {
	one := func(kind, name, help string, value func() float64) metrics.Family {
		return metrics.Sampled(kind, name, help, nil, func(yield func(float64, ...string)) { yield(value()) })
	}
	is := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	return []metrics.Family{
		n.counts.forwarded, n.counts.served,
		metrics.Sampled("gauge", "ptyctl_cluster_nodes", "Nodes that this one knows of, by state.", []string{"state"}, n.countNodes),
		one("gauge", "ptyctl_cluster_connected", "Whether this node has a connection to a NATS server.",
			func() float64 { return is(n.nc.IsConnected()) }),
		one("gauge", "ptyctl_cluster_registered", "Whether the other nodes can know of this one.",
			func() float64 { return is(n.registry.Alive()) }),
		one("gauge", "ptyctl_cluster_draining", "Whether this node takes no new sessions.", func() float64 { return is(n.draining.Load()) }),
		one("counter", "ptyctl_cluster_reconnects_total", "Times that this node has found a NATS server again.",
			func() float64 { return float64(n.nc.Stats().Reconnects) }),
		one("counter", "ptyctl_cluster_judged_total", "Questions about actions to nodes with other rules, whose clients have called.",
			func() float64 { return float64(n.counts.judged.Load()) }),
		one("gauge", "ptyctl_cluster_leases", "Consoles that this node has.", func() float64 {
			ctx, cancel := context.WithTimeout(context.Background(), leasesTime)
			defer cancel()
			held, _ := n.devices.Held(ctx) // of a store that has ended: none
			return float64(held)
		}),
		metrics.Sampled("counter", "ptyctl_cluster_anchors_total", "Ends of the audit log that were to be kept in the cluster, by outcome.",
			[]string{"outcome"}, func(yield func(float64, ...string)) {
				yield(float64(n.counts.missed.Load()), failed)
				yield(float64(n.counts.anchored.Load()), done)
			}),
	}
}

// countNodes yields the number of nodes in each state.
func (n *node) countNodes(yield func(float64, ...string)) {
	live, draining, gone := 0, 0, 0
	for _, s := range n.registry.All() {
		switch {
		case s.State != nodes.Live:
			gone++
		case s.Draining:
			draining++
		default:
			live++
		}
	}
	yield(float64(draining), "draining")
	yield(float64(live), "live")
	yield(float64(gone), "silent")
}
