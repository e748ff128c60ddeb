package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/cluster/internal/bucket"
)

// A Seen is a node as its key says, by the clock of the servers.
type Seen struct {
	Node
	State State         // Live: its key was written less than two periods of Options.Every ago
	Age   time.Duration // since its key was written or, if that has expired, since then
	Doubt error         // why another node may have written it; nil: it is proven, or Options has no Prover
}

// ErrNoGroup says that no node has ever joined the group.
var ErrNoGroup = errors.New("there is no such group: no node has joined it yet")

// Read returns the nodes that have keys, and those with keys that have expired within the last Options.TTL, by name. Of
// the latter only the name is known. Read makes no bucket: without one the error is ErrNoGroup.
func Read(ctx context.Context, o Options) (all []Seen, err error) {
	o, err = o.withDefaults()
	if err != nil {
		return nil, err
	}
	name, _ := o.bucket()
	b := bucket.New(o.Conn, name, o.attempt())
	began := time.Now()
	js, err := jetstream.New(o.Conn)
	if err != nil {
		return nil, err
	}
	kv, err := js.KeyValue(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, fmt.Errorf("nodes: group %q: %w", o.Group, ErrNoGroup)
	}
	if err != nil {
		return nil, b.Unavailable(ctx, "nodes: read", began, err)
	}
	now, err := b.Now(ctx)
	if err != nil {
		return nil, b.Unavailable(ctx, "nodes: read", began, err)
	}
	w, err := kv.Watch(ctx, keyPrefix+"*")
	if err != nil {
		return nil, b.Unavailable(ctx, "nodes: read", began, err)
	}
	defer func() { _ = w.Stop() }()
	for {
		select {
		case u := <-w.Updates():
			if u == nil { // all stored values have come
				slices.SortFunc(all, func(a, b Seen) int { return strings.Compare(a.Name, b.Name) })
				return all, nil
			}
			if s, ok := seen(u, now, o); ok {
				all = append(all, s)
			}
		case <-ctx.Done():
			return nil, b.Unavailable(ctx, "nodes: read", began, context.Cause(ctx))
		}
	}
}

// seen reads a key. It reports false for that of a node that has left.
func seen(u jetstream.KeyValueEntry, now time.Time, o Options) (Seen, bool) {
	s := Seen{Node: Node{Name: strings.TrimPrefix(u.Key(), keyPrefix)}, State: Silent, Age: max(now.Sub(u.Created()), 0)}
	switch u.Operation() {
	case jetstream.KeyValueDelete:
		return s, false
	case jetstream.KeyValuePurge:
		return s, true
	}
	v, err := decode(u.Key(), u.Value())
	if err != nil {
		s.State = Unknown
		return s, true
	}
	if s.Node = v.Node; s.Age < 2*o.Every {
		s.State = Live
	}
	if o.Prover != nil {
		s.Doubt = o.Prover.Check(o.subject(v.Name), v.Name, v.Key, v.Proof)
	}
	return s, true
}
