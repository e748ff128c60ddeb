package feed

import (
	"sync"
	"time"

	"ptyctl/session"
	"ptyctl/watch/calls"
	"ptyctl/watch/frame"
)

// Times of a watcher.
const (
	least  = time.Second / 30        // between two looks
	settle = 1500 * time.Millisecond // after output, until the terminal is searched for a question

	// longest is how long a frame that a program draws is waited for: package screen ends it then.
	longest = time.Second
)

// mostNoted is the most sessions with changes noted one by one; beyond that, all sessions count as changed.
const mostNoted = 4 << 10

// A watcher is one reader of the stream.
type watcher struct {
	feed *Feed
	only string // the session; empty: all

	wake chan struct{} // holds one token: there is something in dirty

	mu    sync.Mutex // guards the following
	dirty map[string]change
	all   bool // every session may have changed

	// The following belong to the goroutine that serves the watcher.
	seen  map[string]*seen
	again map[string]time.Time // when to look at a session although nothing is noted
}

// seen is the state of a session that a watcher has got.
type seen struct {
	frame *frame.Frame
	info  string // as it was sent
	calls uint64 // up to this change
}

func (f *Feed) newWatcher(only string) *watcher {
	return &watcher{
		feed: f, only: only, wake: make(chan struct{}, 1), all: true,
		dirty: make(map[string]change), seen: make(map[string]*seen), again: make(map[string]time.Time),
	}
}

// note notes a change.
func (w *watcher) note(id string, c change) {
	if w.only != "" && w.only != id {
		return
	}
	w.mu.Lock()
	if len(w.dirty) >= mostNoted {
		w.all = true
		clear(w.dirty)
	}
	w.dirty[id] |= c
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// take returns the changes since the last call.
func (w *watcher) take(now time.Time) map[string]change {
	w.mu.Lock()
	changed, all := w.dirty, w.all
	w.dirty, w.all = make(map[string]change), false
	w.mu.Unlock()
	for id, at := range w.again {
		if !at.After(now) {
			delete(w.again, id)
			changed[id] |= changedScreen | changedState
		}
	}
	if !all {
		return changed
	}
	for id := range w.seen {
		changed[id] = changedAll
	}
	if w.only != "" {
		changed[w.only] = changedAll
	} else if m := w.feed.sessions.Load(); m != nil {
		for _, i := range m.List() {
			changed[i.ID] = changedAll
		}
	}
	return changed
}

// look appends the lines about the changes of a session.
func (w *watcher) look(dst []byte, id string, c change, now time.Time) []byte {
	s := w.session(id)
	if s == nil {
		delete(w.again, id)
		if w.seen[id] == nil && w.only == "" {
			return dst
		}
		delete(w.seen, id)
		return appendLine(dst, "gone", id)
	}
	had := w.seen[id]
	if had == nil {
		had, c = new(seen), changedAll
		w.seen[id] = had
	}
	if c&changedState != 0 {
		if line := appendLine(nil, "session", infoOf(s)); string(line) != had.info {
			had.info = string(line)
			dst = append(dst, line...)
		}
	}
	if c&changedScreen != 0 {
		dst = w.screen(dst, s, had, c&changedState == 0, now)
	}
	if c&changedCalls != 0 {
		dst = w.list(dst, id, had)
	}
	return dst
}

// session returns a session; nil: it does not exist.
func (w *watcher) session(id string) *session.Session {
	m := w.feed.sessions.Load()
	if m == nil {
		return nil
	}
	s, err := m.Get(id)
	if err != nil {
		return nil
	}
	return s
}

// screen appends the part of the screen that the watcher has not seen. fresh says that there was output.
func (w *watcher) screen(dst []byte, s *session.Session, had *seen, fresh bool, now time.Time) []byte {
	f, drawing := w.feed.frame(s)
	begin := append(dst, `{"screen":{"s":`...)
	patch, changed := f.AppendPatch(append(appendJSON(begin, s.ID()), `,"p":`...), had.frame)
	had.frame = f
	if changed {
		dst = append(patch, "}}\n"...)
	}
	switch at, waits := w.again[s.ID()]; {
	case drawing && (!waits || at.After(now.Add(longest))):
		w.again[s.ID()] = now.Add(longest)
	case fresh && !drawing: // its question is judged once it is quiet
		w.again[s.ID()] = now.Add(settle)
	}
	return dst
}

// A watcher of many sessions gets the last calls of each, without most of their results.
const (
	fewCalls  = 12
	fewResult = 600 // bytes
)

// list appends the calls that the watcher has not seen.
func (w *watcher) list(dst []byte, id string, had *seen) []byte {
	entries, next := w.feed.calls.Since(id, had.calls)
	had.calls = next
	if w.only == "" {
		entries = entries[max(0, len(entries)-fewCalls):]
		for i := range entries {
			entries[i].Result = entries[i].Tail(fewResult)
		}
	}
	if len(entries) == 0 {
		return dst
	}
	return appendLine(dst, "calls", newCalls{id, entries})
}

// newCalls are the calls at a session that a watcher has not seen.
type newCalls struct {
	Session string        `json:"s"`
	List    []calls.Entry `json:"list"`
}
