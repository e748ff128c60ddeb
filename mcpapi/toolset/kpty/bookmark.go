package kpty

import (
	"context"
	"sync"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// Bookmarks hold the read positions of k_pty, for any number of sets: one per session and reader. Make them with
// NewBookmarks.
type Bookmarks struct {
	mu sync.Mutex // guards the following
	of map[reading]*bookmark
}

// NewBookmarks makes empty Bookmarks.
func NewBookmarks() *Bookmarks { return &Bookmarks{of: make(map[reading]*bookmark)} }

// A reading is the key of a bookmark: one reader of one session.
type reading struct {
	s  *session.Session
	by reader
}

// A reader identifies a caller with a read position of its own. All callers that may type
// share the zero reader, because the calls of one agent may come over several
// connections. Callers that may only read have one reader for each token; otherwise they
// would take output away from the agent.
type reader struct {
	onlyReads bool
	client    term.Principal
}

// get returns the bookmark of r and creates it if necessary. Each new bookmark replaces
// those of sessions that the manager no longer lists. The map therefore has at most
// sessions times readers entries, and the operator's tokens bound the number of readers.
func (b *Bookmarks) get(r reading, listed func(*session.Session) bool) *bookmark {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.of[r]; m != nil {
		return m
	}
	for old := range b.of {
		if !listed(old.s) {
			delete(b.of, old)
		}
	}
	m := &bookmark{turn: make(chan struct{}, 1)}
	b.of[r] = m
	return m
}

// A bookmark is the position in a session's output at which the next read starts.
type bookmark struct {
	turn chan struct{} // the one reader at this position holds it, so that no two reads return the same bytes

	mu sync.Mutex // guards the following
	at int64      // offset of the first byte not yet shown
}

// take waits at most wait for the turn to read and reports whether it got it. The caller
// must then call release.
func (m *bookmark) take(ctx context.Context, wait time.Duration) bool {
	select {
	case m.turn <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case m.turn <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// release ends the turn that take has given.
func (m *bookmark) release() { <-m.turn }

// place returns the offset at which the next read must start.
func (m *bookmark) place() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

// move records that everything before at was shown. The position never goes back: for
// example, a run may move it past output that a slower read returns later.
func (m *bookmark) move(at int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = max(m.at, at)
}
