package nodes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/cluster/internal/bucket"
)

// A Registry is the view of one process on the nodes of its group, and its own entry among them. Make it with Join or
// Observe. All methods may be called at the same time.
type Registry struct {
	o      Options
	bucket *bucket.Bucket
	kv     jetstream.KeyValue
	ctx    context.Context // ends with Leave
	stop   context.CancelFunc
	work   sync.WaitGroup

	ready chan struct{} // closed once all keys were read
	wake  chan struct{} // has room for one: this node's key has to be written now
	wrote chan struct{} // has room for one: this node's key was written, so the watch has to report it

	mu      sync.RWMutex // guards the following
	table   table
	changed chan struct{} // closed and replaced at each change
	member  *member       // nil: an observer
}

// Join makes self a node of the group, and follows the others. It makes the bucket unless it is there. ctx limits only
// the joining. If another process has the name, the error is a *NameTakenError; if the servers do not answer, it is an
// *UnavailableError.
func Join(ctx context.Context, o Options, self Node) (*Registry, error) {
	self = self.clone()
	if err := self.check(); err != nil {
		return nil, fmt.Errorf("nodes: %w", err)
	}
	m := &member{value: value{ID: rand.Text(), Node: self}}
	if _, err := m.value.encode(); err != nil {
		return nil, fmt.Errorf("nodes: %w", err)
	}
	return start(ctx, o, m)
}

// Observe follows the nodes of a group without being one of them.
func Observe(ctx context.Context, o Options) (*Registry, error) { return start(ctx, o, nil) }

func start(ctx context.Context, o Options, m *member) (*Registry, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	name, config := o.bucket()
	if m != nil && o.Prover != nil {
		self := &m.value.Node
		if self.Proof, err = o.Prover.Make(o.subject(self.Name), self.Name, self.Key); err != nil {
			return nil, fmt.Errorf("nodes: %w", err)
		}
		if _, err := m.value.encode(); err != nil {
			return nil, fmt.Errorf("nodes: %w", err)
		}
	}
	r := &Registry{
		o: o, bucket: bucket.New(o.Conn, name, o.attempt()), ready: make(chan struct{}), wake: make(chan struct{}, 1), wrote: make(chan struct{}, 1),
		table: table{ttl: o.TTL}, changed: make(chan struct{}), member: m,
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	if r.kv, err = r.bucket.Open(ctx, config); err != nil {
		return nil, r.failed(ctx, began, err)
	}
	r.work.Go(r.follow)
	select {
	case <-r.ready:
	case <-ctx.Done():
		r.Close()
		return nil, r.failed(ctx, began, context.Cause(ctx))
	}
	if m != nil {
		if err := r.join(ctx); err != nil {
			r.Close()
			return nil, r.failed(ctx, began, err)
		}
		r.work.Go(r.renewals)
	}
	return r, nil
}

// failed explains why Join has failed.
func (r *Registry) failed(ctx context.Context, began time.Time, err error) error {
	if errors.As(err, new(*NameTakenError)) {
		return err
	}
	if errors.As(err, new(*bucket.MismatchError)) {
		return fmt.Errorf("nodes: %w", err)
	}
	return r.bucket.Unavailable(ctx, "nodes: join", began, err)
}

// Lookup returns a node. The State of an unknown name is Unknown.
func (r *Registry) Lookup(name string) Status {
	r.mu.RLock()
	defer r.mu.RUnlock()
	s := r.table.lookup(name, time.Now())
	s.Node = s.clone()
	return s
}

// All returns the nodes that are live, and those that have become silent within an hour, by name.
func (r *Registry) All() []Status {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := r.table.list(time.Now())
	for i := range all {
		all[i].Node = all[i].clone()
	}
	return all
}

// Changed returns a channel that is closed at the next change: a node has come, has left, has become silent or is heard
// of again, drains, or has started again. A change of load does not count. Ask for the channel first, and then for the
// nodes.
func (r *Registry) Changed() <-chan struct{} {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.changed
}

// Place chooses a live node for a new session. The error is a *PlaceError. The session counts towards the node's load
// here until the node is heard of again, so that many calls at once do not choose the same node.
func (r *Registry) Place(need Need) (Node, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if need.WireMin == 0 && need.WireMax == 0 {
		if r.member == nil {
			return Node{}, errors.New("nodes: an observer must say which protocol numbers it speaks")
		}
		need.WireMin, need.WireMax = r.member.value.WireMin, r.member.value.WireMax
	}
	e, err := r.table.place(need, time.Now())
	if err != nil {
		return Node{}, err
	}
	e.placed++
	return e.node.clone(), nil
}

// change applies a change to the table. The caller must not hold mu.
func (r *Registry) change(f func(*table) (changed bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f(&r.table) {
		close(r.changed)
		r.changed = make(chan struct{})
	}
}

// Leave removes this node, so that the others know at once, and closes the registry. After an error the others count the
// node as silent when the TTL is over.
func (r *Registry) Leave(ctx context.Context) error {
	r.Close()
	if r.member == nil {
		return nil
	}
	return r.remove(ctx)
}

// Close ends all work of the registry, and waits for that. The node's key stays until it expires: use Leave, except for
// an observer. The last known nodes can still be read; they become silent.
func (r *Registry) Close() {
	r.stop()
	r.work.Wait()
}
