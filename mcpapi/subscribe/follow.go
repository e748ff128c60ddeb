package subscribe

import (
	"context"
	"time"

	"ptyctl/mcpapi/identity"
)

// These bound the resources of other nodes that the clients of one server follow, and those of one caller: each costs a
// goroutine here and one there.
const (
	maxFollowed     = 1000
	maxFollowedEach = 100
)

// A followed is a resource of another node, for one watcher.
type followed struct{ stop context.CancelFunc }

// follow has the node of a URI say when that changes, if it is another node. It reports false if there is no room for
// that. Requires f.mu.
func (f *feed) follow(w *watcher, uri string) (ok bool) {
	id, _, ok := sessionOf(uri)
	if !ok || w.follows[uri] != nil {
		return true
	}
	node := f.shown.nodeOf(w.ctx, id)
	if node == "" {
		return true
	}
	who := identity.FromContext(w.ctx).Principal()
	if f.followed[who] >= maxFollowedEach || f.allFollowed >= maxFollowed || f.life.Err() != nil {
		return false
	}
	ctx, stop := context.WithCancel(w.ctx)
	end := context.AfterFunc(f.life, stop)
	if w.follows == nil {
		w.follows = make(map[string]*followed)
	}
	me := &followed{stop}
	w.follows[uri] = me
	f.allFollowed++
	f.followed[who]++
	f.following.Go(func() {
		defer end()
		defer stop()
		f.shown.far.Watch(ctx, node, uri, func() { f.changedFar(w, uri, true) })
		if ctx.Err() == nil { // its node has ended, or cannot be reached: the client must look
			f.changedFar(w, uri, false)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.allFollowed--
		if f.followed[who]--; f.followed[who] == 0 {
			delete(f.followed, who)
		}
		if w.follows[uri] == me {
			delete(w.follows, uri)
		}
	})
	return true
}

// changedFar schedules the notification of a change at another node. Without more, it is the last one.
func (f *feed) changedFar(w *watcher, uri string, more bool) {
	f.mu.Lock()
	if _, wanted := w.uris[uri]; wanted && !more {
		w.uris[uri] = false
	}
	w.markURI(uri, time.Now()) // the node has gathered changes
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// unfollow ends all follows of the watcher at other nodes. Requires feed.mu.
func (w *watcher) unfollow() {
	for _, r := range w.follows {
		r.stop()
	}
}
