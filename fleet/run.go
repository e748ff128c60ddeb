package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"ptyctl/fleet/batch"
	"ptyctl/fleet/groups"
	"ptyctl/session/access"
	"ptyctl/term"
)

// The causes for which a run's context ends.
var (
	errCanceled = errors.New("canceled")
	errDeadline = errors.New("the time for all hosts is over")
)

// A Run is one command on many hosts.
type Run struct {
	id    string
	f     *Fleets
	r     Request
	by    term.Actor
	env   *term.Environment
	began time.Time
	hosts []*host // those that may run, in the order of the request, then those that are refused
	set   *groups.Set

	copying *copying // nil: a command is run

	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when no host runs, and none will

	mu      sync.Mutex // guards the following, and the results of hosts
	counts  Counts
	stopped string
	ended   time.Time
}

// Counts are the hosts of a run by their states.
type Counts struct {
	All     int
	Waiting int // they may still begin
	Running int
	OK      int // exit code 0
	Failed  int // another exit code
	Lost    int // no exit code
	Refused int
	NotRun  int
	Asks    int // of Lost: their logins ask a question
}

// newRun makes a run in the name of ctx's actor.
func (f *Fleets) newRun(ctx context.Context, r Request) *Run {
	if r.Timeout <= 0 {
		if r.Timeout = time.Minute; r.Copy != nil {
			r.Timeout = copyTimeout
		}
	}
	if r.Deadline <= 0 {
		r.Deadline = time.Hour
	}
	if r.Rules.MaxParallel <= 0 {
		r.Rules.MaxParallel = f.c.MaxParallel
	}
	if r.Rules.MaxPerGate <= 0 {
		r.Rules.MaxPerGate = f.c.MaxPerJump
	}
	run := &Run{
		id: newID(f.c.Node), f: f, r: r, by: term.ActorFrom(ctx), env: term.EnvironmentFrom(ctx), began: time.Now(),
		set: groups.New(groups.Options{Normalize: r.Normalize}), done: make(chan struct{}),
	}
	if r.Copy != nil {
		run.copying = run.newCopying()
	}
	run.counts = Counts{All: len(r.Hosts), Waiting: len(r.Hosts)}
	limit := f.c.OutputBytes / 2 / max(len(r.Hosts), 1) / 2 // two streams each, and room for another run
	limit = min(max(limit, minOutput), maxOutput)
	for _, h := range r.Hosts {
		run.hosts = append(run.hosts, newHost(run, h, limit))
	}
	return run
}

// The bounds of the kept output of one stream of a host.
const (
	minOutput = 16 << 10
	maxOutput = 1 << 20
)

// ID names the run.
func (r *Run) ID() string { return r.id }

// Done is closed when the run is over.
func (r *Run) Done() <-chan struct{} { return r.done }

// Command returns the command line, or the description of the copy.
func (r *Run) Command() string { return r.r.Command }

// Request returns the request of the run.
func (r *Run) Request() Request { return r.r }

// Counts returns the hosts by their states.
func (r *Run) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}

// Stopped returns why hosts did not begin, or "".
func (r *Run) Stopped() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped
}

// Took returns how long the run has taken so far.
func (r *Run) Took() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended.IsZero() {
		return time.Since(r.began)
	}
	return r.ended.Sub(r.began)
}

// Report returns the answers so far, equal ones as one.
func (r *Run) Report(l groups.Limits) groups.Report { return r.set.Report(l) }

// Cancel lets no other host begin, and stops the command where it runs. It does not wait. It is put on record for ctx's
// actor.
func (r *Run) Cancel(ctx context.Context) error {
	c := r.f.c
	auth := access.New(access.Options{
		Protocol: "ssh", Fleet: r.id, Journal: c.Journal, Observers: c.Observers, Log: c.Logger,
	})
	d := auth.Begin(ctx, term.VerbSignal, term.Event{Detail: "cancel run"})
	err := d.PermitUnlocked(ctx, term.Action{}) // without a Gate: it is the caller's own run
	if err == nil {
		r.cancel(errCanceled)
	}
	d.End(err)
	return err
}

// isOver reports whether the run is.
func (r *Run) isOver() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// visible reports whether a caller may know of the run.
func (r *Run) visible(by term.Actor) bool {
	return by.Operator || by.Principal().Client() == r.by.Principal().Client()
}

// held returns the bytes of memory that the outputs take.
func (r *Run) held() (n int) {
	for _, h := range r.hosts {
		n += h.stdout.held() + h.stderr.held()
	}
	return n
}

