package join

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/admin"
	"ptyctl/cluster/nodes"
	"ptyctl/cluster/proof"
	"ptyctl/config"
	"ptyctl/internal/app"
)

// Prover returns the prover that signs for a user of NATS and checks the signatures of nodes; nil: there are no
// credentials.
func Prover(c config.Cluster) (*proof.Prover, error) {
	if c.CredentialsFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.CredentialsFile)
	if err != nil {
		return nil, err
	}
	return proof.Read(text)
}

// Registry returns the options of the registry of a cluster's nodes.
func Registry(nc *nats.Conn, group string, log *slog.Logger) nodes.Options {
	return nodes.Options{Conn: nc, Group: group, TTL: nodeTTL, Wait: nodeTTL, Logger: log}
}

// Buckets returns the names of all buckets of a group.
func Buckets(c config.Cluster) []string {
	all := []string{bucketOf(c)}
	for _, what := range []string{"nodes", "limits", "requests", "sessions", "anchors"} {
		all = append(all, c.Group+"-"+what)
	}
	return all
}

// dialTime is how long Dial waits for one server.
const dialTime = 2 * time.Second

// Dial connects a person to the servers of a cluster. The error names the servers, and is an *app.ConfigError if a value
// of the configuration cannot be used.
func Dial(c config.Cluster, log *slog.Logger) (*nats.Conn, error) {
	if err := app.CheckCluster(c); err != nil {
		return nil, &app.ConfigError{Err: err}
	}
	options, err := natsOptions(c)
	if err != nil {
		return nil, &app.ConfigError{Err: err}
	}
	if name, err := c.NodeName(); err == nil { // with a node's own credentials no other inbox can be read
		options = append(options, inbox(name))
	}
	nc, err := connect(c, "of a person", append(options, nats.Timeout(dialTime)), log)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(c.Servers, ", "), err)
	}
	return nc, nil
}

// inbox is the inbox where a node gets answers. The node needs no right to read the inboxes of others. Only the servers
// learn its name: each node may publish to all inboxes, so no other node may know one in which this node waits for
// words of the servers.
func inbox(node string) nats.Option {
	return nats.CustomInboxPrefix("_INBOX." + node + "." + rand.Text())
}

// DevicesBucket returns the name of the bucket with the owners of consoles.
func DevicesBucket(c config.Cluster) string { return bucketOf(c) }

// serveAdmin answers operators until stop is called.
func (n *node) serveAdmin(local app.Local) (stop func(), err error) {
	return admin.Serve(n.nc, n.group, n.name, func(r admin.Request) admin.Answer {
		if r.Drain {
			n.log.Info("an operator drains this node")
		} else {
			n.log.Info("an operator lets this node take new sessions again")
		}
		n.drain(r.Drain)
		live, consoles := load(local)
		return admin.Answer{Draining: n.draining.Load(), Sessions: live, Consoles: consoles, Version: n.version}
	})
}

// drain makes this node take no new sessions, and end when it has none; or take them again. The caller may be on the
// goroutine that Serve ends with.
func (n *node) drain(on bool) {
	n.draining.Store(on)
	select {
	case n.drained <- struct{}{}:
	default:
	}
}

// load returns how many sessions of this node have not ended, and how many of them are of consoles.
func load(local app.Local) (live, consoles int) {
	for _, i := range local.Sessions.List() {
		if i.State.Ended() {
			continue
		}
		live++
		if i.Device != "" {
			consoles++
		}
	}
	return live, consoles
}

// alongside serves operators and keeps the ends of the audit log beside Serve. end ends that and waits for it.
func (n *node) alongside(ctx context.Context, local app.Local) (end func(), err error) {
	if local.Head != nil {
		n.head.Store(&local.Head)
	}
	stop, err := n.serveAdmin(local)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { n.anchorDaily(ctx) })
	return func() {
		stop()
		cancel()
		work.Wait()
	}, nil
}
