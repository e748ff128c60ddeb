package subscribe

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/internal/mcpgo"
	"ptyctl/mcpapi/identity"
	"ptyctl/session"
	"ptyctl/term"
)

// Changes are gathered for this long before a client is notified: output comes in many small chunks, and a client
// should not get a message for each.
const (
	gatherState  = 100 * time.Millisecond
	gatherOutput = time.Second
)

// maxWatchers bounds the MCP sessions that get notifications; a session that ends makes room.
const maxWatchers = 10_000

// maxChanged is how many changed sessions are tracked until the feed processes them; beyond that, all sessions count as
// changed.
const maxChanged = 10_000

// A Watch notifies clients of changes, so that they need not poll. Make it with NewWatch, pass it to a
// session.Manager as an observer and to each server of that manager in Options.Watch, and end it with Close. An event
// costs the session a map entry at most; one goroutine for each server does the rest.
type Watch struct {
	feeds   atomic.Pointer[[]*feed]
	done    chan struct{}
	running sync.WaitGroup

	mu     sync.Mutex // guards the following
	closed bool
}

// NewWatch makes a Watch.
func NewWatch() *Watch {
	w := &Watch{done: make(chan struct{})}
	w.feeds.Store(new([]*feed))
	return w
}

// Close ends the goroutines, and returns when they have ended.
func (w *Watch) Close() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.done)
	}
	w.mu.Unlock()
	w.running.Wait()
}

// Serve starts to notify the clients of srv.
// far is nil without other nodes.
func (w *Watch) Serve(srv *server.MCPServer, hooks *server.Hooks, sessions *session.Manager, far Far) {
	f := &feed{
		srv:      srv,
		shown:    resources{sessions, far},
		changed:  make(map[string]change),
		watchers: make(map[any]*watcher),
		followed: make(map[term.Principal]int),
		wake:     make(chan struct{}, 1),
	}
	var stop context.CancelFunc
	f.life, stop = context.WithCancel(context.Background())
	f.listen(hooks)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		stop()
		return
	}
	// Copied and not appended to: Observe reads the list without a lock, since every event of every session
	// passes there.
	feeds := append(append([]*feed(nil), *w.feeds.Load()...), f)
	w.feeds.Store(&feeds)
	w.running.Go(func() {
		f.run(w.done)
		stop()
		f.following.Wait()
	})
}

// Observe implements term.Observer.
func (w *Watch) Observe(e term.Event) {
	c := changeOf(e)
	// Most events are not changes that a client sees, and cost only this check.
	if c == 0 {
		return
	}
	for _, f := range *w.feeds.Load() {
		f.note(e.Session, c)
	}
}

// A change is a set of the parts of a session that differ from before.
type change uint8

// The changes.
const (
	changedList   change = 1 << iota // a session came or is gone
	changedState                     // the members of status
	changedOutput                    // the output in the tail
	gone                             // the session is forgotten
	moved                            // another client has it, or no client
)

// changeOf returns the parts of a session that an event changes.
func changeOf(e term.Event) change {
	// A refused action has changed nothing.
	if e.Refused != nil {
		return 0
	}
	switch e.Verb {
	case term.VerbOutput:
		return changedOutput
	case term.VerbOpen:
		return changedList | changedState
	case term.VerbGone:
		return changedList | changedState | gone
	case term.VerbState,
		term.VerbQuestion,
		term.VerbAnswer,
		term.VerbExec,
		term.VerbExecEnd,
		term.VerbResize,
		term.VerbExpect,
		term.VerbLock,
		term.VerbUnlock,
		term.VerbTakeOver,
		term.VerbForward,
		term.VerbForwardEnd,
		term.VerbClose:
		return changedState
	case term.VerbAdopt, term.VerbGive, term.VerbOrphan:
		return changedList | changedState | moved
	}
	return 0
}

// A feed notifies the clients of one server.
type feed struct {
	srv   *server.MCPServer
	shown resources
	wake  chan struct{} // holds one token: there is something in changed

	life      context.Context // of the goroutines that follow other nodes
	following sync.WaitGroup

	watching, tails atomic.Bool // whether there are watchers, and any of output

	mu       sync.Mutex // guards the following; held for moments only
	changed  map[string]change
	watchers map[any]*watcher // by MCP session id, or by the watcher itself for a subscriptions/listen

	allFollowed int                    // resources of other nodes, of all watchers
	followed    map[term.Principal]int // of each caller
}

// note remembers a change, if any client watches. The session calls it, so it must not block.
func (f *feed) note(id string, c change) {
	// Output is by far the most frequent event, and few clients follow it.
	if !f.watching.Load() || c == changedOutput && !f.tails.Load() {
		return
	}
	f.mu.Lock()
	if _, known := f.changed[id]; !known && len(f.changed) >= maxChanged {
		// Exactness is given up before memory: a client that looks again misses nothing.
		id, c = "", changedList|changedState|changedOutput
	}
	f.changed[id] |= c
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// run notifies the watchers, until done is closed.
func (f *feed) run(done <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-f.wake:
		case <-timer.C:
		case <-done:
			return
		}
		now := time.Now()
		if next, more := f.tell(now); more {
			timer.Reset(next.Sub(now))
		}
	}
}

