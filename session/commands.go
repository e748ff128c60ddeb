package session

import (
	"slices"
	"sync"
	"time"

	"ptyctl/term"
)

// maxRuns is how many execs with unfetched output a session keeps; the oldest that has ended goes first.
const maxRuns = 32

// commands are those of a session that have something left to fetch.
//
// At most maxRuns are kept, for callers that never fetch: an ended command is dropped for a new one, a running command
// never is.
type commands struct {
	session string // its id, for errors

	mu    sync.Mutex      // guards the following, and the fields of a run that say so
	byID  map[string]*run //
	order []string        // their ids, oldest first
	last  string          // the one with the last result for a client that comes and goes; see linger
}

// A keeping says for how long a command is kept.
type keeping struct {
	gone bool // forgotten
	kept bool // no client has the session: it is neither forgotten nor, without a deadline of its caller's, stopped
	due  bool // it would be forgotten by now if it were not kept
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
			Op: op, Session: c.session, Kind: term.NotFound, Reason: term.ReasonNoExec,
			Msg: "this session has no exec " + id + "; its output was returned in full, or is no longer kept",
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

// waiting reports whether a result waits for a client to come.
func (c *commands) waiting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.byID {
		if x.kept && !x.fetched.Load() {
			return true
		}
	}
	return false
}

// lost is how long before the end of a client a result that went to it may have been lost with it.
const lost = 30 * time.Second

// linger is forget for a command of a client that may be gone before it gets the result: the output is kept for the
// next client, until that of another command replaces it.
func (c *commands) linger(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := c.byID[c.last]; x != nil && !x.kept && c.last != id {
		c.drop(c.last)
	}
	c.last = id
}

// forgetAged is forget at the end of the time of retention.
func (c *commands) forgetAged(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := c.byID[id]; x != nil && x.kept {
		x.due = true
		return
	}
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

// retire lets a command that has ended be forgotten after the time of retention.
func (e *execs) retire(x *run) {
	s, id := e.s, x.id // the timer must not keep the output of a run that is forgotten before
	e.expire(x, time.AfterFunc(s.o.Retention, func() {
		defer s.group.rescue("retention")
		e.forgetAged(id)
	}))
}

// wait keeps the results of all commands, and the commands that run and have no deadline of their caller's, while the
// session is an orphan; from then on their times begin again. orphan is asked with c.mu held, so that of two calls the
// last one has the truth.
func (e *execs) wait(orphan func() bool) {
	e.mu.Lock()
	is := orphan()
	var due []*run
	for _, x := range e.byID {
		if x.kept == is {
			continue
		}
		if x.kept = is; is {
			x.deadline.Attend()
			if x.id == e.last && x.ended() && time.Since(x.started)-x.duration < lost {
				x.fetched.Store(false)
			}
			continue
		}
		x.deadline.Leave(false)
		if x.due {
			x.due = false
			due = append(due, x)
		}
	}
	e.mu.Unlock()
	for _, x := range due {
		e.retire(x)
	}
}
