package kpty

import (
	"context"
	"sync"
	"time"

	"ptyctl/session"
)

// bookmarks say, for each session, up to where its output was read with k_pty.
type bookmarks struct {
	mu sync.Mutex // guards the following
	of map[reading]*bookmark
}

func newBookmarks() *bookmarks { return &bookmarks{of: make(map[reading]*bookmark)} }

// A reading is what has a bookmark.
type reading struct {
	s  *session.Session
	by reader
}

// A reader is who reads on from one place. The zero reader is all who may type, since an agent's calls may come over
// several connections. Who may only read would take the output away from them, and so is a reader by token.
type reader struct {
	onlyReads        bool
	transport, token string
}

// get returns the bookmark of r. A new one takes the place of those whose sessions are no longer listed, so that there
// are never more than sessions times readers; of these there are as many as the operator gives tokens to.
func (b *bookmarks) get(r reading, in *session.Manager) *bookmark {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.of[r]; m != nil {
		return m
	}
	for old := range b.of {
		if now, err := in.Get(old.s.ID()); err != nil || now != old.s {
			delete(b.of, old)
		}
	}
	m := &bookmark{turn: make(chan struct{}, 1)}
	b.of[r] = m
	return m
}

// A bookmark is the place from which the next read goes on.
type bookmark struct {
	turn chan struct{} // held by the one read that goes on from here: what one read returns, no other does

	mu sync.Mutex // guards the following
	at int64
}

// take waits, at most wait, for the turn to read. Who has it calls release.
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

func (m *bookmark) release() { <-m.turn }

func (m *bookmark) place() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

// move says that everything before at was shown.
func (m *bookmark) move(at int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = max(m.at, at)
}
