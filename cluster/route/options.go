package route

import (
	"cmp"
	"context"
	"crypto/ecdh"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/mcpapi/peers"
)

// Version is the number of the wire protocol that this package speaks.
const Version = 1

// Options say who this node is, and how it reaches others.
type Options struct {
	Conn  *nats.Conn       // required; the caller closes it after the Router
	Group string           // the first word of all subjects; empty: "ptyctl"
	Node  string           // the name of this node; required
	Key   *ecdh.PrivateKey // X25519; required
	Nodes Directory

	Patience   time.Duration // how long an owner may be silent; 0: 6 s
	MaxCalls   int           // of other nodes that are answered at a time, and a quarter of it of one caller; 0: 1024
	MaxWatches int           // of resources of this node, by clients of others, besides; a quarter of it of one caller; 0: 1024
	Ready      func()        // called by Serve when calls of other nodes reach it; nil: nothing is
	Logger     *slog.Logger  // nil: slog.Default
}

// A Directory knows the nodes.
type Directory interface {
	// Key returns the public key of a node (X25519, 32 bytes). It reports false for a node that is not there, or does
	// not speak this package's Version.
	Key(node string) (public []byte, ok bool)

	// Await returns true when Key knows the node, at once or later, and false when ctx ends before.
	Await(ctx context.Context, node string) bool
}

// withDefaults returns o with its defaults, or an error if o is not valid.
func (o Options) withDefaults() (Options, error) {
	o.Group = cmp.Or(o.Group, "ptyctl")
	o.Patience = cmp.Or(o.Patience, 6*time.Second)
	o.MaxCalls = cmp.Or(o.MaxCalls, 1024)
	o.MaxWatches = cmp.Or(o.MaxWatches, 1024)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	switch {
	case o.Conn == nil || o.Nodes == nil:
		return o, errors.New("route: Options.Conn and Options.Nodes are needed")
	case !peers.ValidNode(o.Node) || !peers.ValidNode(strings.ReplaceAll(o.Group, "_", "-")):
		return o, fmt.Errorf("route: node %q and group %q must have letters, digits and dashes only, the group also underscores",
			o.Node, o.Group)
	case o.Key == nil || o.Key.Curve() != ecdh.X25519():
		return o, errors.New("route: Options.Key is no X25519 key")
	case o.Patience < 0 || o.MaxCalls < 0 || o.MaxWatches < 0:
		return o, errors.New("route: Options.Patience, Options.MaxCalls and Options.MaxWatches must not be negative")
	}
	return o, nil
}

// callSubject is where a node takes calls, and largeSubject where it takes those in several pieces; cancelSubject is where
// it learns that one was given up.
func (o Options) callSubject(node string) string   { return o.subject("call", node) }
func (o Options) largeSubject(node string) string  { return o.subject("large", node) }
func (o Options) cancelSubject(node string) string { return o.subject("cancel", node) }

func (o Options) subject(what, node string) string {
	return fmt.Sprintf("%s.v%d.%s.%s", o.Group, Version, what, node)
}

// alive is how often an owner says that a call goes on.
func (o Options) alive() time.Duration { return o.Patience / 3 }
