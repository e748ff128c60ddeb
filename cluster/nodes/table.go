package nodes

import (
	"bytes"
	"cmp"
	"slices"
	"time"
)

// A State says whether a node can be expected to answer.
type State string

// The states of a node.
const (
	Live    State = "live"
	Silent  State = "silent"  // it was there, and was not heard of for Options.TTL
	Unknown State = "unknown" // it has never been heard of, or has left, or has been silent for very long
)

// A Status is a node as the registry knows it.
type Status struct {
	Node
	State State
	Heard time.Time // when it was heard of last, with a reading of this process's monotonic clock
}

// How long the table keeps nodes that are silent, and how many.
const (
	remember  = time.Hour
	maxSilent = 1024
)

// An entry is a node of a table.
type entry struct {
	node     Node // its maps and slices are never changed, so copies may share them
	hash     uint64
	revision uint64
	heard    time.Time
	silent   bool
	fresh    bool // the watch that runs now has reported it
	placed   int  // sessions placed there since it was heard of
}

// A table has the nodes in the order of their names. It knows neither NATS nor the time: callers report each event and
// its time on the monotonic clock.
type table struct {
	ttl time.Duration
	all []*entry
}

func (t *table) find(name string) (int, bool) {
	return slices.BinarySearchFunc(t.all, name, func(e *entry, name string) int { return cmp.Compare(e.node.Name, name) })
}

// knows reports whether a node is there with the same key and the same proof of its name.
func (t *table) knows(n Node) bool {
	i, ok := t.find(n.Name)
	if !ok || n.Proof == nil {
		return false
	}
	known := t.all[i].node
	return bytes.Equal(known.Key, n.Key) && known.Proof != nil && known.Proof.User == n.Proof.User &&
		bytes.Equal(known.Proof.Signature, n.Proof.Signature)
}

// heard takes a write of a node's key, and reports whether more has changed than its load.
func (t *table) heard(n Node, revision uint64, now time.Time) (changed bool) {
	i, ok := t.find(n.Name)
	if !ok {
		t.all = slices.Insert(t.all, i, &entry{node: n, hash: hashOf(n.Name), revision: revision, heard: now, fresh: true})
		return true
	}
	e := t.all[i]
	e.fresh = true
	// The same write again, from another watch, is no sign of life. A lower revision is an older write, or one of a
	// bucket that was made again: without a call of restart the node becomes silent, and then the write counts.
	if revision == e.revision || revision < e.revision && !e.silent {
		return false
	}
	changed = e.silent || e.node.Draining != n.Draining || !e.node.Started.Equal(n.Started) || e.node.Version != n.Version ||
		!bytes.Equal(e.node.Key, n.Key)
	e.node, e.revision, e.heard, e.silent, e.placed = n, revision, now, false, 0
	return changed
}

// expired takes the report of the servers that a node's key has expired.
func (t *table) expired(name string, revision uint64) (changed bool) {
	i, ok := t.find(name)
	if !ok || revision < t.all[i].revision || t.all[i].silent {
		return false
	}
	t.all[i].silent = true
	return true
}

// left removes a node that has said that it goes.
func (t *table) left(name string, revision uint64) (changed bool) {
	i, ok := t.find(name)
	if !ok || revision < t.all[i].revision {
		return false
	}
	t.all = slices.Delete(t.all, i, i+1)
	return true
}

// restart takes the report that the bucket was made again, so that its revisions begin with 1.
func (t *table) restart() {
	for _, e := range t.all {
		e.revision = 0
	}
}

// begin begins a watch: until complete, it reports each node that has a key.
func (t *table) begin() {
	for _, e := range t.all {
		e.fresh = false
	}
}

// complete takes the report that a watch has given all keys: the other nodes' keys have expired while no watch ran.
func (t *table) complete() (changed bool) {
	for _, e := range t.all {
		if !e.fresh && !e.silent {
			e.silent, changed = true, true
		}
	}
	return changed
}

// pass takes the current time. It makes nodes silent and forgets old ones, and returns when it has to be called again;
// zero: only after the next report.
func (t *table) pass(now time.Time) (changed bool, next time.Time) {
	var silent []*entry
	for _, e := range t.all {
		if !e.silent && now.Sub(e.heard) >= t.ttl {
			e.silent, changed = true, true
		}
		until := e.heard.Add(t.ttl)
		if e.silent {
			silent, until = append(silent, e), e.heard.Add(max(remember, t.ttl))
		}
		if now.Before(until) && (next.IsZero() || until.Before(next)) {
			next = until
		}
	}
	slices.SortFunc(silent, func(a, b *entry) int { return b.heard.Compare(a.heard) })
	for i, e := range silent {
		if i >= maxSilent || now.Sub(e.heard) >= max(remember, t.ttl) {
			at, _ := t.find(e.node.Name)
			t.all, changed = slices.Delete(t.all, at, at+1), true
		}
	}
	return changed, next
}

// live reports whether e is live at a time: the goroutine that calls pass may be late.
func (t *table) live(e *entry, now time.Time) bool { return !e.silent && now.Sub(e.heard) < t.ttl }

func (t *table) status(e *entry, now time.Time) Status {
	s := Status{Node: e.node, State: Silent, Heard: e.heard}
	if t.live(e, now) {
		s.State = Live
	}
	return s
}

// lookup returns a node.
func (t *table) lookup(name string, now time.Time) Status {
	if i, ok := t.find(name); ok {
		return t.status(t.all[i], now)
	}
	return Status{Node: Node{Name: name}, State: Unknown}
}

// list returns all nodes that are live or silent.
func (t *table) list(now time.Time) []Status {
	all := make([]Status, 0, len(t.all))
	for _, e := range t.all {
		all = append(all, t.status(e, now))
	}
	return all
}
