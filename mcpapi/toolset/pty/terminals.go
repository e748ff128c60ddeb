package pty

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"sync"
	"sync/atomic"

	"ptyctl/mcpapi"
	"ptyctl/session"
	"ptyctl/term"
)

// A terminal is a session that pty_spawn has opened and pty_kill has not removed.
type terminal struct {
	*session.Session
	killed atomic.Bool // by pty_kill
}

// terminals are those of all callers. The zero value is empty.
type terminals struct {
	mu   sync.Mutex // guards the following
	byID map[string]*terminal
}

// add makes a session one of the set, and forgets those that the manager has forgotten.
func (t *terminals) add(m *session.Manager, s *session.Session) *terminal {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.byID, func(id string, _ *terminal) bool {
		_, err := m.Get(id)
		return err != nil
	})
	if t.byID == nil {
		t.byID = make(map[string]*terminal)
	}
	added := &terminal{Session: s}
	t.byID[s.ID()] = added
	return added
}

// get returns the terminal with that id, or nil.
func (t *terminals) get(id string) *terminal {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

func (t *terminals) remove(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, id)
}

// find returns the terminal with that id, if the caller may know of it.
func (s *set) find(ctx context.Context, c *mcpapi.Call, verb term.Verb, id string) (*terminal, error) {
	if _, err := c.Session(ctx, verb, id); err != nil {
		return nil, err
	}
	if t := s.terminals.get(id); t != nil {
		return t, nil
	}
	return nil, c.Options().Sessions.Hide(ctx, verb, id)
}

// newID returns an id that no session has.
func newID(m *session.Manager) string {
	for {
		var b [4]byte
		_, _ = rand.Read(b[:]) // never fails
		id := "pty_" + hex.EncodeToString(b[:])
		if _, err := m.Get(id); err != nil {
			return id
		}
	}
}

// A status is one of the words for what becomes of a session.
type status string

const (
	running status = "running"
	exited  status = "exited"
	killed  status = "killed"
)

func (t *terminal) status(st session.State) status {
	switch {
	case !st.Ended():
		return running
	case t.killed.Load():
		return killed
	default:
		return exited
	}
}
