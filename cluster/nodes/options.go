package nodes

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/cluster/internal/bucket"
	"ptyctl/cluster/proof"
)

// Options say where the registry is kept.
type Options struct {
	// Conn is the caller's, and stays open. It should keep nothing for servers that cannot be reached
	// (nats.ReconnectBufSize(-1)): a write that is sent long after its time makes a node look alive.
	Conn  *nats.Conn
	Group string // of nodes that know each other: the bucket is GROUP-nodes; empty: "ptyctl"

	TTL      time.Duration // of a node that is not heard of: 2 s to 1 h; 0: 15 s. All nodes must have the same
	Every    time.Duration // from one write of a node to the next: at most half of TTL; 0: TTL/3
	Replicas int           // of a bucket that is made; 0: 3 if the cluster has three servers or more, else 1

	// Wait is how long Join waits for the end of another process of the same name that no longer writes. It does not
	// wait for one that does. 0: Join does not wait. TTL is enough for a process that was killed.
	Wait time.Duration

	// Prover makes the proof of this node's name, and checks those of the others: an entry without a proof is ignored.
	// nil: nodes have no credentials, and any process may use any name.
	Prover *proof.Prover

	Logger *slog.Logger // nil: slog.Default
}

var groupPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// withDefaults returns o with every zero field replaced by its default, or says which field is wrong.
func (o Options) withDefaults() (Options, error) {
	o.Group = cmp.Or(o.Group, "ptyctl")
	o.TTL = cmp.Or(o.TTL, 15*time.Second)
	o.Every = cmp.Or(o.Every, o.TTL/3)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	switch {
	case o.Conn == nil:
		return o, errors.New("nodes: Options.Conn is nil")
	case !groupPattern.MatchString(o.Group):
		return o, fmt.Errorf("nodes: Options.Group is %.80q: it must be 1 to 64 letters, digits, hyphens and underscores", o.Group)
	case o.TTL < 2*time.Second || o.TTL > time.Hour: // a server keeps no marker of an expired key for less than a second
		return o, fmt.Errorf("nodes: Options.TTL is %v: it must be between 2s and 1h", o.TTL)
	case o.Every < 0 || o.Every > o.TTL/2:
		return o, fmt.Errorf("nodes: Options.Every is %v: it must be at most half of the TTL, %v", o.Every, o.TTL)
	case o.Replicas < 0 || o.Wait < 0:
		return o, errors.New("nodes: Options.Replicas and Options.Wait must not be negative")
	}
	return o, nil
}

// attempt is how long one answer is waited for.
func (o Options) attempt() time.Duration {
	return min(max(o.Every/5, 500*time.Millisecond), 2*time.Second)
}

// again is the time after which a write that has failed is tried again.
func (o Options) again() time.Duration { return min(o.Every/10, time.Second) }

// patience is how long Join waits for the end of another process, and for the servers to see that.
func (o Options) patience() time.Duration {
	if o.Wait == 0 {
		return 0
	}
	return o.Wait + max(o.Every, 2*time.Second)
}

// subject returns where a node publishes its entry.
func (o Options) subject(node string) string { return Subject(o.Group, node) }

// Subject returns where a node of a group publishes its entry. The user with the right to publish there is that node.
func Subject(group, node string) string { return "$KV." + group + "-nodes." + keyPrefix + node }

// bucket returns the name and the configuration of the bucket.
func (o Options) bucket() (string, jetstream.KeyValueConfig) {
	return o.Group + "-nodes", jetstream.KeyValueConfig{
		Description: "the nodes of ptyctl", TTL: o.TTL, Replicas: o.Replicas,
		LimitMarkerTTL: o.TTL, // otherwise no watcher hears of an expired key
	}
}

// An UnavailableError says that the servers did not carry out a call. The call may be tried again.
type UnavailableError = bucket.UnavailableError

// A NameTakenError says that another process has the name of this node.
type NameTakenError struct {
	Name string
	Node Node          // the entry of the other process; zero but for the name if it could not be read
	Free time.Duration // when the name is free if the other process has ended: at most Options.TTL
}

// Error says which process has the name, and for how long.
func (e *NameTakenError) Error() string {
	who := "another process"
	if !e.Node.Started.IsZero() {
		who = fmt.Sprintf("another process (version %q, started %s)", e.Node.Version, e.Node.Started.Format(time.RFC3339))
	}
	return fmt.Sprintf("nodes: %s is node %q: choose another name, or end that process; if it has ended, the name is free in %v",
		who, e.Name, e.Free.Round(100*time.Millisecond))
}

// errLeft is the error of a registry that has left.
var errLeft = errors.New("nodes: this node has left the registry")
