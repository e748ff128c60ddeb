package sim

import "time"

// A record is the last write of a key.
type record struct {
	id       string // of the lease; empty: the key was deleted or has expired
	token    uint64 // that the value names
	expired  bool   // it is the marker of an expired key
	revision uint64
	stamp    time.Duration // wall clock of the server that led when it was written
}

// An entry is a line of the servers' common log.
type entry struct {
	term   int
	kind   entryKind
	key    string
	record record
	done   func(revision uint64) // at the leader that has made it
}

type entryKind int

const (
	nothing entryKind = iota // begins the term of a leader
	write
	remove // of a marker, with its revision
)

// A bucket is the state of a server's bucket after the entries that it has applied. It is the same on all servers after
// the same entry.
type bucket struct {
	last    uint64
	records map[string]*record
}

// apply applies an entry.
func (b *bucket) apply(e *entry) (revision uint64) {
	switch e.kind {
	case write:
		b.last++
		r := e.record
		if r.revision = b.last; r.token == 0 {
			r.token = b.last
		}
		b.records[e.key] = &r
		return b.last
	case remove:
		if r := b.records[e.key]; r != nil && r.revision == e.record.revision {
			delete(b.records, e.key)
		}
	}
	return 0
}

// oldest calls f with the records from the oldest write on, until it reports false.
func (b *bucket) oldest(f func(key string, r *record) bool) {
	type item struct {
		key string
		r   *record
	}
	var all []item
	for k, r := range b.records {
		all = append(all, item{k, r})
	}
	for i := range all { // there are few; the order of a map differs from run to run
		for j := i; j > 0 && all[j].r.revision < all[j-1].r.revision; j-- {
			all[j], all[j-1] = all[j-1], all[j]
		}
	}
	for _, i := range all {
		if !f(i.key, i.r) {
			return
		}
	}
}
