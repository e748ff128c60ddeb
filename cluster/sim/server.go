package sim

import (
	"slices"
	"time"
)

// The timers of nats-server 2.15 (server/raft.go).
const (
	heartbeat    = time.Second
	shortestVote = 4 * time.Second
	longestVote  = 9 * time.Second
	lostMajority = 10 * time.Second
)

// A server is a server of NATS that has a replica of the bucket.
type server struct {
	*machine
	place int // in world.servers

	term, voted int // voted: 1 + place
	log         []*entry
	committed   int
	applied     int
	bucket      bucket

	leads   bool
	ready   bool // all of the log before its term is applied
	votes   int
	timer   int // counts, so that only the last one rings
	matched []int
	heard   []time.Duration
	told    time.Duration            // when the others were sent the log
	flying  map[string]int           // writes that are not applied yet
	marked  map[uint64]time.Duration // when the marker of a revision was written
	busy    time.Duration            // until then it works on earlier requests
}

func newServer(w *world, place int, name string) *server {
	s := &server{machine: newMachine(w, name), place: place, bucket: bucket{records: make(map[string]*record)}}
	s.start()
	return s
}

// start begins a life. The log and the vote are on the disk.
func (s *server) start() {
	s.dead, s.leads, s.ready, s.busy = false, false, false, 0
	s.await()
}

// await waits for a sign of a leader.
func (s *server) await() {
	s.timer++
	timer := s.timer
	s.after(s.w.between(shortestVote, longestVote), func() {
		if s.timer == timer && !s.leads {
			s.campaign()
		}
	})
}

func (s *server) lastTerm() int {
	if len(s.log) == 0 {
		return 0
	}
	return s.log[len(s.log)-1].term
}

// follow takes over a later term.
func (s *server) follow(term int) {
	if term > s.term {
		s.term, s.voted = term, 0
	}
	s.leads, s.ready, s.votes = false, false, 0
}

// campaign asks all for their votes.
func (s *server) campaign() {
	s.follow(s.term + 1)
	s.voted, s.votes = 1+s.place, 1
	s.await()
	term, length, last := s.term, len(s.log), s.lastTerm()
	for _, o := range s.w.servers {
		if o == s {
			continue
		}
		s.w.send(s.machine, o.machine, func() {
			if term > o.term {
				o.follow(term)
			}
			upToDate := last > o.lastTerm() || last == o.lastTerm() && length >= len(o.log)
			if term < o.term || !upToDate || o.voted != 0 && o.voted != 1+s.place {
				return
			}
			o.voted = 1 + s.place
			o.await()
			s.w.send(o.machine, s.machine, func() {
				if s.term == term && s.votes > 0 && !s.leads {
					s.votes++
					s.win()
				}
			})
		})
	}
	s.win()
}

// win makes a candidate with most votes the leader.
func (s *server) win() {
	if s.votes <= len(s.w.servers)/2 {
		return
	}
	s.leads, s.ready, s.votes = true, false, 0
	s.matched, s.heard = make([]int, len(s.w.servers)), make([]time.Duration, len(s.w.servers))
	for i := range s.heard {
		s.heard[i] = s.monotonic()
	}
	s.flying, s.marked = make(map[string]int), make(map[uint64]time.Duration)
	s.propose(&entry{kind: nothing})
	term := s.term
	s.every(heartbeat, term, func() {
		if s.w.now-s.told >= heartbeat {
			s.replicate()
		}
	})
	s.every(lostMajority, term, s.doubt)
	s.every(250*time.Millisecond, term, s.expire)
}

// every calls do again and again while the server leads.
func (s *server) every(d time.Duration, term int, do func()) {
	s.after(d, func() {
		if s.leads && s.term == term {
			do()
			s.every(d, term, do)
		}
	})
}

// doubt ends the lead of a leader that hears no majority.
func (s *server) doubt() {
	here := 1
	for i, at := range s.heard {
		if i != s.place && s.monotonic()-at < lostMajority {
			here++
		}
	}
	if here <= len(s.w.servers)/2 {
		s.follow(s.term)
		s.await()
	}
}

// propose adds an entry to the log and tells the others.
func (s *server) propose(e *entry) {
	e.term = s.term
	s.log = append(slices.Clip(s.log), e)
	if e.kind == write {
		s.flying[e.key]++
	}
	s.matched[s.place] = len(s.log)
	s.commit()
	s.replicate()
}

// replicate sends the log to the others. The real servers send the end of it, and find out together where that begins.
func (s *server) replicate() {
	s.told = s.w.now
	term, log, committed := s.term, s.log, s.committed
	for _, o := range s.w.servers {
		if o == s {
			continue
		}
		s.w.send(s.machine, o.machine, func() {
			if term < o.term {
				later := o.term
				s.w.send(o.machine, s.machine, func() {
					if later > s.term {
						s.follow(later)
						s.await()
					}
				})
				return
			}
			o.follow(term)
			o.await()
			// The same term at the same place means the same log before it.
			if n := len(log); n > len(o.log) || n > 0 && o.log[n-1].term != log[n-1].term {
				o.log = log
			}
			o.committed = max(o.committed, min(committed, len(log)))
			o.apply()
			s.w.send(o.machine, s.machine, func() {
				if s.leads && s.term == term {
					s.heard[o.place] = s.monotonic()
					s.matched[o.place] = max(s.matched[o.place], len(log))
					s.commit()
				}
			})
		})
	}
}

// commit commits the entries that a majority has.
func (s *server) commit() {
	all := slices.Clone(s.matched)
	slices.Sort(all)
	n := all[(len(all)-1)/2]
	if n > s.committed && s.log[n-1].term == s.term {
		s.committed = n
		s.apply()
	}
}

// apply applies the committed entries, and answers the requests that wait for them.
func (s *server) apply() {
	for ; s.applied < s.committed; s.applied++ {
		e := s.log[s.applied]
		revision := s.bucket.apply(e)
		if !s.leads || e.term != s.term {
			continue
		}
		switch {
		case e.kind == nothing:
			s.ready = true
		case e.kind == write:
			if s.flying[e.key]--; s.flying[e.key] == 0 {
				delete(s.flying, e.key)
			}
		}
		if e.done != nil {
			e.done(revision)
		}
	}
}
