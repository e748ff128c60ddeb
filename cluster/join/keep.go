package join

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"ptyctl/cluster/internal/bucket"
	"ptyctl/mcpapi/kept"
	"ptyctl/session"
)

// refresh is the longest time between two writes of a live session's entry. A key lasts for twice that, and the
// retention time: if a node is killed, its sessions can be reopened for the retention time at least.
const refresh = 10 * time.Minute

// A keeper writes the entries of this node's sessions: when one has opened, when it has ended, and every refresh. It is
// for one goroutine.
type keeper struct {
	m        *memory
	sessions *session.Manager
	log      *slog.Logger
	written  map[string]written // by session
}

// A written is the last write of a session's key.
type written struct {
	due   time.Time // when it is to be written again; zero: never, its session has ended
	until time.Time // when it runs out
}

// run keeps the entries up to date until ctx ends. It repeats a write that fails.
func (k *keeper) run(ctx context.Context) {
	timer := time.NewTimer(refresh)
	defer timer.Stop()
	for failures := 0; ; {
		id, wait := k.next()
		switch {
		case id == "":
			timer.Reset(wait)
			select {
			case <-k.m.wake:
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		case k.keep(ctx, id):
			failures = 0
		default:
			k.m.Changed(id)
			if !bucket.Pause(ctx, failures) {
				return
			}
			failures++
		}
	}
}

// next returns a session that has changed or has a key that is due. Without one it returns how long to wait.
func (k *keeper) next() (id string, wait time.Duration) {
	k.m.mu.Lock()
	for id = range k.m.changed {
		delete(k.m.changed, id)
		break
	}
	k.m.mu.Unlock()
	if id != "" {
		return id, 0
	}
	now, wait := time.Now(), refresh
	for id, w := range k.written {
		switch {
		case w.due.IsZero() && now.After(w.until):
			delete(k.written, id)
		case w.due.IsZero():
		case !w.due.After(now):
			return id, 0
		default:
			wait = min(wait, w.due.Sub(now))
		}
	}
	return "", wait
}

// keep writes the entry of a session. It reports false if that has to be tried again.
func (k *keeper) keep(ctx context.Context, id string) bool {
	_, was := k.written[id]
	s, err := k.sessions.Get(id)
	if err != nil { // it is forgotten, perhaps before its time
		return !was || k.remove(ctx, id)
	}
	i := s.Info()
	switch {
	case i.Opens > 0:
		k.m.opened(id)
	case i.State.Ended():
		k.m.release(id)
		return true
	default: // it has not opened yet, and will say so
		return true
	}
	if i.End.Code == session.EndShutdown { // this node ends: the last entry stays, and lasts long enough
		return true
	}
	r, err := s.ServerView().Remembered()
	var value kept.Session
	if err == nil {
		value, err = kept.Of(id, r)
	}
	if err != nil {
		k.log.Debug("a session is not kept", "session", id, "why", err)
		return !was || k.remove(ctx, id)
	}
	now := time.Now()
	ttl, due := r.Retention+2*refresh, now.Add(refresh-rand.N(refresh/4)) // not all at once
	if i.State.Ended() {
		ttl, due = r.Retention, time.Time{}
	}
	ttl = max(wholeSeconds(ttl), time.Second)
	v, err := k.m.keeps(id, value.Encode(), ttl, now)
	if err == nil {
		_, err = k.m.bucket.Put(ctx, k.m.message(id, v, 0))
	}
	if err != nil {
		k.log.Debug("a session cannot be kept yet", "session", id, "error", err)
		return false
	}
	k.written[id] = written{due: due, until: now.Add(ttl)}
	return true
}

// remove removes the key of a session, unless it is about to run out.
func (k *keeper) remove(ctx context.Context, id string) bool {
	if time.Now().Add(time.Second).Before(k.written[id].until) {
		if _, err := k.m.bucket.Put(ctx, k.m.message(id, nil, 0)); err != nil {
			k.log.Debug("a session is still kept", "session", id, "error", err)
			return false
		}
	}
	delete(k.written, id)
	return true
}
