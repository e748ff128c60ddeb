package join

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"ptyctl/cluster/limits"
	"ptyctl/cluster/nodes"
	"ptyctl/cluster/route"
	"ptyctl/internal/app"
	"ptyctl/mcpapi/kept"
	"ptyctl/mcpapi/peers"
	"ptyctl/term"
)

// Key implements route.Directory.
func (n *node) Key(name string) (public []byte, ok bool) {
	s := n.registry.Lookup(name)
	if s.State != nodes.Live || !speaks(s.Node) {
		return nil, false
	}
	return s.Node.Key, true
}

// Await implements route.Directory.
func (n *node) Await(ctx context.Context, name string) bool {
	for {
		changed := n.registry.Changed()
		if _, ok := n.Key(name); ok {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// speaks reports whether a node speaks the protocol of this one.
func speaks(n nodes.Node) bool { return n.WireMin <= route.Version && n.WireMax >= route.Version }

// Peers implements app.Cluster.
func (n *node) Peers() peers.Peers { return n }

// Memory implements app.Cluster.
func (n *node) Memory() kept.Memory { return n.memory }

// Forward implements peers.Peers.
func (n *node) Forward(
	ctx context.Context, to string, call peers.Call, client peers.Client,
) (json.RawMessage, error) {
	if s := n.registry.Lookup(to); s.State == nodes.Live && !speaks(s.Node) {
		return nil, &term.Error{
			Kind: term.NodeUnreachable, Reason: term.ReasonNodeUnreachable, Facts: term.Facts{term.UnreachedNode{Node: to}},
			Msg: fmt.Sprintf("node %s (version %.64s) speaks the protocol between nodes with the numbers %d to %d, and this node "+
				"with %d: connect to it, or have the older one upgraded; nothing was done", to, s.Version, s.WireMin, s.WireMax, route.Version),
		}
	}
	if err := n.away(to); err != nil {
		return nil, err
	}
	began := time.Now()
	result, err := n.router.Forward(ctx, to, call, client)
	if errors.Is(err, term.NodeSilent) {
		n.silent.add(to, began)
	}
	if !call.Watch && call.Files == nil {
		n.counts.forwarded.Observe(outcomeOf(err), time.Since(began))
	}
	return result, err
}

// away returns why a node that was there counts as gone; nil: it is there, has left or was never there, or this node is cut
// off itself. What is known of it is said, and no more.
func (n *node) away(name string) error {
	s := n.registry.Lookup(name)
	if s.State == nodes.Live || !n.nc.IsConnected() {
		return nil
	}
	e := &term.Error{Kind: term.NodeUnreachable, Reason: term.ReasonNodeUnreachable, Facts: term.Facts{term.UnreachedNode{Node: name}}}
	switch why, ok := errors.AsType[*nodes.UnavailableError](n.registry.Err()); {
	case ok: // no node is told of another
		e.Err = why
		e.Msg = fmt.Sprintf("node %s cannot be reached, because the NATS servers do not tell the nodes of each other: %s; nothing was done",
			name, why.Why)
	case s.State == nodes.Silent:
		e.Msg = fmt.Sprintf("node %s has not been heard of for %v, and has not left: it was killed, is stopped or cut off, or "+
			"the NATS servers do not tell of it; nothing was done",
			name, time.Since(s.Heard).Round(time.Second))
	default:
		return nil
	}
	return e
}

// Notice implements app.Cluster.
func (n *node) Notice() string {
	if !n.draining.Load() {
		return ""
	}
	return "node " + n.name + " is drained: it takes no new sessions, and ends when its last one has ended; close this one when " +
		"you are done, and open the next, which another node gets"
}

// closed reports whether this node takes no new sessions.
func (n *node) closed() bool { return n.entryOnly || n.draining.Load() }

// every is how often this node reports its load to the registry.
const every = 5 * time.Second

// Serve implements app.Cluster. It returns before ctx ends when this node was drained and is empty.
func (n *node) Serve(ctx context.Context, local app.Local) error {
	ctx, stop := context.WithCancel(ctx)
	k := &keeper{m: n.memory, sessions: local.Sessions, log: n.log, written: make(map[string]written)}
	var keeping sync.WaitGroup
	defer keeping.Wait()
	defer stop()
	end, err := n.alongside(ctx, local)
	if err != nil {
		return err
	}
	defer end()
	keeping.Go(func() { k.run(ctx) })
	served := make(chan error, 1)
	go func() { served <- n.router.Serve(ctx, countedServer{local.Server, n.counts}) }()
	tick := time.NewTicker(every)
	defer tick.Stop()
	serves, unlike := false, newUnlike()
	for {
		live := n.report(local, serves)
		unlike.look(n.name, n.registry.All(), n.log)
		if n.draining.Load() && live == 0 && (local.Runs == nil || local.Runs() == 0) {
			n.log.Info("this node was drained, and has no session left")
			stop()
			return <-served
		}
		select {
		case <-tick.C:
		case <-n.drained:
		case <-n.serves:
			n.log.Info("this node answers the calls of the other nodes")
			serves = true
		case err := <-served:
			return err
		}
	}
}

// digits is how much of a digest a node tells the others: enough to compare.
const digits = 16

// short returns the first digits of a digest, for the other nodes; nil: this node has no digest.
func short(digest func() string) string {
	if digest == nil {
		return ""
	}
	d := digest()
	return d[:min(digits, len(d))]
}

// report tells the registry of the load of this node, and whether it serves the others, and so can have new sessions. It
// returns the number of live sessions.
func (n *node) report(local app.Local, serves bool) int {
	live, consoles := load(local)
	err := n.registry.Update(func(self *nodes.Node) {
		self.Sessions, self.Consoles, self.MaxSessions = live, consoles, local.MaxSessions
		self.Draining = n.closed() || !serves
		self.Rules, self.Callers = short(local.Rules), short(local.Callers)
	})
	if err != nil {
		n.log.Warn("the load of this node cannot be told to the others", "error", err)
	}
	return live
}

// Room implements app.Cluster.
func (n *node) Room(ctx context.Context, hosts []string) (release func(), err error) {
	switch {
	case n.entryOnly: // a caller who knows nothing of nodes
		return nil, &term.Error{
			Op: "open", Kind: term.Unsupported,
			Msg: "node " + n.name + " has no sessions (cluster.entry_only); connect to another node",
		}
	case n.draining.Load():
		return nil, &term.Error{
			Op: "open", Kind: term.NodeUnreachable, Reason: term.ReasonNodeUnreachable,
			Msg: "node " + n.name + " is drained and takes no new sessions; nothing was done",
		}
	}
	var uses []limits.Use
	for _, h := range hosts {
		uses = append(uses, limits.Use{What: "host", Name: h, Most: n.perHost})
	}
	if token := term.ActorFrom(ctx).Token; token != "" {
		uses = append(uses, limits.Use{What: "token", Name: token, Most: n.perToken})
	}
	if n.perHost <= 0 && n.perToken <= 0 {
		return func() {}, nil
	}
	release, err = n.limits.Take(ctx, uses...)
	if full, ok := errors.AsType[*limits.FullError](err); ok {
		return nil, &term.Error{Op: "open", Kind: term.LimitExceeded, Err: err, Msg: full.Error()}
	}
	return release, err
}
