package join

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/audit"
	"ptyctl/cluster/anchors"
	"ptyctl/cluster/fence"
	"ptyctl/cluster/internal/bucket"
	"ptyctl/cluster/lease"
	"ptyctl/cluster/limits"
	"ptyctl/cluster/nodes"
	"ptyctl/cluster/proof"
	"ptyctl/cluster/route"
	"ptyctl/config"
	"ptyctl/devlock"
	"ptyctl/internal/app"
	"ptyctl/mcpapi/peers"
	"ptyctl/term"
)

// A node is this machine in its cluster.
type node struct {
	name              string
	group, version    string
	log               *slog.Logger
	perHost, perToken int    // sessions of all nodes; 0: no limit
	own               []byte // public key of this process
	rules             []rule
	labels            map[string]string // of this node

	nc       *nats.Conn
	devices  *lease.Store
	registry *nodes.Registry
	prover   *proof.Prover // nil: nodes have no credentials
	limits   *limits.Book
	requests *requests
	memory   *memory
	router   *route.Router
	fence    *fence.Fence
	silent   silence

	counts    *counts
	head      atomic.Pointer[func() (audit.Head, bool)] // the end of the audit log; nil: none yet
	entryOnly bool                                      // it takes clients and no sessions
	draining  atomic.Bool
	drained   chan struct{} // has room for one: whether the node drains has changed
	serves    chan struct{} // has room for one: calls of other nodes reach it
}

var (
	_ app.Cluster     = (*node)(nil)
	_ peers.Peers     = (*node)(nil)
	_ route.Directory = (*node)(nil)
)

// Cluster joins the cluster of a configuration that has cluster.servers. It fails if no server can be reached, and with an
// *app.ConfigError if a value cannot be used. ctx limits only the joining.
func Cluster(ctx context.Context, cfg config.Config, log *slog.Logger, version string) (app.Cluster, error) {
	if err := app.CheckCluster(cfg.Cluster); err != nil {
		return nil, &app.ConfigError{Err: err}
	}
	n := &node{
		fence: fence.New(fence.Options{Logger: log}),
		log:   log, group: cfg.Cluster.Group, version: version, counts: newCounts(), entryOnly: cfg.Cluster.EntryOnly,
		perHost: cfg.Cluster.MaxSessionsPerHost, perToken: cfg.Cluster.MaxSessionsPerToken,
		drained: make(chan struct{}, 1), serves: make(chan struct{}, 1),
	}
	var err error
	if n.name, err = cfg.Cluster.NodeName(); err == nil {
		n.rules, err = rules(cfg.Cluster.Place)
	}
	if err != nil {
		return nil, &app.ConfigError{Err: err}
	}
	options, err := natsOptions(cfg.Cluster)
	if err != nil {
		return nil, &app.ConfigError{Err: err}
	}
	options = append(options, inbox(n.name))
	if err := n.join(ctx, cfg.Cluster, options, version); err != nil {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTime)
		defer cancel()
		if n.nc != nil {
			if denial := bucket.Denial(n.nc); denial != nil {
				err = fmt.Errorf("%w; the servers have refused what these credentials may not do: %w", err, denial)
			}
		}
		_ = n.Close(end) // the error that has kept it from joining says more
		return nil, fmt.Errorf("node %s does not join its cluster: %w", n.name, err)
	}
	return n, nil
}

// joinTime is how long joining may take: the name of a node that was killed is free when its entry has expired.
const joinTime = time.Minute

