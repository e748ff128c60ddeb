package sim

import (
	"cmp"
	"math/rand/v2"
	"time"

	"ptyctl/cluster/lease/rules"
)

// A Storm is many leases at one leader, which does one request after the other. It shows whether the leases survive if
// all of them need the leader at the same time. The rules are those of leases; Raft is left out, and each message takes
// a millisecond.
type Storm struct {
	Seed   uint64
	Leases int
	TTL    time.Duration // 0: 30 s
	Margin time.Duration // 0: TTL/6
	Write  time.Duration // that the leader takes for a write
	Read   time.Duration // that it takes for a read; 0: as for a write
	Gap    time.Duration // for which there is no leader
	Spread int           // a renewal is sent up to a tenth (10) of its period earlier than it must be; 0: never
	Silent bool          // no answers in the gap: the leader has stopped, and still counts as the leader

	// At the end of the gap this many calls of Acquire begin, within Over. Each node has At of them under way at a time;
	// 0: all at once.
	Acquires int
	Nodes    int // that share them
	At       int
	Over     time.Duration
}

// A StormResult is the outcome of a storm.
type StormResult struct {
	Lost      int           // leases that were not renewed in time
	Work      time.Duration // the most work that the leader had before it, at any time
	After     time.Duration // the same, in the last of the four periods of TTL that follow the gap
	Requests  int           // that the leader has answered
	Refused   int           // of these, with 503, while there was no leader
	Most      int           // requests in a second
	Acquired  int
	Failed    int           // calls of Acquire that were not done in their 10 s
	Orphans   int           // of these, those with a device that stays taken until its key expires
	Last      time.Duration // from the end of the gap until the last device was acquired
	Overtaken int           // renewals that were refused, because an earlier one of the lease had no answer yet
}

// flight is how long a message takes.
const flight = time.Millisecond

type storm struct {
	Storm
	*world
	from, to time.Duration // the gap
	busy     time.Duration // until then the leader works
	second   time.Duration
	inSecond int
	stormed  StormResult
}

