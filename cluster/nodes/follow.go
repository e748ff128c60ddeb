package nodes

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/cluster/internal/bucket"
)

// follow watches the keys until the registry is closed, and begins again when a watch has ended or reports nothing.
func (r *Registry) follow() {
	for attempts := 0; r.ctx.Err() == nil; attempts++ {
		w, err := r.watch()
		if err == nil {
			if r.observe(w) {
				attempts = 0
			}
			r.work.Go(func() { // Stop sends a message to the servers, which may not answer
				_ = w.Stop()
				for range w.Updates() { // it may be blocked in sending one
				}
			})
		}
		r.pass()
		if r.ctx.Err() == nil && attempts == 0 {
			if err == nil {
				err = errors.New("it has ended, or reports nothing")
			}
			r.o.Logger.Warn("the watch of the nodes begins again", "error", err)
		}
		bucket.Pause(r.ctx, attempts)
	}
}

// watch begins a watch.
func (r *Registry) watch() (jetstream.KeyWatcher, error) {
	ctx, cancel := context.WithCancel(r.ctx)
	late := time.AfterFunc(2*r.o.attempt(), cancel)
	w, err := r.kv.Watch(ctx, keyPrefix+"*")
	if late.Stop() {
		if err != nil {
			cancel()
			return nil, err
		}
		return &canceled{KeyWatcher: w, cancel: cancel}, nil
	}
	if err == nil {
		_ = w.Stop()
		for range w.Updates() {
		}
		err = context.DeadlineExceeded
	}
	return nil, err
}

// A canceled is a watch that cancels its context when it is stopped.
type canceled struct {
	jetstream.KeyWatcher
	cancel context.CancelFunc
}

// Stop ends the watch.
func (c *canceled) Stop() error {
	defer c.cancel()
	return c.KeyWatcher.Stop()
}

// observe takes the reports of a watch, until it ends, does not report a write of this node, or reports nothing for two
// periods: each node writes in each.
func (r *Registry) observe(w jetstream.KeyWatcher) (heard bool) {
	r.change(func(t *table) bool { t.begin(); return false })
	quiet := time.NewTimer(2 * r.o.Every)
	defer quiet.Stop()
	late := time.NewTimer(r.o.attempt())
	defer late.Stop()
	own, seen := keyPrefix+r.name(), uint64(0) // the last write of this node that it has reported
	passing, set := time.NewTimer(0), true     // a node that is heard of stays live longer: a set timer is never late
	defer passing.Stop()
	for {
		select {
		case u, ok := <-w.Updates():
			switch {
			case !ok:
				return heard
			case u == nil:
				r.change((*table).complete)
				select {
				case <-r.ready:
				default:
					close(r.ready)
				}
			default:
				r.report(u)
				heard = true
				if u.Key() == own {
					seen = u.Revision()
				}
			}
			quiet.Reset(2 * r.o.Every)
			if !set {
				passing.Reset(0)
				set = true
			}
			continue
		case <-quiet.C:
			return heard
		case <-r.wrote:
			late.Reset(r.o.attempt())
			continue
		case <-late.C:
			if r.written() > seen {
				return heard
			}
			continue
		case <-passing.C:
		case <-r.ctx.Done():
			return heard
		}
		next := r.pass()
		if set = !next.IsZero(); set {
			passing.Reset(time.Until(next))
		}
	}
}

// written returns the revision of the last confirmed write of this node; 0: none yet.
func (r *Registry) written() uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.member == nil {
		return 0
	}
	return r.member.highest
}

// pass lets the table take the time.
func (r *Registry) pass() (next time.Time) {
	r.change(func(t *table) (changed bool) {
		changed, next = t.pass(time.Now())
		return changed
	})
	return next
}

// report takes a report of the watch.
func (r *Registry) report(u jetstream.KeyValueEntry) {
	name := strings.TrimPrefix(u.Key(), keyPrefix)
	r.change(func(t *table) bool {
		switch u.Operation() {
		case jetstream.KeyValueDelete:
			return t.left(name, u.Revision())
		case jetstream.KeyValuePurge:
			return t.expired(name, u.Revision())
		}
		v, err := decode(u.Key(), u.Value())
		if err == nil && r.o.Prover != nil && !t.knows(v.Node) {
			err = r.o.Prover.Check(r.o.subject(name), name, v.Key, v.Proof)
		}
		if err != nil {
			r.o.Logger.Warn("the registry has a node that cannot be read", "key", u.Key(), "error", err)
			return false
		}
		return t.heard(v.Node, u.Revision(), time.Now())
	})
}
