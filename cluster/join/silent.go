package join

import (
	"sync"
	"time"
)

// A silence is the nodes that have given no answer to a call and were not heard of since.
type silence struct {
	mu    sync.Mutex
	since map[string]time.Time // when the call was sent
}

// add notes that a node has given no answer to a call that was sent then.
func (s *silence) add(node string, sent time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since == nil {
		s.since = make(map[string]time.Time)
	}
	if sent.After(s.since[node]) {
		s.since[node] = sent
	}
}

// nodes returns the silent nodes, and forgets those that the registry has heard of since. heard returns when the
// registry last heard of a node.
func (s *silence) nodes(heard func(node string) time.Time) (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for node, sent := range s.since {
		if heard(node).After(sent) {
			delete(s.since, node)
		} else {
			all = append(all, node)
		}
	}
	return all
}