// Run lets the storm pass.
func (c Storm) Run() StormResult {
	c.TTL = cmp.Or(c.TTL, 30*time.Second)
	c.Margin = cmp.Or(c.Margin, c.TTL/6)
	c.Read = cmp.Or(c.Read, c.Write)
	s := &storm{Storm: c, from: c.TTL, to: c.TTL + c.Gap, world: &world{
		c: Config{TTL: c.TTL, Margin: c.Margin}, random: rand.New(rand.NewPCG(c.Seed, 28)), result: &Result{},
	}}
	for range c.Leases {
		l := &stormLease{s: s, key: 1, until: c.TTL - c.Margin}
		l.Revision = 1
		l.schedule(s.between(0, s.times().Every()))
	}
	for n := range max(c.Nodes, 1) {
		s.at(s.to, func() { s.crowd(c.Acquires/max(c.Nodes, 1) + btoi(n < c.Acquires%max(c.Nodes, 1))) })
	}
	s.run(s.to + 4*c.TTL)
	return s.stormed
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// serve takes a request. do is called when the leader carries it out, and then reply when its node has the answer; without
// a leader only reply is called, with refused.
func (s *storm) serve(service time.Duration, do func(), reply func(refused bool)) {
	s.at(s.now+flight, func() {
		if s.now-s.second >= time.Second {
			s.second, s.inSecond = s.now, 0
		}
		s.inSecond++
		s.stormed.Most = max(s.stormed.Most, s.inSecond)
		if s.from <= s.now && s.now < s.to {
			if !s.Silent {
				s.stormed.Refused++
				s.at(s.now+flight, func() { reply(true) })
			}
			return
		}
		s.busy = max(s.busy, s.now) + service
		work := s.busy - s.now
		s.stormed.Work = max(s.stormed.Work, work)
		if s.now > s.to+3*s.TTL {
			s.stormed.After = max(s.stormed.After, work)
		}
		s.at(s.busy, func() {
			s.stormed.Requests++
			do()
			s.at(s.now+flight, func() { reply(false) })
		})
	})
}

// A stormLease is a lease and its key at the leader.
type stormLease struct {
	rules.Lease[time.Time]
	s     *storm
	key   uint64 // the revision at the leader
	until time.Duration
	due   time.Duration
	timer int
	over  bool
}

func (l *stormLease) schedule(due time.Duration) {
	l.due = due
	l.timer++
	timer := l.timer
	l.s.at(due, func() {
		if l.timer == timer && !l.over {
			l.attempt()
		}
	})
}

// attempt is held.attempt.
func (l *stormLease) attempt() {
	s := l.s
	if s.now >= l.until {
		l.over = true
		s.stormed.Lost++
		return
	}
	every := s.times().Every()
	if s.Spread > 0 {
		every -= s.between(0, every/time.Duration(s.Spread))
	}
	l.schedule(s.now + every)
	if l.Attempt(stamp(s.now)) {
		l.read()
		return
	}
	number, expect, revision := l.Number, l.Revision, uint64(0)
	s.serve(s.Write, func() {
		if l.key == expect {
			l.key++
			revision = l.key
		}
	}, func(refused bool) {
		switch {
		case l.over:
		case refused:
			l.retry()
		case revision == 0:
			s.stormed.Overtaken++
			l.Refuse(rules.WrongRevision)
			l.read()
		default:
			sent, ok := l.Confirmed(number, revision)
			if until := since(s.times().Until(sent)); ok && s.now < l.until {
				l.until = max(l.until, until)
			}
		}
	})
}

func (l *stormLease) retry() {
	l.schedule(since(l.s.times().Retry(stamp(l.s.now), stamp(l.due))))
}

func (l *stormLease) read() {
	revision := uint64(0)
	l.s.serve(l.s.Storm.Read, func() { revision = l.key }, func(refused bool) {
		switch {
		case l.over || !l.Reading:
		case refused:
			l.retry()
		default:
			l.Lease.Read(rules.Key{Held: true, Mine: true, Revision: revision})
			l.schedule(l.s.now + l.s.times().Settle())
		}
	})
}

// crowd begins the calls of Acquire of a node.
func (s *storm) crowd(n int) {
	var next func()
	begun := 0
	next = func() {
		if begun < n {
			begun++
			s.acquire(next)
		}
	}
	for i := range n {
		if s.At != 0 && i >= s.At {
			break
		}
		s.at(s.now+s.between(0, s.Over), next)
	}
}

// acquire is node.acquire. No other node wants the device.
func (s *storm) acquire(done func()) {
	var l rules.Lease[time.Time]
	var key uint64
	end, attempts := s.now+timeout-spare, 0
	var try func()
	again := func() {
		pause := rules.Pause(attempts)
		attempts++
		if pause = s.between(pause/2, pause); s.now+pause >= end {
			s.stormed.Failed++
			if key != 0 {
				s.stormed.Orphans++
			}
			done()
			return
		}
		s.at(s.now+pause, try)
	}
	// call makes a request, and waits for its answer no longer than the rules say.
	call := func(service time.Duration, do func(), answered func(ok bool)) {
		over := false
		once := func(ok bool) {
			if !over {
				over = true
				answered(ok)
			}
		}
		s.serve(service, do, func(refused bool) { once(!refused) })
		s.at(s.now+max(min(s.times().Answer(), end-s.now), 0), func() { once(false) })
	}
	try = func() {
		expect, revision := l.Revision, uint64(0)
		call(s.Write, func() {
			if key == expect {
				key++
				revision = key
			}
		}, func(ok bool) {
			if ok && revision != 0 {
				s.stormed.Acquired++
				s.stormed.Last = s.now - s.to
				done()
				return
			}
			read := uint64(0)
			call(s.Storm.Read, func() { read = key }, func(ok bool) {
				if ok {
					l.Claim(rules.Key{Held: read != 0, Mine: read != 0, Revision: read, Token: min(read, 1)})
				}
				again()
			})
		})
	}
	try()
}
