package route

import (
	"fmt"
	"sync"

	"ptyctl/mcpapi/peers"
	"ptyctl/term"
)

// shares bound the calls, or the watches, of callers of other nodes here, so that no caller takes them from all others.
type shares struct {
	most, each int

	mu  sync.Mutex // guards the following
	all int
	of  map[peers.Caller]int
}

// newShares returns shares of most. One caller may have a quarter of them.
func newShares(most int) *shares {
	return &shares{most: most, each: (most + 3) / 4, of: make(map[peers.Caller]int)}
}

// take gives a caller one more, until end is called. what names the shares in the error.
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