// join makes the parts of n, in the order in which they need each other. The lease store comes first: it has the clearest
// errors about servers that cannot be reached.
func (n *node) join(ctx context.Context, c config.Cluster, options []nats.Option, version string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	n.devices, err = lease.Open(ctx, lease.Options{
		Servers: c.Servers, Node: n.name, Bucket: bucketOf(c), TTL: c.LeaseTTL, NATS: options, Logger: n.log,
	})
	if err != nil {
		return err
	}
	if n.nc, err = connect(c, n.name, options, n.log); err != nil {
		return err
	}
	key, err := ecdh.X25519().GenerateKey(rand.Reader) // of this process: it is in the registry for as long as the process
	if err != nil {
		return err
	}
	n.own = key.PublicKey().Bytes()
	n.labels, err = nodes.ParseLabels(c.Labels)
	if err != nil {
		return err
	}
	registry := Registry(n.nc, c.Group, n.log)
	if n.prover, err = Prover(c); err != nil {
		return err
	}
	registry.Prover = n.prover
	n.registry, err = nodes.Join(ctx, registry, nodes.Node{
		Name: n.name, Version: version, WireMin: route.Version, WireMax: route.Version, Key: n.own, Labels: n.labels, Started: time.Now(),
		Draining: true, // until calls reach it
	})
	if err != nil {
		return err
	}
	if n.limits, err = limits.Open(ctx, limits.Options{Conn: n.nc, Group: c.Group, Node: n.name, TTL: wholeSeconds(c.LeaseTTL), Logger: n.log}); err != nil {
		return err
	}
	if n.requests, err = openRequests(ctx, n.nc, c.Group, requestLife, n.process); err != nil {
		return err
	}
	n.router, err = route.New(route.Options{
		Conn: n.nc, Group: c.Group, Node: n.name, Key: key, Nodes: n, Logger: n.log, Ready: func() { n.serves <- struct{}{} },
	})
	if err != nil {
		return err
	}
	n.memory, err = openMemory(ctx, n.nc, c.Group, n.name, n.router, n.prover, n.log)
	return err
}

// nodeTTL is how long a node counts as running after it was last heard of.
const nodeTTL = 15 * time.Second

// wholeSeconds rounds a lease's time up to seconds, in which servers count.
func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

// connect connects to the servers for everything but leases.
func connect(c config.Cluster, name string, options []nats.Option, log *slog.Logger) (*nats.Conn, error) {
	nc, err := nats.Connect(strings.Join(c.Servers, ","), append([]nats.Option{
		nats.Name("ptyctl node " + name + ", calls"),
		nats.ReconnectBufSize(-1), // a message that is sent long after its call would act for no caller
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(), // credentials may be replaced while the servers run
		nats.ReconnectWait(time.Second),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if !nc.IsClosed() {
				log.Warn("the connection to the NATS servers is lost", "node", name, "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			log.Info("there is a connection to a NATS server again", "node", name, "server", nc.ConnectedUrlRedacted())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("NATS connection", "node", name, "error", err.Error())
		}),
	}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("no NATS server can be reached: %w", err)
	}
	return nc, nil
}

// bucketOf returns the name of the bucket with the owners of consoles.
func bucketOf(c config.Cluster) string { return c.Group + "-devices" }

// natsOptions are the credentials and TLS of the connection.
func natsOptions(c config.Cluster) (options []nats.Option, err error) {
	settings, err := app.ClusterTLS(c)
	if err != nil {
		return nil, err
	}
	if settings != nil {
		options = append(options, nats.Secure(settings))
	}
	if c.CredentialsFile != "" {
		options = append(options, nats.UserCredentials(c.CredentialsFile)) // read for each connection
	}
	return options, nil
}

// Node implements app.Cluster.
func (n *node) Node() string { return n.name }

// Devices implements app.Cluster.
func (n *node) Devices() devlock.Store { return devices{n.devices, n} }

// Hold implements app.Cluster.
func (n *node) Hold(l *devlock.Lease) term.Hold {
	if !fence.Available {
		return nil
	}
	return func(socket syscall.Conn) (release func(), err error) { return n.fence.Hold(socket, l) }
}

// Close implements app.Cluster.
func (n *node) Close(ctx context.Context) error {
	if n.nc != nil && !n.nc.IsConnected() { // nothing can be given back: it runs out
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		ctx = short
	}
	if n.head.Load() != nil {
		n.anchor(ctx, anchors.End)
	}
	var errs []error
	if n.router != nil {
		n.router.Close()
	}
	if n.limits != nil {
		errs = append(errs, n.limits.Close(ctx))
	}
	if n.registry != nil {
		errs = append(errs, n.registry.Leave(ctx))
	}
	if n.devices != nil {
		errs = append(errs, n.devices.Close(ctx))
	}
	if n.nc != nil {
		n.nc.Close()
	}
	n.fence.Close()
	return errors.Join(errs...)
}