// tell collects the changes, notifies the due watchers, and returns the time of its next run.
func (f *feed) tell(now time.Time) (next time.Time, more bool) {
	f.mu.Lock()
	changed := f.changed
	f.changed = make(map[string]change)
	f.mu.Unlock()
	infos := f.infos(changed) // this may take long, and must not delay a session that changes
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, c := range changed {
		i, there := infos[id]
		for _, w := range f.watchers {
			// A session that is gone has no opener to compare with; its id alone says nothing to a client that
			// never saw it.
			switch {
			case !there || identity.FromContext(w.ctx).Sees(i):
				w.mark(id, c, now)
			case c&moved != 0: // its list may have shown the session, as its own or as one to adopt
				w.mark(id, c|gone, now)
			}
		}
	}
	defer f.countLocked() // some may be gone
	for key, w := range f.watchers {
		if !w.send(f.srv, now) {
			w.unfollow()
			delete(f.watchers, key)
			continue
		}
		for _, at := range w.due {
			if !more || at.Before(next) {
				next, more = at, true
			}
		}
	}
	return next, more
}

// infos describes the changed sessions that still exist.
func (f *feed) infos(changed map[string]change) map[string]session.Info {
	infos := make(map[string]session.Info, len(changed))
	for id := range changed {
		if s, err := f.shown.sessions.Get(id); err == nil {
			infos[id] = s.Info()
		}
	}
	return infos
}

// watch changes the watcher of the MCP session that a request belongs to. It makes the watcher if the session has
// none.
func (f *feed) watch(ctx context.Context, change func(w *watcher)) {
	id, ok := f.legacy(ctx)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.watchers[id]
	switch {
	case w == nil && len(f.watchers) >= maxWatchers:
		return
	case w == nil:
		w = &watcher{
			ctx:       context.WithoutCancel(ctx),
			sessionID: id,
			uris:      make(map[string]bool),
			due:       make(map[string]time.Time),
		}
		f.watchers[id] = w
	}
	change(w)
	f.countLocked()
}

// countLocked follows a change of the watchers. Requires f.mu.
func (f *feed) countLocked() {
	tails := false
	for _, w := range f.watchers {
		tails = tails || w.tails()
	}
	f.watching.Store(len(f.watchers) > 0)
	f.tails.Store(tails)
}

// drop forgets a watcher.
func (f *feed) drop(key any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w := f.watchers[key]; w != nil {
		w.unfollow()
	}
	delete(f.watchers, key)
	f.countLocked()
}

// subscribable reports whether clients can be notified of changes to a URI. A URI that does not exist, or is hidden
// from the caller, never changes, so no state is kept for it.
func (f *feed) subscribable(ctx context.Context, uri string) bool {
	if uri == sessionsURI {
		return true
	}
	id, _, ok := sessionOf(uri)
	if !ok {
		return false
	}
	if f.shown.nodeOf(ctx, id) != "" { // this reveals nothing about a session that the caller may not know of
		return true
	}
	_, err := f.shown.find(ctx, id)
	return err == nil
}

// listen sets the server's hooks for subscriptions.
func (f *feed) listen(hooks *server.Hooks) {
	hooks.AddAfterListResources(
		func(ctx context.Context, _ any, _ *mcp.ListResourcesRequest, _ *mcp.ListResourcesResult) {
			// Only a client that has seen the list has an outdated one when it changes.
			f.watch(ctx, func(w *watcher) { w.list = true })
		},
	)
	hooks.AddAfterSubscribe(func(ctx context.Context, _ any, req *mcp.SubscribeRequest, _ *mcp.EmptyResult) {
		if f.subscribable(ctx, req.Params.URI) {
			f.watch(ctx, func(w *watcher) {
				uri := plainURI(req.Params.URI)
				if f.follow(w, uri) {
					w.uris[uri] = true
				}
			})
		}
	})
	hooks.AddAfterUnsubscribe(func(ctx context.Context, _ any, req *mcp.UnsubscribeRequest, _ *mcp.EmptyResult) {
		f.watch(ctx, func(w *watcher) {
			uri := plainURI(req.Params.URI)
			delete(w.uris, uri)
			delete(w.due, uri)
			if r := w.follows[uri]; r != nil {
				r.stop()
				delete(w.follows, uri)
			}
		})
	})
	hooks.AddOnUnregisterSession(func(_ context.Context, client server.ClientSession) {
		f.drop(client.SessionID())
	})
	hooks.AddBeforeSubscriptionsListen(f.subscriptions)
}

// legacy returns the id of the MCP session that a request belongs to. Requests of revision 2026-07-28 have no
// session.
func (f *feed) legacy(ctx context.Context) (id string, ok bool) {
	client := server.ClientSessionFromContext(ctx)
	if client == nil || server.IsModernRequest(ctx) || client.SessionID() == "" {
		return "", false
	}
	return client.SessionID(), true
}

// subscriptions makes a subscriptions/listen a watcher, for as long as the request lasts.
func (f *feed) subscriptions(ctx context.Context, id any, req *mcp.SubscriptionsListenRequest) {
	stream := server.ClientSessionFromContext(ctx)
	if stream == nil {
		return
	}
	stream = mcpgo.Lasting(stream) // sending to its queue must not block
	w := &watcher{
		ctx: context.WithoutCancel(
			ctx,
		), stream: stream, subscription: id, list: req.Params.Notifications.ResourcesListChanged,
		uris: make(map[string]bool), due: make(map[string]time.Time),
	}
	for _, uri := range req.Params.Notifications.ResourceSubscriptions {
		if f.subscribable(ctx, uri) {
			w.uris[plainURI(uri)] = true
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watchers[w] = w
	for uri := range w.uris {
		if !f.follow(w, uri) { // no state is kept for a URI without notifications
			delete(w.uris, uri)
		}
	}
	f.countLocked()
	context.AfterFunc(ctx, func() { f.drop(w) })
}

// errFull means that the client's queue has no room; the notification is due again later.
var errFull = errors.New("the client's queue is full")
