package pty

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"sync"
	"sync/atomic"

	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/term"
)

// A terminal is a session that pty_spawn has opened and that pty_kill has not cleaned up.
type terminal struct {
	*session.Session
	killed atomic.Bool // by pty_kill, which decides between the status killed and exited
}

// Terminals are the terminals that pty_spawn has opened, for all callers and any number of sets: a terminal outlives
// the conversation in which it was opened. The zero value is empty.
type Terminals struct {
	mu   sync.Mutex // guards the following
	byID map[string]*terminal
}

// add makes s a terminal of the set. It also removes the terminals of sessions that the
// manager has forgotten, so that the map cannot grow without bound.
func (t *Terminals) add(s *session.Session, listed func(*session.Session) bool) *terminal {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.byID, func(_ string, old *terminal) bool { return !listed(old.Session) })
	if t.byID == nil {
		t.byID = make(map[string]*terminal)
	}
	added := &terminal{Session: s}
	t.byID[s.ID()] = added
	return added
}

// get returns the terminal with the given id, or nil.
func (t *Terminals) get(id string) *terminal {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

// remove removes the terminal with the given id, if there is one.
func (t *Terminals) remove(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, id)
}

// find returns the terminal with the given id if the caller may see it. A session of
// another tool is not found, since it has no status and no line numbers of this set. Both
// cases must give the same error, so that ids cannot be probed.
func (s *set) find(ctx context.Context, c *toolset.Call, verb term.Verb, id string) (*terminal, error) {
	if _, err := c.Session(ctx, verb, id); err != nil {
		return nil, err
	}
	if t := s.terminals.get(id); t != nil {
		return t, nil
	}
	return nil, c.Hide(ctx, verb, id)
}

// newID returns an id in the form of opencode-pty: pty_ and eight hexadecimal digits.
func newID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return "pty_" + hex.EncodeToString(b[:])
}

// A status is the state of a session in the words of those servers.
type status string

const (
	running status = "running"
	exited  status = "exited"
	killed  status = "killed"
)

// status returns the word for a session's state. A program that pty_kill has ended counts
// as killed, whichever way it ended.
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
