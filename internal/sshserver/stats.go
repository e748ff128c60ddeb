package sshserver

import (
	"maps"
	"slices"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Stats has the counts of a Server so far.
type Stats struct {
	Accepted      int // connections so far
	Authenticated int // connections with a successful login
	Open          int // present connections

	Attempts      map[Attempt]int // answered authentication requests
	PasswordsSeen int             // passwords sent with method "password"
	KeysOffered   []string        // public keys offered, in order, as SHA256 fingerprints

	SessionsOpened int // session channels so far
	SessionsOpen   int // present session channels, including those with a process that outlives its channel
	Forwards       int // present direct-tcpip channels
	Processes      int // present local processes

	StdinBytes int64 // bytes read from clients by handlers and processes
}

// Attempt is a kind of authentication request.
type Attempt struct{ User, Method string }

// counters is the Stats of a running server.
type counters struct {
	mu sync.Mutex // guards now
	// now.Open is unused, because Server.conns has that number.
	now Stats
}

// init prepares the map.
func (c *counters) init() { c.now.Attempts = make(map[Attempt]int) }

// add changes the statistics in one step.
func (c *counters) add(change func(*Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.now)
}

// accepted counts a connection.
func (c *counters) accepted() { c.add(func(n *Stats) { n.Accepted++ }) }

// attempt counts an authentication request.
func (c *counters) attempt(user, method string) {
	c.add(func(n *Stats) { n.Attempts[Attempt{user, method}]++ })
}

// keyOffered records a public key.
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
