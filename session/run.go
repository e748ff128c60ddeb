package session

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/session/access"
	"ptyctl/session/deadline"
	"ptyctl/session/known"
	"ptyctl/session/lane"
	"ptyctl/session/output"
	"ptyctl/term"
)

const (
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
	deadline *deadline.Deadline
	proof    proofTime
	stdout   *output.Stream
	stderr   *output.Stream
	expect   Expect
	recorded chan struct{} // closed when the event of its start is out, which that of its end follows; nil: neither is
	done     chan struct{}
	expiry   *time.Timer // forgets it; nil while it runs; guarded by commands.mu
	users    int         // calls that look at the output, which stays until they let go; guarded by commands.mu
	keeping              // guarded by commands.mu
	told
	sentBytes int // of the line typed, or of its stdin; set before the call that starts it returns

	wants wanted // of a result, if its caller does not say

	mu    sync.Mutex                   // guards given
	given map[term.Principal]delivered // at most maxGiven

	typed  *lane.Command // nil in the channel lane
	secret *secretInput  // nil: none

	outcome // set before done is closed
}

// A told records the facts about a command that callers and observers already know.
type told struct {
	handed  atomic.Bool                 // a result has named the id
	fetched atomic.Bool                 // a result has said how it ended
	lines   atomic.Pointer[PasteResult] // how far its lines went; nil: it is typed at once
	asks    atomic.Pointer[string]      // the last question that observers have had; nil: none
}

// An outcome is how a command ended.
type outcome struct {
	exit     term.Exit
	err      error
	refused  error // of a command that was not typed, or that sudo has not run: why
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
	x.deadline = deadline.New(r.Timeout, r.Unattended, func() { x.cancel(context.DeadlineExceeded) })
	s.execs.keep(x)
	if s.owner.whose.Waits() { // its client has gone since
		s.execs.wait(s.owner.whose.Waits)
	}
	return x, nil
}

// discard forgets a run that was not launched, because of err, and lets go of it. Calls of others that have found it
// meanwhile get an error.
func (e *execs) discard(x *run, err error) {
	s := e.s
	why := err.Error()
	if e, ok := errors.AsType[*term.Error](err); ok {
		why = e.Message()
	}
	x.refused = sessionError("exec", s.id, term.KindOf(err), "this command was not started: "+why)
	x.deadline.End()
	close(x.done)
	x.cancel(nil)
	s.execs.forget(x.id)
	s.execs.letGo(x)
}

// launch runs f, which carries the command out, in a goroutine of the session. It reports false, and forgets
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
			x.deadline.End() // before others may see that it is over
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
		s.execs.discard(x, s.life.endedError("exec"))
	}
	return ok
}

// over is the event of the command's end. Call it after the end.
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
		), Exit: &x.exit, Duration: x.duration, Err: cmp.Or(x.err, x.refused),
	}
}

// start runs the command on a channel of its own. request is the request for the far side.
func (e *execs) start(r ExecRequest, request term.ExecRequest, by term.Actor) (*run, error) {
	s := e.s
	x, err := s.execs.newRun(r, LaneChannel, by)
	if err != nil {
		return nil, err
	}
	x.sentBytes = len(r.Stdin)
	if r.Grace > 0 {
		x.proof = proofTime{r.Grace + killTime, r.Grace + killTime}
	}
	x.secret = r.secret
	ok := s.execs.launch(x, func() (term.Exit, error) {
		keep := func(f func()) bool { return s.group.spawn("redact", f) }
		stdout := known.NewWriter(s.known, s.execs.observed(x, x.stdout, "stdout"), keep)
		stderr := known.NewWriter(s.known, s.execs.observed(x, x.stderr, "stderr"), keep)
		defer stdout.End()
		defer stderr.End()
		if r.secret != nil {
			return e.runWithSecret(x, request, r.secret, stdout, stderr)
		}
		return s.link.Load().execer.Exec(x.ctx, request, stdout, stderr)
	})
	if !ok {
		return nil, s.life.endedError("exec")
	}
	return x, nil
}

// An observedStream is a stream of a command that also sends the output to the observers.
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
	w, changed := x.typed.Waiting()
	if x.asksSudo(w) {
		w = nil
	}
	return w, changed
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
	if x.asksSudo(w) {
		w = nil
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
