package sshserver

import (
	"maps"
	"slices"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Stats is what a Server has seen so far.
type Stats struct {
	Accepted      int // connections ever
	Authenticated int // of them logged in
	Open          int // connections now

	Attempts      map[Attempt]int // authentication requests that were answered
	PasswordsSeen int             // passwords that clients have sent with method "password"
	KeysOffered   []string        // public keys offered, in order, as SHA256 fingerprints

	SessionsOpened int // session channels ever
	SessionsOpen   int // session channels now, those included whose process outlives its channel
	Forwards       int // direct-tcpip channels now
	Processes      int // local processes now

	StdinBytes int64 // bytes that handlers and processes have read from their clients
}

// Attempt names a kind of authentication request.
type Attempt struct{ User, Method string }

// counters are the Stats under way.
type counters struct {
	mu sync.Mutex // guards now
	// now has no meaning in Open, which Server.conns knows better.
	now Stats
}

func (c *counters) init() { c.now.Attempts = make(map[Attempt]int) }

// add changes the statistics in one step.
func (c *counters) add(change func(*Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.now)
}

func (c *counters) accepted() { c.add(func(n *Stats) { n.Accepted++ }) }

func (c *counters) attempt(user, method string) {
	c.add(func(n *Stats) { n.Attempts[Attempt{user, method}]++ })
}

func (c *counters) keyOffered(key ssh.PublicKey) {
	c.add(func(n *Stats) { n.KeysOffered = append(n.KeysOffered, ssh.FingerprintSHA256(key)) })
}

// Stats returns a copy of the statistics.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	open := len(s.conns)
	s.mu.Unlock()

	s.stats.mu.Lock()
	defer s.stats.mu.Unlock()
	n := s.stats.now
	n.Open = open
	n.Attempts = maps.Clone(n.Attempts)
	n.KeysOffered = slices.Clone(n.KeysOffered)
	return n
}
