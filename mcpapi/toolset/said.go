package toolset

import (
	"hash/maphash"
	"sync"

	"ptyctl/session"
	"ptyctl/term"
)

// A note is a warning of a call.
type note struct {
	text string
	once bool // not if the caller has had it
}

// said remembers which advice a caller has had about a session. Its zero value is ready to use.
type said struct {
	mu   sync.Mutex
	by   map[string]map[uint64]struct{} // by session: hashes of caller and text
	seed maphash.Seed
}

// maxSaid bounds the sessions that are remembered, and the texts of each. A forgotten text is sent again.
const maxSaid = 1000

// already reports whether the caller has had the text about the session, and remembers that it has it now. Without a
// session nothing is remembered.
func (s *said) already(sessions *session.Manager, id string, caller term.Principal, text string) bool {
	if id == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by, s.seed = make(map[string]map[uint64]struct{}), maphash.MakeSeed()
	}
	texts := s.by[id]
	if texts == nil || len(texts) >= maxSaid {
		s.forget(sessions)
		texts = make(map[uint64]struct{})
		s.by[id] = texts
	}
	key := maphash.Comparable(s.seed, struct {
		caller term.Principal
		text   string
	}{caller, text})
	_, had := texts[key]
	texts[key] = struct{}{}
	return had
}

// forget makes room for a session: it drops the sessions that are no longer listed, or all. Requires s.mu.
func (s *said) forget(sessions *session.Manager) {
	if len(s.by) < maxSaid {
		return
	}
	for id := range s.by {
		if _, err := sessions.Get(id); err != nil {
			delete(s.by, id)
		}
	}
	if len(s.by) >= maxSaid {
		clear(s.by)
	}
}
