package sim

import (
	"time"

	"ptyctl/cluster/lease/rules"
)

// noResponders is the status of a request that no leader takes.
const noResponders = 503

// A request is a request of a node to the bucket.
type request struct {
	key    string
	read   bool
	expect uint64 // the revision that the key must have
	id     string // of the lease; empty: the key is deleted
	token  uint64
}

// An answer is the answer of a leader to a request.
type answer struct {
	code     int // 0: done
	revision uint64
	record   record // that was read
}

// serve takes a request of a node that has reached this server, and passes it on to the leader. A leader that was
// replaced and does not know it yet takes the request, too.
func (s *server) serve(q request, reply func(answer)) {
	found := false
	for _, o := range s.w.servers {
		if !o.dead && o.side == s.side && o.leads && o.ready {
			found = true
			s.w.send(s.machine, o.machine, func() {
				// Requests wait for each other.
				o.busy = max(o.busy, s.w.now) + s.w.c.Service
				o.after(o.busy-s.w.now, func() { o.carryOut(q, func(a answer) { s.w.send(o.machine, s.machine, func() { reply(a) }) }) })
			})
		}
	}
	if !found {
		reply(answer{code: noResponders})
	}
}

// carryOut carries out a request at the leader.
func (s *server) carryOut(q request, reply func(answer)) {
	if !s.leads || !s.ready {
		return
	}
	r := s.bucket.records[q.key]
	if q.read {
		a := answer{}
		if r != nil {
			a.record = *r
		}
		reply(a)
		return
	}
	var revision uint64
	if r != nil {
		revision = r.revision
	}
	switch {
	case s.flying[q.key] > 0:
		reply(answer{code: rules.WriteUnderWay})
	case revision != q.expect:
		reply(answer{code: rules.WrongRevision})
	default:
		s.propose(&entry{
			kind: write, key: q.key, record: record{id: q.id, token: q.token, stamp: s.realtime()},
			done: func(revision uint64) { reply(answer{revision: revision}) },
		})
	}
}

// expire writes a marker for each key that is too old by the leader's wall clock, and removes old markers. It looks from
// the oldest write on, and stops at the first that is young: stamps may be out of order after a jump of a clock.
func (s *server) expire() {
	if !s.ready {
		return
	}
	s.bucket.oldest(func(key string, r *record) bool {
		if s.realtime()-r.stamp < s.w.c.TTL {
			return false
		}
		if at, ok := s.marked[r.revision]; ok && s.w.now-at < 2*time.Second {
			return true
		}
		s.marked[r.revision] = s.w.now
		if r.id == "" {
			s.propose(&entry{kind: remove, key: key, record: record{revision: r.revision}})
		} else {
			s.propose(&entry{kind: write, key: key, record: record{expired: true, stamp: s.realtime()}})
		}
		return true
	})
}
