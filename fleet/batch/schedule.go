package batch

import (
	"cmp"
	"fmt"
)

// A Count is a number of hosts, or a part of all. The zero Count is no host.
type Count struct {
	N       int
	Percent int // of all hosts, in place of N; 1 to 100
}

// Size returns the number of hosts in a batch out of n: a percentage is rounded down, but is at least one host.
func (c Count) Size(n int) int {
	if c.Percent > 0 {
		return max(n*c.Percent/100, 1)
	}
	return c.N
}

// Limit returns the number of failures out of n hosts that stop the rest: a percentage is rounded up.
func (c Count) Limit(n int) int {
	if c.Percent > 0 {
		return max((n*c.Percent+99)/100, 1)
	}
	return c.N
}

// Rules say in which order hosts begin. The zero Rules begin all hosts, 16 at a time, whatever fails.
type Rules struct {
	Canary         int   // the first hosts, as a batch of their own; if one of them fails, no other host begins
	Size           Count // of a batch after the canaries; the next begins when all hosts of the last have ended. 0: all
	StopOnFailures Count // from this many failures on no host begins; 0: any number is tolerated, but not of canaries
	MaxParallel    int   // hosts at a time; 0: 16
	MaxPerGate     int   // hosts at a time behind one gate; 0: 8
}

// The defaults of Rules.
const (
	DefaultParallel = 16
	DefaultPerGate  = 8
)

// A state is the progress of a host.
type state uint8

const (
	waiting state = iota
	running
	ended
)

// A Schedule is one run over hosts, which are numbered from 0. Its methods must not be called concurrently.
type Schedule struct {
	rules   Rules
	gates   []string // of each host; empty: none
	states  []state
	behind  map[string]int // running hosts, by gate
	first   int            // the current batch begins here
	end     int            // and ends before this host
	left    int            // hosts of the current batch that have not ended
	running int
	failed  int
	stopped string
}

// New returns the Schedule of as many hosts as there are gates. A gate is the jump host in front of many of them;
// empty: no jump host.
func New(r Rules, gates []string) *Schedule {
	r.MaxParallel = cmp.Or(r.MaxParallel, DefaultParallel)
	r.MaxPerGate = cmp.Or(r.MaxPerGate, DefaultPerGate)
	s := &Schedule{rules: r, gates: gates, states: make([]state, len(gates)), behind: make(map[string]int)}
	size := r.Canary
	if size <= 0 {
		size = s.size()
	}
	s.batch(0, size)
	return s
}

// size returns the number of hosts of a batch after the canaries.
func (s *Schedule) size() int {
	if n := s.rules.Size.Size(len(s.gates)); n > 0 {
		return n
	}
	return len(s.gates)
}

// batch makes the hosts from first on the current batch.
func (s *Schedule) batch(first, size int) {
	s.first, s.end = first, min(first+size, len(s.gates))
	s.left = s.end - s.first
}

// Next begins a host, and returns its number. ok is false if none may begin before another has ended, or none at all.
func (s *Schedule) Next() (i int, ok bool) {
	if s.stopped != "" || s.running >= s.rules.MaxParallel {
		return 0, false
	}
	for i := s.first; i < s.end; i++ {
		gate := s.gates[i]
		if s.states[i] != waiting || gate != "" && s.behind[gate] >= s.rules.MaxPerGate {
			continue
		}
		s.states[i] = running
		s.running++
		s.behind[gate]++
		return i, true
	}
	return 0, false
}

// Done ends a host that Next has returned. It panics for another one: its result would count for a host that has not run.
func (s *Schedule) Done(i int, failed bool) {
	if s.states[i] != running {
		panic(fmt.Sprintf("batch: host %d ends and does not run", i))
	}
	s.states[i] = ended
	s.running--
	s.behind[s.gates[i]]--
	s.left--
	if failed {
		s.failed++
		s.judge(i)
	}
	if s.left == 0 && s.end < len(s.gates) {
		s.batch(s.end, s.size())
	}
}

// judge stops the run if the failure of host i is one too many.
func (s *Schedule) judge(i int) {
	limit := s.rules.StopOnFailures.Limit(len(s.gates))
	switch {
	case s.stopped != "":
	case i < s.rules.Canary:
		s.Stop("a canary failed")
	case limit > 0 && s.failed >= limit:
		s.Stop(fmt.Sprintf("%d failed, of the %d that stop it", s.failed, limit))
	}
}

// Stop lets no other host begin. why is the text of Stopped, unless the run was stopped before.
func (s *Schedule) Stop(why string) {
	if s.stopped == "" {
		s.stopped = why
	}
}

// Stopped returns why no other host begins, or "".
func (s *Schedule) Stopped() string { return s.stopped }

// Running returns the number of hosts that run.
func (s *Schedule) Running() int { return s.running }

// Over reports whether no host runs, and none will.
func (s *Schedule) Over() bool { return s.running == 0 && (s.stopped != "" || s.left == 0) }
