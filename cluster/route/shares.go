package route

import (
	"fmt"
	"sync"

	"ptyctl/mcpapi/peers"
	"ptyctl/term"
)

// shares bound what the callers of other nodes have of this one, so that no caller takes it from all others.
type shares struct {
	most, each int

	mu  sync.Mutex // guards the following
	all int
	of  map[peers.Caller]int
}

// newShares returns shares of most, of which one caller may have a quarter.
func newShares(most int) *shares {
	return &shares{most: most, each: (most + 3) / 4, of: make(map[peers.Caller]int)}
}

// take gives a caller one more, until end is called. what is what they are, for the error.
func (s *shares) take(c peers.Caller, what string) (end func(), err error) {
	who := peers.Caller{Node: c.Node, Transport: c.Transport, Token: c.Token, Issuer: c.Issuer, Shim: c.Shim}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch n := s.of[who]; {
	case n >= s.each:
		return nil, &term.Error{Kind: term.LimitExceeded, Msg: fmt.Sprintf("it already has %d %s of this caller", n, what)}
	case s.all >= s.most:
		return nil, &term.Error{Kind: term.LimitExceeded, Msg: fmt.Sprintf("it already has %d %s of other nodes", s.all, what)}
	}
	s.all++
	s.of[who]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.of[who]--; s.of[who] == 0 {
			delete(s.of, who)
		}
	}, nil
}
