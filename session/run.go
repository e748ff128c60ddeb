package session

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/session/access"
	"ptyctl/session/lane"
	"ptyctl/session/output"
	"ptyctl/term"
)

const (
	// maxRuns is how many execs with unfetched output a session keeps; the oldest that has ended goes first.
	maxRuns = 32

	// stopGrace is how long a canceled exec may take to be gone before its result says that it may not be.
	stopGrace = 4 * time.Second

	// killTime is how long a program on this machine may take to be gone once it is killed.
	killTime = time.Second
)

// errExecCanceled is the cause of a run's context after CancelExec.
var errExecCanceled = errors.New("exec canceled by the caller")

// A proofTime is how long a result waits for proof that the command is gone.
type proofTime struct {
	deadline time.Duration // beyond the command's deadline
	end      time.Duration // after the end of the session
}

// A run is one command, from its start until its output is no longer kept.
type run struct {
	id       string
	lane     Lane
	life     *life           // of the connection that it runs on
	actor    term.Actor      // who runs it
	ctx      context.Context // ends at the command's deadline, or when it is canceled
	cancel   context.CancelCauseFunc
	started  time.Time
	deadline *deadline
	proof    proofTime
	stdout   *output.Stream
	stderr   *output.Stream
	expect   Expect
	recorded chan struct{} // closed when the event of its start is out, which that of its end follows; nil: neither is
	done     chan struct{}
	expiry   *time.Timer // forgets it; nil while it runs; guarded by commands.mu
	users    int         // calls that look at the output, which stays until they let go; guarded by commands.mu
	keeping              // guarded by commands.mu
	handed   atomic.Bool // a result has named the id
	fetched  atomic.Bool // a result has said how it ended

	sentBytes int // of the line typed, or of its stdin; set before the call that starts it returns

	wants wanted // of a result, if its caller does not say

	mu    sync.Mutex                   // guards given
	given map[term.Principal]delivered // at most maxGiven

	typed *lane.Command // nil in the channel lane

	outcome // set before done is closed
}

// A keeping says for how long a command is kept.
type keeping struct {
	gone bool // forgotten
	kept bool // no client has the session: it is neither forgotten nor, without a deadline of its caller's, stopped
	due  bool // it would be forgotten by now if it were not kept
}

// An outcome is how a command ended.
type outcome struct {
	exit     term.Exit
	err      error
	duration time.Duration
}

// wanted has the wishes of the call that starts a command, about results and canceled calls.
type wanted struct {
	maxOutput    int     // most bytes per stream
	match        *Filter // nil: all lines
	stopOnCancel bool
}

// delivered is how much of a command's output a caller's results have had: offsets of the streams.
type delivered struct {
	stdout, stderr int64
	match          *Filter // that the caller has given last; nil: none
}

// maxGiven is for how many callers of a command that is remembered. Others get all of the output each time.
const maxGiven = 64

// newRun makes a run and registers it. The caller uses it, and must let go of it.
func (e *execs) newRun(r ExecRequest, lane Lane, by term.Actor) (*run, error) {
	s := e.s
	now := time.Now()
	var total *atomic.Int64
	if lane == LaneChannel { // the pump counts the terminal's output
		total = &s.count.execRx
	}
	memory := s.o.managed.limits.memory
	x := &run{
		id: "exec-" + NewID("x")[2:], lane: lane, life: s.life, actor: by, started: now,
		recorded: make(chan struct{}), done: make(chan struct{}),
		stdout: output.NewStream(s.o.ExecBytes, memory, total),
		stderr: output.NewStream(s.o.ExecBytes, memory, total),
		expect: s.Expect().with(r.Expect),
		users:  1, proof: proofTime{settle, letGo},
		wants: wanted{r.MaxOutput, r.Match, r.StopOnCancel}, given: make(map[term.Principal]delivered),
	}
	if r.MaxOutput <= 0 {
		x.wants.maxOutput = defaultOutput
	}
	// A command must not start if its output could not be kept.
	if !x.stdout.Buffer.Reserve() || !x.stderr.Buffer.Reserve() {
		x.free()
		return nil, s.o.managed.limits.noMemory("exec", s.id)
	}
	// It ends with the session and not with the call, which a command may outlast.
	x.ctx, x.cancel = context.WithCancelCause(s.life.ctx)
	x.deadline = newDeadline(r.Timeout, r.Unattended, func() { x.cancel(context.DeadlineExceeded) })
	s.execs.keep(x)
	if s.owner.whose.Waits() { // its client has gone since
		s.execs.wait(s.owner.whose.Waits)
	}
	return x, nil
}

// discard forgets a run that was not launched, and lets go of it.
func (e *execs) discard(x *run) {
	s := e.s
	x.deadline.end()
	x.cancel(nil)
	s.execs.forget(x.id)
	s.execs.letGo(x)
}