// work runs all hosts. It is the run's goroutine.
func (r *Run) work() {
	ctx, stop := context.WithTimeoutCause(r.ctx, r.r.Deadline, errDeadline)
	defer stop()
	defer r.cancel(nil)
	var gates []string
	var hosts []*host
	for _, h := range r.hosts {
		if h.result.State == Waiting {
			hosts, gates = append(hosts, h), append(gates, h.gate)
		}
	}
	s := batch.New(r.r.Rules, gates)
	ends := make(chan int)
	var wg sync.WaitGroup
	over := ctx.Done()
	for !s.Over() {
		for i, ok := s.Next(); ok; i, ok = s.Next() {
			r.settle(hosts[i], Result{State: Running, Began: time.Now()})
			wg.Go(func() {
				hosts[i].work(ctx)
				ends <- i
			})
		}
		select {
		case i := <-ends:
			s.Done(i, hosts[i].failed())
		case <-over:
			s.Stop(stopReason(ctx))
			over = nil
		}
	}
	wg.Wait()
	r.finish(hosts, s.Stopped())
}

// stopReason says why ctx has ended, for people.
func stopReason(ctx context.Context) string {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errDeadline), errors.Is(cause, errCanceled):
		return cause.Error()
	case errors.Is(cause, term.ErrStopping):
		return "ptyctl is stopping"
	}
	return "canceled"
}

// finish notes which hosts have not begun, and ends the run.
func (r *Run) finish(hosts []*host, why string) {
	var left []string
	for _, h := range hosts {
		if r.Result(h.Label).State == Waiting {
			r.settle(h, Result{State: NotRun, Code: "not_run", Reason: why})
			left = append(left, h.Label)
			close(h.ended)
		}
	}
	if len(left) > 0 {
		r.set.NotRun(why, left...)
	} else {
		why = ""
	}
	r.mu.Lock()
	r.stopped, r.ended = why, time.Now()
	r.mu.Unlock()
	r.drop()
	close(r.done)
	r.f.ended(r)
}

// drop lets go of the file for the hosts.
func (r *Run) drop() {
	if r.copying != nil {
		r.copying.file.Close()
	}
}

// settle replaces the result of a host, and counts it.
func (r *Run) settle(h *host, next Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count(h.result, -1)
	h.result = next
	r.count(next, 1)
}

// count adds n to the number of hosts with a result. Requires r.mu.
func (r *Run) count(of Result, n int) {
	c := &r.counts
	switch of.State {
	case Waiting:
		c.Waiting += n
	case Running:
		c.Running += n
	case Exited:
		if of.Exit.Code == 0 {
			c.OK += n
		} else {
			c.Failed += n
		}
	case Lost:
		if c.Lost += n; of.Code == codeAsks {
			c.Asks += n
		}
	case Refused:
		c.Refused += n
	case NotRun:
		c.NotRun += n
	}
}

// newHost makes a host of a run.
func newHost(r *Run, h Host, limit int) *host {
	t := &h.Target
	t.Protocol, t.CommandsOnly = "ssh", true
	if t.ConnectTimeout == 0 {
		t.ConnectTimeout = r.f.c.ConnectTimeout
	}
	id := sessionID(h.Label)
	c := r.f.c
	view := c.Known.View(id)
	return &host{
		Host: h, run: r, id: id, view: view, stdout: newStream(limit), stderr: newStream(limit), result: Result{State: Waiting},
		ended: make(chan struct{}),
		auth: access.New(access.Options{
			Session: id, Protocol: t.Protocol, Host: t.Host, User: t.User, Fleet: r.id,
			Gate: c.Gate, Journal: c.Journal, Observers: c.Observers, Log: c.Logger, Hide: view.Event,
		}),
	}
}

// find returns a host by its label, or nil.
func (r *Run) find(label string) *host {
	for _, h := range r.hosts {
		if h.Label == label {
			return h
		}
	}
	return nil
}

// Result returns the outcome of a host; its State is empty for a host that is not in the run.
func (r *Run) Result(label string) Result {
	h := r.find(label)
	if h == nil {
		return Result{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return h.result
}

// Streams returns the output of a host; nil for one that is not in the run.
func (r *Run) Streams(label string) (stdout, stderr *Stream) {
	if h := r.find(label); h != nil {
		return h.stdout, h.stderr
	}
	return nil, nil
}

// Labels returns the hosts, in the order of the request.
func (r *Run) Labels() []string {
	labels := make([]string, len(r.r.Hosts))
	for i, h := range r.r.Hosts {
		labels[i] = h.Label
	}
	return labels
}

// Again returns the hosts that have no exit code 0: those that failed, were lost, refused or did not begin.
func (r *Run) Again() (hosts []Host) {
	for _, h := range r.r.Hosts {
		if got := r.Result(h.Label); got.State != Exited || got.Exit.Code != 0 {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// Ended returns a channel that is closed when a host has its result; nil for one that is not in the run.
func (r *Run) Ended(label string) <-chan struct{} {
	if h := r.find(label); h != nil {
		return h.ended
	}
	return nil
}
