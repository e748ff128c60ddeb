package join

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/lease"
	"ptyctl/config"
	"ptyctl/devlock"
	"ptyctl/internal/app"
	"ptyctl/term"
)

// A node is this machine in its cluster.
type node struct {
	name    string
	devices *lease.Store
}

var _ app.Cluster = (*node)(nil)

// Cluster joins the cluster of a configuration that has cluster.servers. It fails if no server can be reached, and with an
// *app.ConfigError if a value cannot be used. ctx limits only the joining.
func Cluster(ctx context.Context, cfg config.Config, log *slog.Logger, _ string) (app.Cluster, error) {
	if err := app.CheckCluster(cfg.Cluster); err != nil {
		return nil, &app.ConfigError{Err: err}
	}
	name, err := cfg.Cluster.NodeName()
	if err != nil {
		return nil, &app.ConfigError{Err: err}
	}
	options, err := natsOptions(cfg.Cluster)
	if err != nil {
		return nil, &app.ConfigError{Err: err}
	}
	devices, err := lease.Open(ctx, lease.Options{
		Servers: cfg.Cluster.Servers, Node: name, Bucket: bucket(cfg.Cluster), TTL: cfg.Cluster.LeaseTTL, NATS: options, Logger: log,
	})
	if err != nil {
		return nil, fmt.Errorf("node %s does not join its cluster: %w", name, err)
	}
	return &node{name: name, devices: devices}, nil
}

// bucket returns the name of the bucket with the owners of consoles.
func bucket(c config.Cluster) string { return c.Group + "-devices" }

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
func (n *node) Devices() devlock.Store { return n.devices }

// Room implements app.Cluster. Nothing is counted over all nodes yet.
func (n *node) Room(context.Context, term.Target) (release func(), err error) { return func() {}, nil }

// Serve implements app.Cluster. No call comes from another node yet.
func (n *node) Serve(ctx context.Context, _ app.Local) error {
	<-ctx.Done()
	return nil
}

// Close implements app.Cluster.
func (n *node) Close(ctx context.Context) error { return n.devices.Close(ctx) }