// launch runs f, which carries the command out, in a goroutine of the session's. It reports false, and forgets
// the run, when the session is closing. The caller must close x.recorded, or the run never ends.
func (e *execs) launch(x *run, f func() (term.Exit, error)) bool {
	s := e.s
	s.count.execs.Add(1)
	s.count.running.Add(1)
	s.timeouts.touch()
	ok := s.group.spawn("exec", func() {
		defer func() {
			x.duration = time.Since(x.started)
			// In this order: a caller who sees the end of the command can read the end of its output, and the event
			// is out before the result.
			_ = x.stdout.Buffer.Close()
			_ = x.stderr.Buffer.Close()
			s.count.running.Add(-1)
			s.timeouts.touch()
			if x.recorded != nil {
				<-x.recorded
				s.auth.Observe(x.over())
			}
			x.deadline.end() // before others may see that it is over
			close(x.done)
			x.cancel(nil)
			s.execs.retire(x)
		}()
		// Replaced when f returns; a panic leaves it.
		x.err = errRunPanicked
		x.exit, x.err = f()
	})
	if !ok {
		s.count.running.Add(-1)
		s.execs.discard(x)
	}
	return ok
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
			x.deadline.attend()
			if x.id == e.last && x.ended() && time.Since(x.started)-x.duration < lost {
				x.fetched.Store(false)
			}
			continue
		}
		x.deadline.leave(false)
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

// over is the event that tells how the command ended. Requires that it has.
func (x *run) over() term.Event {
	state := "ended"
	switch cause := context.Cause(x.ctx); {
	case errors.Is(cause, context.DeadlineExceeded):
		state = "timeout"
	case errors.Is(cause, errExecCanceled):
		state = "canceled"
	}
	return term.Event{
		Verb: term.VerbExecEnd, Actor: x.actor, Exec: x.id, Detail: string(x.lane), State: state,
		Size: int(
			x.stdout.Buffer.Stat().End + x.stderr.Buffer.Stat().End,
		), Exit: &x.exit, Duration: x.duration, Err: x.err,
	}
}

// start runs the command on a channel of its own.
func (e *execs) start(r ExecRequest, by term.Actor) (*run, error) {
	s := e.s
	x, err := s.execs.newRun(r, LaneChannel, by)
	if err != nil {
		return nil, err
	}
	x.sentBytes = len(r.Stdin)
	if r.Grace > 0 {
		x.proof = proofTime{r.Grace + killTime, r.Grace + killTime}
	}
	ok := s.execs.launch(x, func() (term.Exit, error) {
		return s.link.Load().execer.Exec(
			x.ctx,
			term.ExecRequest{Command: r.Command, Dir: r.Dir, Env: r.Env, Stdin: r.Stdin, Grace: r.Grace},
			s.execs.observed(x, x.stdout, "stdout"),
			s.execs.observed(x, x.stderr, "stderr"),
		)
	})
	if !ok {
		return nil, s.life.endedError("exec")
	}
	return x, nil
}

// An observedStream is a stream of a command whose output the observers get as well.
type observedStream struct {
	to   *output.Stream
	auth *access.Authorizer
	x    *run
	name string
}

// observed returns where the output of a command goes that is to be kept in st.
func (e *execs) observed(x *run, st *output.Stream, name string) io.Writer {
	if !e.s.auth.ExecObserved() {
		return st
	}
	return &observedStream{st, e.s.auth, x, name}
}

func (o *observedStream) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	<-o.x.recorded // the event of its start comes first
	o.auth.ObserveExec(term.Event{
		Verb: term.VerbExecOutput, Actor: o.x.actor, Exec: o.x.id, Detail: o.name, Data: p[:n], Size: n,
	})
	return n, err
}

// waitsOn returns the question that the command waits for, and a channel that is closed when that changes.
func (x *run) waitsOn() (*term.Waiting, <-chan struct{}) {
	if x.typed == nil {
		return nil, nil
	}
	return x.typed.Waiting()
}

// waitsFor returns the question or the stalled line for a result. A stalled line ends only one call.
func (x *run) waitsFor() *term.Waiting {
	if x.typed == nil {
		return nil
	}
	w, _ := x.typed.Waiting()
	if w == nil {
		w = x.typed.Stalled()
	}
	x.typed.Told()
	return w
}

// errRunPanicked is the error until Exec has returned.
var errRunPanicked = &term.Error{
	Op:   "exec",
	Kind: term.Internal,
	Msg:  "a fault in ptyctl ended this command; report the log",
}

// ended reports whether the command has.
func (x *run) ended() bool {
	select {
	case <-x.done:
		return true
	default:
		return false
	}
}

// put reports whether the command has written any output.
func (x *run) put() bool {
	return x.stdout.Buffer.Stat().End > 0 || x.stderr.Buffer.Stat().End > 0
}

// free gives up the command's output.
func (x *run) free() {
	x.stdout.Free()
	x.stderr.Free()
}

// commands are those of a session that have something left to fetch.
//
// At most maxRuns are kept, for callers that never fetch: an ended command is dropped for a new one, a running command
// never is.
type commands struct {
	session string // its id, for errors

	mu    sync.Mutex      // guards the following, and the fields of a run that say so
	byID  map[string]*run //
	order []string        // their ids, oldest first
	last  string          // the one whose result went last to a client that comes and goes; see linger
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

// linger is forget for a command whose result goes to a client that may be gone before it has it: the output is kept
// for the next client, until another command's is.
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
