package feed

import (
	"context"
	"sync"
	"sync/atomic"

	"ptyctl/session"
	"ptyctl/term"
	"ptyctl/watch/calls"
	"ptyctl/watch/frame"
)

// Options configure a Feed.
type Options struct {
	Mode    func(context.Context) string // the mode that a watcher is shown: "readonly" or "readwrite"; nil: ""
	Version string                       // of the program
	Calls   calls.Options
}

// A Feed serves watchers. It is one of the session.Manager's observers; use New to make one.
type Feed struct {
	o        Options
	sessions atomic.Pointer[session.Manager] // nil: not served yet
	calls    *calls.Log
	watching atomic.Int32 // number of watchers

	mu       sync.Mutex // guards the following; held for moments only
	watchers map[*watcher]struct{}
	views    map[string]*view // of the sessions that a watcher has seen
}

// A view is the last frame of a session, shared by its watchers.
type view struct {
	mu      sync.Mutex // guards the following
	version uint64
	frame   *frame.Frame
}

// New makes a feed.
func New(o Options) *Feed {
	return &Feed{o: o, calls: calls.New(o.Calls), watchers: make(map[*watcher]struct{}), views: make(map[string]*view)}
}

// Serve sets the manager of the watched sessions. Before that, no session is watched.
func (f *Feed) Serve(m *session.Manager) { f.sessions.Store(m) }

// A change is a set of changed parts of a session.
type change uint8

const (
	changedScreen change = 1 << iota
	changedState
	changedCalls

	changedAll = changedScreen | changedState | changedCalls
)

// Observe implements term.Observer.
func (f *Feed) Observe(e term.Event) {
	f.calls.Observe(e)
	if e.Verb == term.VerbGone {
		f.mu.Lock()
		delete(f.views, e.Session)
		f.mu.Unlock()
	}
	if f.watching.Load() == 0 || e.Session == "" {
		return
	}
	switch e.Verb {
	case term.VerbOutput:
		f.note(e.Session, changedScreen)
	case term.VerbExecOutput, term.VerbReply, term.VerbPlan:
	case term.VerbRead:
		f.note(e.Session, changedCalls)
	case term.VerbHeartbeat:
		f.note(e.Session, changedState)
	default:
		f.note(e.Session, changedAll)
	}
}

// Answered adds the result of a call to its entry; see [calls.Log.Answered].
func (f *Feed) Answered(serial uint64, text string, failed bool) {
	for _, id := range f.calls.Answered(serial, text, failed) {
		if f.watching.Load() > 0 {
			f.note(id, changedCalls)
		}
	}
}

// note tells the watchers of a change.
func (f *Feed) note(id string, c change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watchers {
		w.note(id, c)
	}
}

// join adds a watcher, until leave is called.
func (f *Feed) join(w *watcher) (leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watchers[w] = struct{}{}
	f.watching.Add(1)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.watchers, w)
		if f.watching.Add(-1) == 0 {
			clear(f.views) // frames without a watcher
		}
	}
}

// frame returns the screen of a session as it is now. drawing says that a program is about to complete the next one.
func (f *Feed) frame(s *session.Session) (now *frame.Frame, drawing bool) {
	f.mu.Lock()
	v := f.views[s.ID()]
	if v == nil {
		v = new(view)
		f.views[s.ID()] = v
	}
	f.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	snap, version, partial := s.ServerView().Glance(v.version)
	if snap != nil {
		v.frame, v.version, drawing = frame.Of(snap, partial), version, snap.Drawing
	}
	return v.frame, drawing
}
