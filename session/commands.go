package session

import (
	"slices"
	"sync"
	"time"

	"ptyctl/term"
)

// commands are those of a session that have something left to fetch.
type commands struct {
	session string // its id, for errors

	mu    sync.Mutex      // guards the following, and the fields of a run that say so
	byID  map[string]*run //
	order []string        // their ids, oldest first
}

// find returns a command by its id. The caller uses it, and must let go of it.
func (c *commands) find(op, id string) (*run, error) {
	c.mu.Lock()
	x := c.byID[id]
	if x != nil {
		x.users++
	}
	c.mu.Unlock()
	if x == nil {
		return nil, &term.Error{
			Op:      op,
			Session: c.session,
			Kind:    term.NotFound,
			Msg:     "this session has no exec " + id + "; its output was returned in full, or is no longer kept",
		}
	}
	return x, nil
}

// keep registers x, and forgets the oldest ended command beyond maxRuns.
func (c *commands) keep(x *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byID[x.id] = x
	c.order = append(c.order, x.id)
	if len(c.byID) <= maxRuns {
		return
	}
	for _, fetched := range []bool{true, false} { // output not yet fetched goes last
		for _, id := range c.order {
			if x := c.byID[id]; x.ended() && x.fetched.Load() == fetched {
				c.drop(id)
				return
			}
		}
	}
}

// expire lets x be forgotten when t fires.
func (c *commands) expire(x *run, t *time.Timer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x.expiry = t; x.gone {
		t.Stop()
	}
}

// letGo says that a call no longer looks at x.
//
// The output of a forgotten command stays in memory until the last call has let go of it.
func (c *commands) letGo(x *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x.users--; x.gone && x.users == 0 {
		x.free()
	}
}

// forget gives up the output of a command.
func (c *commands) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(id)
}

// forgetAll gives up the output of all commands.
func (c *commands) forgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.byID {
		c.drop(id)
	}
}

// drop forgets a command. Calls that still look at it keep its output until they let go. Requires c.mu.
func (c *commands) drop(id string) {
	x := c.byID[id]
	if x == nil {
		return
	}
	if x.expiry != nil { // the timer would keep the session in memory that long
		x.expiry.Stop()
	}
	if x.gone = true; x.users == 0 {
		x.free()
	}
	delete(c.byID, id)
	c.order = slices.DeleteFunc(c.order, func(o string) bool { return o == id })
}

// list returns the ids of the commands that run, and of those that have ended while no call waited, oldest first.
func (c *commands) list() (running, unfetched []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range c.order {
		switch x := c.byID[id]; {
		case !x.ended():
			running = append(running, id)
		case !x.fetched.Load():
			unfetched = append(unfetched, id)
		}
	}
	return running, unfetched
}

// awaitStopped waits, at most limit, until the commands beside the terminal have stopped. Their contexts must have
// ended already: without the connection they could not be stopped.
func (c *commands) awaitStopped(limit time.Duration) {
	c.mu.Lock()
	var runs []*run
	for _, x := range c.byID {
		if x.lane == LaneChannel && !x.ended() {
			runs = append(runs, x)
		}
	}
	c.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for _, x := range runs {
		select {
		case <-x.done:
		case <-timer.C:
			return
		}
	}
}
